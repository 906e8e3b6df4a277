package data

import (
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging/prepare"
)

// TestFlattened: a loader tells which transparent samples were put on white and on black.
func TestFlattened(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, background, ink color.NRGBA) {
		im := image.NewNRGBA(image.Rect(0, 0, 8, 8))
		for i := range 64 {
			im.SetNRGBA(i%8, i/8, background)
		}
		im.SetNRGBA(3, 3, ink)
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(png.Encode(f, im), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	write("a/white.png", color.NRGBA{}, color.NRGBA{255, 255, 255, 255})
	write("a/black.png", color.NRGBA{}, color.NRGBA{0, 0, 0, 255})
	write("b/whole.png", color.NRGBA{9, 9, 9, 255}, color.NRGBA{0, 0, 0, 255})
	d, err := Open(t.Context(), dir, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewLoader(d.All(), LoaderConfig{Image: prepare.Config{Width: 8, Height: 8}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // each sample is counted once
		s := l.Sequential(context.Background(), 2)
		for err = nil; err == nil; {
			_, err = s.Next()
		}
		s.Close()
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	var got []string
	for _, left := range d.AllLeftOut(l.Stats()) {
		got = append(got, left.String())
	}
	slices.Sort(got)
	want := []string{"1 transparent and nearly white, put on black: a/white.png",
		"1 transparent, put on white: a/black.png"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
