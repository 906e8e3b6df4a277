package bombs

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/heif"
	"github.com/kindred-ml/kindred/internal/test/hostile"
)

// TestFiles: each hostile file is a picture or an error, within the memory and the work that its bytes and its size
// allow. With KINDRED_LONG large pictures are decoded too.
func TestFiles(t *testing.T) {
	if os.Getenv("KINDRED_HEIC") != "" {
		heif.Decoder(t)
	}
	maxPixels := 1 << 20
	if os.Getenv("KINDRED_LONG") != "" {
		maxPixels = 0
	}
	names := make(map[string]bool)
	for _, name := range []string{"avif", "heic", "jxl"} { // each translates its decoder, once
		newReader(0, true)(Picture("formats/" + name + "." + name))
	}
	for _, f := range Files() {
		if names[f.Name] {
			t.Errorf("two files are %s", f.Name)
		}
		names[f.Name] = true
		t.Run(f.Name, func(t *testing.T) {
			if filepath.Ext(f.Name) == ".heic" {
				heif.Decoder(t)
			}
			sandboxed := slices.Contains([]string{".avif", ".heic", ".jxl"}, filepath.Ext(f.Name))
			(&hostile.Format{Read: newReader(maxPixels, sandboxed)}).Check(t, f.Name, f.Make())
		})
	}
}
