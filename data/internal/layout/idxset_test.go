package layout

import (
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
)

// pixels finds each image in its chunk, with all its channels.
func TestPixels(t *testing.T) {
	for _, c := range []int{1, 3} {
		p := &pixels{w: 2, h: 3, c: c}
		value := byte(0)
		for _, n := range []int{2, 1, 3} {
			var pix []uint8
			for range n * 6 * c {
				pix = append(pix, value)
				value++
			}
			p.add(pix)
		}
		if w, h, ch := p.Shape(); w != 2 || h != 3 || ch != c || p.n != 6 {
			t.Errorf("%d x %d x %d, %d images", w, h, ch, p.n)
		}
		for i := range 6 {
			var im imaging.Image
			err := p.Read(t.Context(), i, &im, nil)
			if err != nil || im.W != 2 || im.H != 3 || im.C != c || len(im.Pix) != 6*c ||
				im.Pix[0] != byte(6*c*i) || im.Pix[6*c-1] != byte(6*c*i+6*c-1) {
				t.Errorf("image %d of %d channels: %v %v", i, c, im, err)
			}
		}
	}
}
