package idx

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Find takes the names that are about, compressed first.
func TestFind(t *testing.T) {
	for _, name := range []string{"t10k-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte", "t10k-images.idx3-ubyte.gz",
		"t10k-images.idx3-ubyte"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if p, err := Find(dir, "t10k-images-idx3-ubyte"); err != nil || p != filepath.Join(dir, name) {
			t.Errorf("%s: %s, %v", name, p, err)
		}
		_, err := Find(dir, "t10k-labels-idx1-ubyte")
		if err == nil || !strings.Contains(err.Error(), "no file t10k-labels-idx1-ubyte or") {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "t10k-images-idx3-ubyte"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(dir, "t10k-images-idx3-ubyte"); err == nil {
		t.Error("a folder is no file")
	}
}
