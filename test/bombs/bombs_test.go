package bombs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/test/bounded"
	"github.com/kindred-ml/kindred/test/heif"
)

// TestFiles: each hostile file is a picture or an error, within the memory and the work that its bytes and its size
// allow.
func TestFiles(t *testing.T) {
	if os.Getenv("KINDRED_HEIC") != "" {
		heif.Decoder(t)
	}
	names := make(map[string]bool)
	hostile := &bounded.Format{Name: "hostile files", Read: reader(0)}
	for _, name := range []string{"avif", "heic", "jxl"} { // each translates its decoder, once
		reader(0)(Picture("formats/" + name + "." + name))
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
			hostile.Check(t, f.Name, f.Make())
		})
	}
}
