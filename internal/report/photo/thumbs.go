package photo

import (
	"context"
	"fmt"
	"image"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/par"
	"github.com/kindred-ml/kindred/internal/report"
)

// batch is how many photos are decoded before they are packed.
const batch = 1152

// Thumbs reads the thumbnails of items by the names that the data set knows them
// by. A map of more items than a page should hold photos of gets none: nil.
// missing counts items that the set does not have and photos that cannot be read;
// these have no thumbnail.
//
// Errors: a data set of features, which has no photos; ctx.Err(), wrapped.
func Thumbs(ctx context.Context, d *data.Dataset, names []string) (thumbs *report.Thumbs, missing int, err error) {
	if d.Source == nil {
		return nil, 0, fmt.Errorf("data set %s holds features, not photos", d.Name)
	}
	side := report.ThumbSide(len(names))
	if side == 0 {
		return nil, 0, nil
	}
	index := make(map[string]int, len(d.Names))
	for i, n := range d.Names {
		index[n] = i
	}
	// Pictures of a few pixels, as digits are, are kept as they are.
	w, h, _ := d.Source.Shape()
	pixels := w > 0 && max(w, h) <= side
	if pixels {
		side = max(w, h)
	}
	thumbs = report.NewThumbs(side, pixels)
	for lo := 0; lo < len(names); lo += batch {
		part := names[lo:min(lo+batch, len(names))]
		pictures := make([]image.Image, len(part))
		err := par.ForContext(ctx, len(part), 16, func(from, to int) {
			r := newReader(side)
			for i := from; i < to; i++ {
				if at, ok := index[part[i]]; ok {
					pictures[i] = r.read(ctx, d, at)
				}
			}
		})
		if err != nil {
			return nil, 0, fmt.Errorf("thumbnails: %w", err)
		}
		for _, p := range pictures {
			if p == nil {
				missing++
			}
			thumbs.Add(p)
		}
	}
	return thumbs, missing, nil
}

// read returns item i, nil if it cannot be read.
func (r *reader) read(ctx context.Context, d *data.Dataset, i int) image.Image {
	if err := d.Image(ctx, i, &r.photo, &r.dec); err != nil || r.photo.W == 0 || r.photo.H == 0 {
		return nil
	}
	return r.shown()
}
