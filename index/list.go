package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/mapped"
	"github.com/kindred-ml/kindred/store"
)

// List returns up to limit items that pass a filter, in the order of their ids. It starts
// after the id after; "" starts at the first. It reads the ids of all items: to read a
// whole index, use All.
func (x *Index) List(f *store.Filter, after string, limit int) ([]store.Item, error) {
	if limit < 1 {
		return nil, inputf("a list of %d items: want at least 1", limit)
	}
	v, err := x.acquire()
	if err != nil {
		return nil, err
	}
	defer v.release()
	sets, err := v.passing(f)
	if err != nil {
		return nil, err
	}
	type place struct {
		id      string
		at, row int
	}
	var first []place
	cut := func() {
		slices.SortFunc(first, func(a, b place) int { return cmp.Compare(a.id, b.id) })
		first = first[:min(limit, len(first))]
	}
	err = mapped.Touch(func() {
		for at, set := range sets {
			set.each(func(row int) bool {
				if id := v.id(at, row); id > after {
					first = append(first, place{strings.Clone(id), at, row})
				}
				if len(first) >= 2*limit+1000 {
					cut()
				}
				return true
			})
		}
	})
	if err != nil {
		return nil, err
	}
	cut()
	out := make([]store.Item, len(first))
	for i, p := range first {
		if out[i], err = v.entry(p.at, p.row); err != nil {
			return nil, err
		}
	}
	return out, nil
}
