package jpeg

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// decodeAny is decode of the rare kinds.
func decodeAny(d *Decoder, b []byte) (p picture, err error) {
	err = d.DecodeAny(b, func(w, h, c int) []uint8 {
		p = picture{w, h, c, make([]uint8, w*h*c)}
		return p.pix
	})
	return p, err
}

// TestDecodeAny: the kinds that image/jpeg does not read, written by libjpeg-turbo, are what
// Pillow reads.
func TestDecodeAny(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("testdata", "any_*.jpg"))
	if err != nil || len(names) != 8 {
		t.Fatalf("%v, %v", names, err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if k, ok := ReadKind(b); !ok || !k.Rare() || k.Unread() != "" || k.W != 43 || k.H != 29 {
			t.Errorf("%s: %+v", name, k)
		}
		d := Decoder{Smooth: true}
		got, err := decodeAny(&d, b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := pngPixels(t, strings.TrimSuffix(name, ".jpg")+".png")
		if worst, mean := apart(got.pix, want); len(got.pix) != len(want) || worst > 3 || mean > 0.4 {
			t.Errorf("%s: %d at most, %.2f on average", name, worst, mean)
		}
		if _, err := decode(&d, b); err == nil {
			t.Errorf("%s is decoded as the usual kinds are", name)
		}
		for n := range len(b) - 2 { // cut off: an error or less of the picture, no panic
			_, _ = decodeAny(&d, b[:n])
		}
	}
}

// TestDecodeAnyUsual: kinds that Decode reads are the same.
func TestDecodeAnyUsual(t *testing.T) {
	for _, name := range append(kinds(), "pillow_420p", "pillow_422") {
		b, err := os.ReadFile(filepath.Join("testdata", name+".jpg"))
		if err != nil {
			t.Fatal(err)
		}
		d := Decoder{Smooth: true}
		want, err := decode(&d, b)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeAny(&d, b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		// Chroma of half the size takes another way in Decode, which rounds once more.
		if worst, _ := apart(got.pix, want.pix); worst > 3 && !strings.Contains(name, "41") {
			t.Errorf("%s: %d apart", name, worst)
		}
	}
}

func pngPixels(t *testing.T, name string) []uint8 {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	im, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var out []uint8
	for y := range im.Bounds().Dy() {
		for x := range im.Bounds().Dx() {
			r, g, b, _ := im.At(x, y).RGBA()
			out = append(out, uint8(r>>8), uint8(g>>8), uint8(b>>8))
		}
	}
	return out
}

// TestUnread: kinds that nothing here reads have a name.
func TestUnread(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "any_uneven.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte{0xff, 0xc0})
	for _, c := range []struct {
		offset int
		value  byte
		want   string
	}{
		{1, 0xc3, "lossless JPEG"}, {1, 0xc7, "hierarchical JPEG"}, {4, 12, "JPEG with samples of more than 8 bits"},
		{11, 0x32, "JPEG whose colours have sizes that do not divide each other"}, {1, 0xc1, ""},
	} {
		b := bytes.Clone(b)
		if b[at+c.offset] = c.value; c.want != "" && c.offset == 11 {
			b[at+14] = 0x21
		}
		if k, ok := ReadKind(b); !ok || k.Unread() != c.want {
			t.Errorf("%d at %d: %q, want %q", c.value, c.offset, k.Unread(), c.want)
		}
	}
}

func FuzzDecodeAny(f *testing.F) {
	names, err := filepath.Glob(filepath.Join("testdata", "any_*.jpg"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		k, ok := ReadKind(b)
		d := Decoder{MaxPixels: 1 << 16}
		if p, err := decodeAny(&d, b); err == nil && (!ok || p.w != k.W || p.h != k.H || len(p.pix) != p.w*p.h*p.c) {
			t.Errorf("%d x %d of %+v", p.w, p.h, k)
		}
	})
}
