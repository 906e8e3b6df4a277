package imaging

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"testing"
)

// TestGIFCanvas: the first frame stands at its place on the canvas, and a canvas that is too small
// for it grows, as Pillow and browsers have it.
func TestGIFCanvas(t *testing.T) {
	red := color.RGBA{R: 200, A: 255}
	frame := image.NewPaletted(image.Rect(2, 1, 6, 4), color.Palette{red, color.RGBA{B: 90, A: 255}})
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{frame}, Delay: []int{0},
		Config: image.Config{Width: 6, Height: 4}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name               string
		w, h, wantW, wantH int
	}{
		{"as large as the frame reaches", 6, 4, 6, 4},
		{"larger", 10, 8, 10, 8},
		{"too small", 3, 3, 6, 4},
		{"too narrow", 3, 9, 6, 9},
		{"without a size", 0, 0, 6, 4},
	} {
		file := bytes.Clone(b.Bytes())
		binary.LittleEndian.PutUint16(file[gifCanvas:], uint16(c.w))
		binary.LittleEndian.PutUint16(file[gifCanvas+2:], uint16(c.h))
		h, err := ReadHeader(t.Context(), bytes.NewReader(file), int64(len(file)))
		if err != nil || h.W != c.wantW || h.H != c.wantH {
			t.Errorf("%s: header %+v, %v", c.name, h, err)
		}
		var im Image
		var dec Decoder
		if err := dec.Decode(t.Context(), &im, file); err != nil || im.W != c.wantW || im.H != c.wantH {
			t.Errorf("%s: %d x %d, %v; want %d x %d", c.name, im.W, im.H, err, c.wantW, c.wantH)
			continue
		}
		for y := range im.H {
			for x := range im.W {
				want := color.RGBA{R: 255, G: 255, B: 255, A: 255}
				if image.Pt(x, y).In(frame.Rect) {
					want = red
				}
				if got := color.RGBAModel.Convert(im.At(x, y)); got != want {
					t.Fatalf("%s: %v at %d, %d; want %v", c.name, got, x, y, want)
				}
			}
		}
	}
}
