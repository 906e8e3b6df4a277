package hostile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFormats: a file is the same when its parts are written again.
func TestFormats(t *testing.T) {
	for extension, format := range map[string]func(...[]byte) *Format{
		"jpg": JPEG, "png": PNG, "webp": WebP, "gif": GIF, "bmp": BMP,
	} {
		names, err := filepath.Glob("../../../data/imaging/testdata/formats/*." + extension)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v, %v", extension, names, err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			f := format(b)
			if got := f.Write(f.Valid[0]); !bytes.Equal(got, b) && !strings.Contains(name, "cut") {
				t.Errorf("%s: %d bytes of %d", name, len(got), len(b))
			}
			if n := len(f.Valid[0].places(nil)); n < 2 {
				t.Errorf("%s has %d parts", name, n)
			}
		}
	}
}
