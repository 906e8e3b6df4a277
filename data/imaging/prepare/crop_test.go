package prepare

import (
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
)

// TestCropWithoutResizing: an image whose shorter side needs no resizing loses pixels at its ends alone, whether or not
// it is prepared exactly as Pillow does.
func TestCropWithoutResizing(t *testing.T) {
	for _, size := range [][2]int{{5, 4}, {4, 5}, {4, 4}, {7, 4}} {
		for _, rounded := range []bool{false, true} {
			p, err := NewPipeline(Config{Width: 4, Height: 4, Channels: 3, Fit: Cover, Rounded: rounded})
			if err != nil {
				t.Fatal(err)
			}
			var im imaging.Image
			im.Reset(size[0], size[1], 3)
			for i := range im.Pix {
				im.Pix[i] = uint8(i)
			}
			dst, left, top := make([]float32, 4*4*3), centerOffset(size[0]-4), centerOffset(size[1]-4)
			p.Apply(dst, &im, nil, new(Scratch))
			for i, v := range dst {
				y, x := i/12, i%12
				if want := float32((top+y)*size[0]*3+left*3+x) / 255; v-want > 1e-6 || want-v > 1e-6 {
					t.Fatalf("%v, rounded %v: value %d is %g, want %g", size, rounded, i, v*255, want*255)
				}
			}
		}
	}
}
