package imaging

import (
	"bytes"
	"image"
	"image/color"
	"math"
	"testing"
)

// TestRefuse: images without pixels, and those of more than allowed.
func TestRefuse(t *testing.T) {
	for _, tc := range []struct {
		w, h, limit int
		ok          bool
	}{
		{1, 1, 1, true}, {0, 1, 9, false}, {1, 0, 9, false}, {-1, 1, 9, false}, {1, -1, 9, false}, {0, 0, 9, false},
		{3, 3, 9, true}, {3, 3, 8, false}, {9, 1, 9, true}, {1, 9, 9, true}, {10, 1, 9, false}, {1, 10, 9, false},
		{4, 2, 9, true},
		{math.MaxInt, math.MaxInt, 1 << 30, false},
	} {
		p := &Picture{Header: Header{format: &pngFormat}, source: &source{
			cfg: image.Config{Width: tc.w, Height: tc.h, ColorModel: color.GrayModel}}}
		if err := p.checkLimits(&Decoder{MaxPixels: tc.limit}, nil); (err == nil) != tc.ok {
			t.Errorf("%d x %d of %d: %v", tc.w, tc.h, tc.limit, err)
		}
	}
}

// Files that only the standard library reads, and other formats, keep their size.
func TestShrinkIsForJPEGAlone(t *testing.T) {
	dec := Decoder{Shrink: func(w, h int) int { return 8 }}
	var im Image
	for _, name := range []string{"jpeg-cmyk.jpg", "png-rgb.png"} {
		b := formatFile(t, name)
		if err := dec.Decode(t.Context(), &im, b); err != nil {
			t.Fatal(err)
		}
		cfg, _, err := image.DecodeConfig(bytes.NewReader(b))
		if err != nil || im.W != cfg.Width || im.H != cfg.Height {
			t.Errorf("%s: %d x %d of %d x %d (%v)", name, im.W, im.H, cfg.Width, cfg.Height, err)
		}
	}
}
