// Package photo reads the pictures of items for the report's pages and reduces them to
// the size of a page. It reads items of a data set by their names, and files.
package photo

import (
	"context"
	"fmt"
	"image"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

// Reader returns the picture of an item.
type Reader func(i int) (image.Image, error)

// maxSide is the longest side of the pictures that readers return. No page or figure
// shows more, and hundreds of such pictures fit in memory.
const maxSide = 512

// NewReader returns a Reader of the items with the given names in the data set, as Named does.
func NewReader(ctx context.Context, d *data.Dataset, names []string) (Reader, error) {
	named, err := NewNameReader(ctx, d)
	return func(i int) (image.Image, error) { return named(names[i]) }, err
}

// NewNameReader returns a function that reads items by their names in the data set (embedding.Item), until ctx ends.
// Only one goroutine may use it.
//
// A data set of features is an error, because it has no pictures. The function fails for a
// name that the data set does not have and for a file that cannot be read.
func NewNameReader(ctx context.Context, d *data.Dataset) (func(name string) (image.Image, error), error) {
	if d.Source == nil {
		return nil, fmt.Errorf("data set %s holds features, not pictures", d.Name)
	}
	index := d.Rows()
	r := newReader(maxSide)
	return func(name string) (image.Image, error) {
		at, ok := index[name]
		if !ok {
			return nil, fmt.Errorf("data set %s has no item called %q", d.Name, name)
		}
		if err := d.Image(ctx, at, &r.photo, &r.dec); err != nil {
			return nil, err
		}
		return r.reduced(), nil
	}, nil
}

// NewFileReader returns a Reader of items that are files, or parts of them, until ctx ends. Only one
// goroutine may use it.
func NewFileReader(ctx context.Context, items ...embedding.Item) Reader {
	r := newReader(maxSide)
	return func(i int) (image.Image, error) {
		it := items[i]
		b, err := fileinfo.ReadFile(it.Path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", it.Path, err)
		}
		if err := r.dec.Decode(ctx, &r.photo, b); err != nil {
			return nil, fmt.Errorf("%s: %w", it.Path, err)
		}
		if box, _ := embedding.ParseRegion(it.Region); !box.Empty() {
			in := box.Intersect(image.Rect(0, 0, r.photo.W, r.photo.H))
			if in.Empty() {
				return nil, fmt.Errorf("%s lies outside the picture of %d x %d pixels", it.Name(), r.photo.W, r.photo.H)
			}
			r.photo.Crop(in)
		}
		return r.reduced(), nil
	}
}

// reader keeps one goroutine's buffers.
type reader struct {
	side   int // longest side of the pictures it returns
	dec    imaging.Decoder
	photo  imaging.Image
	resize prepare.Resizer
}

func newReader(side int) *reader {
	return &reader{side: side, resize: prepare.Resizer{Filter: prepare.Bicubic}}
}

// reduced returns the photo, reduced if it is too large.
func (r *reader) reduced() image.Image {
	w, h := r.photo.W, r.photo.H
	long := max(w, h)
	if long <= r.side {
		im := r.photo
		r.photo = imaging.Image{} // the picture now owns its pixels
		return standardImage(&im)
	}
	var small imaging.Image
	whole := prepare.Box{X1: float64(w), Y1: float64(h)}
	r.resize.Resize(&small, &r.photo, whole, max(1, w*r.side/long), max(1, h*r.side/long))
	return standardImage(&small)
}

// standardImage converts to the standard library's pictures.
func standardImage(im *imaging.Image) image.Image {
	box := image.Rect(0, 0, im.W, im.H)
	if im.C == 1 {
		return &image.Gray{Pix: im.Pix, Stride: im.W, Rect: box}
	}
	out := image.NewNRGBA(box)
	for p := range im.W * im.H {
		copy(out.Pix[4*p:], im.Pix[3*p:3*p+3])
		out.Pix[4*p+3] = 0xff
	}
	return out
}
