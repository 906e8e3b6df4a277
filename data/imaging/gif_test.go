package imaging

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"slices"
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

// TestFirstFrameOfGIF: the frame whose size is read is the frame that is decoded, whatever extensions are before it.
func TestFirstFrameOfGIF(t *testing.T) {
	palette := color.Palette{color.RGBA{R: 200, A: 255}, color.RGBA{B: 90, A: 255}}
	var b bytes.Buffer
	small := image.NewPaletted(image.Rect(0, 0, 8, 7), palette)
	if err := gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{small}, Delay: []int{0},
		Config: image.Config{ColorModel: palette, Width: 8, Height: 8}}); err != nil {
		t.Fatal(err)
	}
	file := b.Bytes()
	at := bytes.IndexByte(file, ',')
	hidden := append([]byte(",\x00\x00\x00\x00\x08\x00\x08\x00"), make([]byte, 4)...)
	for name, extension := range map[string]string{
		"text without a length": "!\x01\x00", "text": "!\x01\x0c123456789012\x01x\x00",
		"application": "!\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00", "application without a length": "!\xff\x00",
		"comment": "!\xfe\x03abc\x00", "unknown": "!\x77\x01a\x00",
		"control of five bytes": "!\xf9\x05\x01\x00\x00\x00\x00\x00",
		"a frame in a comment":  "!\xfe" + string(rune(len(hidden))) + string(hidden) + "\x00",
	} {
		f := slices.Concat(file[:at], []byte(extension), file[at:])
		h, err := ReadHeader(t.Context(), bytes.NewReader(f), int64(len(f)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if n := h.Bytes(1); n != 8*8*(2*4+3) {
			t.Errorf("%s: %d bytes are said, not those of a frame on a canvas", name, n)
		}
		var dec Decoder
		var im Image
		if err := dec.Decode(t.Context(), &im, f); err != nil || im.W != 8 || im.H != 8 || dec.Background != OnWhite {
			t.Errorf("%s: %d x %d, %v", name, im.W, im.H, err)
		}
	}
	long := slices.Concat(file[:at], []byte("!\xfe"), bytes.Repeat([]byte("\x01x"), 1<<20), []byte{0}, file[at:])
	if h, err := ReadHeader(t.Context(), bytes.NewReader(long), int64(len(long))); err != nil || h.Bytes(1) != 704 {
		t.Errorf("behind a comment of 2 MiB: %+v, %v", h, err)
	}
}
