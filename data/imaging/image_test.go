package imaging

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"slices"
	"testing"
)

// An Image is a picture to the standard library, and back.
func TestStandardImages(t *testing.T) {
	for _, im := range []*Image{
		{2, 2, 1, []uint8{0, 100, 200, 255}},
		{2, 1, 3, []uint8{1, 2, 3, 250, 128, 7}},
	} {
		var b bytes.Buffer
		if err := png.Encode(&b, im); err != nil {
			t.Fatal(err)
		}
		back, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		for what, src := range map[string]image.Image{"as PNG": back, "itself": im} {
			got := FromImage(src)
			if got.W != im.W || got.H != im.H || got.C != im.C || !slices.Equal(got.Pix, im.Pix) {
				t.Errorf("%v %s became %v", im, what, got)
			}
		}
		if r, g, b, a := im.At(-1, 0).RGBA(); r+g+b != 0 || a != 0xffff {
			t.Errorf("outside: %d %d %d %d", r, g, b, a)
		}
	}
	half := image.NewNRGBA(image.Rect(5, 5, 6, 6)) // any corner; transparency over white
	half.Set(5, 5, color.NRGBA{R: 255, A: 0})
	if got := FromImage(half); got.W != 1 || !slices.Equal(got.Pix, []uint8{255, 255, 255}) {
		t.Errorf("%v", got)
	}
}
