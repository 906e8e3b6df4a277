package items

import (
	"context"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/store"
)

// writeBatch is the number of items in one write to a store.
const writeBatch = 500

// writeItems writes items. A database counts them as an index does, apart from items that others
// write at the same time.
func writeItems(ctx context.Context, to *lookup.Items, list []store.Item, opt index.AddOptions) (index.Added, error) {
	if to.Index != nil {
		return to.Index.Add(ctx, list, opt)
	}
	var done index.Added
	var put []store.Item
	at := map[string]int{} // of put
	flush := func() error {
		if len(put) == 0 {
			return nil
		}
		err := to.Store.Put(ctx, put, store.Replace)
		put = put[:0]
		clear(at)
		return err
	}
	for _, it := range list {
		j, twice := at[it.ID]
		there := twice
		var err error
		if !twice {
			_, there, err = to.Find(ctx, it.ID)
		}
		switch {
		case err != nil:
			return done, err
		case there && opt.Existing != index.Replace:
			done.Skipped++
			continue
		case there:
			done.Replaced++
		default:
			done.Added++
		}
		if twice {
			put[j] = it
			continue
		}
		at[it.ID] = len(put)
		if put = append(put, it); len(put) == writeBatch {
			if err := flush(); err != nil {
				return done, err
			}
		}
	}
	return done, flush()
}
