package prepare

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
)

// pattern is the picture that testdata/resized.py makes.
func pattern(w, h, c int) *imaging.Image {
	im := imaging.NewImage(w, h, c)
	for i := range im.Pix {
		im.Pix[i] = uint8(i*i/7 + 3*i)
	}
	return im
}

// TestResizeIsPillows: with Rounded, every filter gives the bytes of Pillow and torchvision, which
// testdata/resized.py has recorded. So do JPEG files whose chroma is enlarged smoothly.
func TestResizeIsPillows(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "resized.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		W, H, C int
		Filter  Filter
		Box     []float64
		To      [2]int
		Fit     *Fit
		Shorter int
		File    []byte // of JPEG; without it, the picture is pattern
		Pixels  []byte
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	var r Resizer
	r.Rounded = true
	filters := map[Filter]bool{}
	for _, c := range cases {
		filters[c.Filter] = true
		im, got := pattern(c.W, c.H, c.C), new(imaging.Image)
		if len(c.File) > 0 {
			dec := imaging.Decoder{Smooth: true}
			if err := dec.Decode(t.Context(), im, c.File); err != nil {
				t.Fatal(err)
			}
		}
		if c.Fit != nil {
			p, err := NewPipeline(Config{Width: c.To[0], Height: c.To[1], Fit: *c.Fit, Shorter: c.Shorter,
				Filter: c.Filter, Rounded: true})
			if err != nil {
				t.Fatal(err)
			}
			got.Reset(c.To[0], c.To[1], c.C)
			p.ApplyBytes(got.Pix, im, nil, new(Scratch))
		} else {
			box := Box{X1: float64(c.W), Y1: float64(c.H)}
			if len(c.Box) == 4 {
				box = Box{c.Box[0], c.Box[1], c.Box[2], c.Box[3]}
			}
			r.Filter = c.Filter
			r.Resize(got, im, box, c.To[0], c.To[1])
		}
		if len(got.Pix) != len(c.Pixels) {
			t.Fatalf("%d bytes, want %d", len(got.Pix), len(c.Pixels))
		}
		for i, v := range got.Pix {
			if v != c.Pixels[i] {
				t.Errorf("%d x %d x %d %v box %v to %v, fit %v, shorter %d: byte %d is %d, Pillow's is %d", c.W, c.H,
					c.C, c.Filter, c.Box, c.To, c.Fit, c.Shorter, i, v, c.Pixels[i])
				break
			}
		}
	}
	if len(filters) != 6 {
		t.Errorf("filters %v: want 6", filters)
	}
}
