package photo

import (
	"context"
	"fmt"
	"image"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/page/report"
)

// ReadThumbs reads the thumbnails of items by their names in the data set. It returns nil
// if the map has too many items for a page with photos. missing counts the items
// without a thumbnail: items that the set does not have, photos that cannot be read
// and, if most is not 0, photos that were not read in that time. The latter are spread
// evenly over the items.
//
// Errors are a data set of features, which has no photos, and ctx.Err(), wrapped.
func ReadThumbs(ctx context.Context, d *data.Dataset, names []string, most time.Duration) (
	thumbs *report.Thumbs, missing int, err error) {
	if d.Source == nil {
		return nil, 0, fmt.Errorf("data set %s holds features, not photos", d.Name)
	}
	side := report.ThumbSide(len(names))
	if side == 0 {
		return nil, 0, nil
	}
	index := d.Rows()
	// Pictures of a few pixels, such as digits, are kept exactly.
	w, h, _ := d.Source.Shape()
	pixels := w > 0 && max(w, h) <= side
	if pixels {
		side = max(w, h)
	}
	work, stop := ctx, context.CancelFunc(func() {})
	if most > 0 {
		work, stop = context.WithTimeout(ctx, most)
	}
	defer stop()
	pictures := make([]image.Image, len(names))
	order := spreadOrder(len(names))
	err = par.ForContext(work, len(names), 16, func(from, to int) {
		r := newReader(side)
		for _, i := range order[from:to] {
			if at, ok := index[names[i]]; ok {
				pictures[i] = r.read(work, d, at)
			}
		}
	})
	if err != nil && ctx.Err() != nil {
		return nil, 0, fmt.Errorf("thumbnails: %w", err)
	}
	thumbs = report.NewThumbs(side, pixels)
	for _, p := range pictures {
		if p == nil {
			missing++
		}
		thumbs.Add(p)
	}
	return thumbs, missing, nil
}

// spreadOrder orders 0..n-1 so that every prefix is spread over the whole range: every
// 64th number, then their neighbours, and so on.
func spreadOrder(n int) []int {
	const step = 64
	out := make([]int, 0, n)
	for first := range min(step, n) {
		for i := first; i < n; i += step {
			out = append(out, i)
		}
	}
	return out
}

// read returns the picture of item i, or nil if it cannot be read.
func (r *reader) read(ctx context.Context, d *data.Dataset, i int) image.Image {
	if err := d.Image(ctx, i, &r.photo, &r.dec); err != nil || r.photo.W == 0 || r.photo.H == 0 {
		return nil
	}
	return r.reduced()
}
