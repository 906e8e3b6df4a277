package retrieval

import (
	"fmt"
	"image"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
)

// Reader returns the picture of an item.
type Reader func(i int) (image.Image, error)

// Pictures returns a Reader for Config.Picture: it reads the picture of item i,
// which the data set calls names[i]. It is not for use by several goroutines.
//
// Errors: a data set of features, which has no pictures. The function returned
// fails for a name that the data set does not have and for a file that cannot be
// read.
func Pictures(d *data.Dataset, names []string) (Reader, error) {
	if d.Source == nil {
		return nil, fmt.Errorf("data set %s holds features, not pictures", d.Name)
	}
	index := make(map[string]int, len(d.Names))
	for i, n := range d.Names {
		index[n] = i
	}
	var dec imaging.Decoder
	return func(i int) (image.Image, error) {
		at, ok := index[names[i]]
		if !ok {
			return nil, fmt.Errorf("data set %s has no item called %q", d.Name, names[i])
		}
		var im imaging.Image
		if err := d.Source.Read(at, &im, &dec); err != nil {
			return nil, err
		}
		return standard(&im), nil
	}, nil
}

// standard converts to the standard library's pictures.
func standard(im *imaging.Image) image.Image {
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
