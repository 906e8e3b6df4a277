package index

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// A manifest is small: one of another size is refused before it is read whole.
func TestManifestSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), manifestFile)
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, mostManifest+1); err != nil {
		t.Fatal(err)
	}
	var large *budget.LargeError
	if _, err := readManifest(filepath.Dir(path)); !errors.As(err, &large) {
		t.Errorf("a manifest of %d bytes: %v", mostManifest+1, err)
	}
	if err := os.Truncate(path, mostManifest); err != nil {
		t.Fatal(err)
	}
	if _, err := readManifest(filepath.Dir(path)); err == nil || errors.As(err, &large) {
		t.Errorf("a manifest of %d bytes: %v", mostManifest, err)
	}
}
