package jxl

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Whatever is cut off or changed, a header is read within its bytes.
func TestColoursOfDamagedHeaders(t *testing.T) {
	files, err := filepath.Glob("../../../data/imaging/testdata/*/*.jxl")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	r := rand.New(rand.NewPCG(7, 8))
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		stream, err := Codestream(b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		header := stream[:min(len(stream), HeaderBytes)]
		for n := range min(len(header), 200) {
			Colours(header[:n])
		}
		for range 2000 {
			c := slices.Clone(header[:min(len(header), 64)])
			for range 1 + r.IntN(3) {
				c[r.IntN(len(c))] = byte(r.Uint32())
			}
			Colours(c)
		}
	}
}

// A header that ends early says so, and is not taken for sRGB.
func TestColoursEndEarly(t *testing.T) {
	b, err := os.ReadFile("../../../data/imaging/testdata/colours/p3.jxl")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Colours(b)
	if err != nil || s == nil {
		t.Fatalf("%v, %v", s, err)
	}
	for n := 2; n < 6; n++ {
		if s, err := Colours(b[:n]); err == nil && s == nil {
			t.Errorf("%d bytes are sRGB", n)
		}
	}
}
