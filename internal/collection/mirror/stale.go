package mirror

import (
	"context"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/collection/mirror/changes"
)

// CountStale counts the items of a set in an index that are out of date: items whose photos are gone, and items whose
// files have other sizes or times than when they were embedded. It opens no files. If the samples of
// a set are not files, it counts nothing.
func CountStale(ctx context.Context, x *index.Index, set *data.Dataset, opt Options) (gone, changed int, err error) {
	p := &Plan{set: set}
	if p.facts, err = readFileRecords(ctx, set.All(), opt.Set, time.Now()); p.facts == nil || err != nil {
		return 0, 0, err
	}
	p.list(opt.Prefix)
	if err := p.read(x, opt.Prefix, opt.Set); err != nil {
		return 0, 0, err
	}
	at := make(map[string]int, len(p.Want))
	for i := range p.Want {
		at[p.Want[i].ID] = i
	}
	for i := range p.Have {
		h := &p.Have[i]
		w, ok := at[h.ID]
		switch {
		case !ok:
			gone++
		case h.Digest != "" && h.Size > 0 && p.fileDiffers(h, w): // embeddings from a file come without a size
			changed++
		}
	}
	return gone, changed, nil
}

// fileDiffers reports whether a file has another size or time than its item records.
func (p *Plan) fileDiffers(h *changes.File, w int) bool {
	f := &p.facts[p.sample[w]]
	return f.Size != h.Size || h.Modified != "" && f.Modified.UTC().Format(timeFormat) != h.Modified
}
