package tiff

import (
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/test/budgettest"
)

// decodeFile reads the picture of a file.
func decodeFile(b []byte) (image.Image, error) {
	f, err := Open(b)
	if err != nil {
		return nil, err
	}
	return f.Decode(context.Background())
}

// readConfig reads the size of a file's picture.
func readConfig(b []byte) (image.Config, error) {
	f, err := Open(b)
	if err != nil {
		return image.Config{}, err
	}
	return f.Config(), nil
}

// The pictures of testdata have 20 x 13 pixels, were written by libtiff, and hold one of these.
const width, height = 20, 13

func grey(x, _ int) color.NRGBA {
	return color.NRGBA{uint8(12 * x), uint8(12 * x), uint8(12 * x), 255}
}

func bilevel(x, y int) color.NRGBA {
	v := uint8((x/3 + y/2) % 2 * 255)
	return color.NRGBA{v, v, v, 255}
}

func colours(x, y int) color.NRGBA {
	return color.NRGBA{uint8(12 * x), uint8(19 * y), uint8(x * y), 255}
}

func clear1(x, y int) color.NRGBA {
	c := colours(x, y)
	c.A = bilevel(x, y).R
	return c
}

// inks are what CMYK of Pillow is: the complements of the colours, without black.
func inks(x, y int) color.NRGBA { return colours(x, y) }

func load(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDecode: every file has the pixels that it was made of.
func TestDecode(t *testing.T) {
	for _, c := range []struct {
		pattern string
		want    func(x, y int) color.NRGBA
		off     int // what JPEG may change
	}{
		{"bw*.tif", bilevel, 0},
		{"grey*.tif", grey, 0},
		{"palette*.tif", grey, 0},
		{"rgb_[^j]*.tif", colours, 0},
		{"rgb_jpeg.tif", colours, 40}, // of a picture whose blue jumps, with chroma for 2 x 2 pixels
		{"rgb_jpeg_raw*.tif", colours, 2},
		{"rgba*.tif", clear1, 0},
		{"cmyk*.tif", inks, 0},
	} {
		names, err := filepath.Glob(filepath.Join("testdata", c.pattern))
		if err != nil || len(names) == 0 {
			t.Errorf("%s: no files, %v", c.pattern, err)
		}
		for _, name := range names {
			b := load(t, filepath.Base(name))
			im, err := decodeFile(b)
			cfg, err2 := readConfig(b)
			if err != nil || err2 != nil {
				t.Errorf("%s: %v, %v", name, err, err2)
				continue
			}
			if im.Bounds() != image.Rect(0, 0, width, height) || cfg.Width != width || cfg.Height != height ||
				im.ColorModel() != cfg.ColorModel {
				t.Errorf("%s: %v, %+v", name, im.Bounds(), cfg)
				continue
			}
			compare(t, name, im, c.want, c.off)
		}
	}
}

func compare(t *testing.T, name string, im image.Image, want func(x, y int) color.NRGBA, off int) {
	t.Helper()
	for y := range height {
		for x := range width {
			g, w := color.NRGBAModel.Convert(im.At(x, y)).(color.NRGBA), want(x, y)
			if w.A == 0 && g.A == 0 {
				continue
			}
			for i, v := range [4]uint8{g.R, g.G, g.B, g.A} {
				if d := int(v) - int([4]uint8{w.R, w.G, w.B, w.A}[i]); d > off || -d > off {
					t.Errorf("%s: pixel %d, %d is %v, want %v", name, x, y, g, w)
					return
				}
			}
		}
	}
}

// TestUnsupported: what is valid and not read has a name.
func TestUnsupported(t *testing.T) {
	for name, want := range map[string]string{
		"lzma.tif":  "LZMA compression is not supported",
		"float.tif": "a picture of floating-point numbers is not supported",
	} {
		_, err := decodeFile(load(t, name))
		var u Unsupported
		if !errors.As(err, &u) || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDamaged: a file that is cut off anywhere is an error, and no panic.
func TestDamaged(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("testdata", "*.tif"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b := load(t, filepath.Base(name))
		for n := range b {
			if im, err := decodeFile(b[:n]); err == nil && strings.Contains(name, "_g4") && n < 40 {
				t.Errorf("%s cut off after %d bytes: %v", name, n, im.Bounds())
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	names, err := filepath.Glob(filepath.Join("testdata", "*.tif"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		f.Add(load(f, filepath.Base(name)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		cfg, err := readConfig(b)
		if err != nil || cfg.Width*cfg.Height > 1<<16 {
			return
		}
		if im, err := decodeFile(b); err == nil && im.Bounds() != image.Rect(0, 0, cfg.Width, cfg.Height) {
			t.Errorf("%v of %d x %d", im.Bounds(), cfg.Width, cfg.Height)
		}
	})
}

// TestListsTakeNoMemory: lists of a million values are read as they are needed.
func TestListsTakeNoMemory(t *testing.T) {
	made := func(tag uint16) []byte {
		const n = 1 << 20
		entries := [][4]uint32{{256, 3, 1, 1}, {257, 3, 1, 1}, {uint32(tag), 1, n, 8}}
		b := append([]byte("II*\x00"), 0, 0, 0, 0)
		b = append(b, make([]byte, n)...)
		binary.LittleEndian.PutUint32(b[4:], uint32(len(b)))
		b = binary.LittleEndian.AppendUint16(b, uint16(len(entries)))
		for _, e := range entries {
			b = binary.LittleEndian.AppendUint16(b, uint16(e[0]))
			b = binary.LittleEndian.AppendUint16(b, uint16(e[1]))
			b = binary.LittleEndian.AppendUint32(b, e[2])
			b = binary.LittleEndian.AppendUint32(b, e[3])
		}
		return append(b, 0, 0, 0, 0)
	}
	for tag := uint16(tagWidth + 2); tag <= tagReference; tag++ {
		b := made(tag)
		if n := budgettest.Taken(func() { _, _ = decodeFile(b) }); n > 64<<10 {
			t.Errorf("tag %d of a million values: %d bytes", tag, n)
		}
	}
}
