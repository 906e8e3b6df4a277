package data

import (
	"bytes"
	"image"
	"image/png"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
)

// TestListFiles: files need no ending, may be missing, and may be listed with several boxes.
func TestListFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "0a1b-upload")
	var text bytes.Buffer
	if err := png.Encode(&text, image.NewGray(image.Rect(0, 0, 12, 10))); err != nil {
		t.Fatal(err)
	}
	write(t, path, text.Bytes())
	d := ListFiles("items", []string{path, path, filepath.Join(dir, "none.png")},
		[]image.Rectangle{{}, image.Rect(1, 2, 4, 6), {}})
	var im imaging.Image
	if err := d.Image(t.Context(), 0, &im, nil); err != nil || im.W != 12 || im.H != 10 {
		t.Errorf("the whole image: %d x %d, %v", im.W, im.H, err)
	}
	if err := d.Image(t.Context(), 1, &im, nil); err != nil || im.W != 3 || im.H != 4 {
		t.Errorf("a box: %d x %d, %v", im.W, im.H, err)
	}
	if err := d.Image(t.Context(), 2, &im, nil); err == nil {
		t.Error("a missing file has an image")
	}
}
