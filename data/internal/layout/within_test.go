package layout

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/internal/base/rootfs"
)

// TestWithinEach: each function that opens a file does so below the roots, whatever was looked
// at before: a link may be put there in between.
func TestWithinEach(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(outside, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"l.txt", "idx", "f.npy", "d"} {
		if err := os.Symlink(outside, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	in, err := rootfs.Open([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	f, at := tree.NewFolder(dir, in), func(name string) string { return filepath.Join(dir, name) }
	for what, open := range map[string]func() error{
		"list":   func() error { _, err := readShardList(f, "l.txt", false); return err },
		"whole":  func() error { _, err := openWhole(&listing{Tree: f}, "idx"); return err },
		"table":  func() error { _, err := tables{in}.Open(at("f.npy")); return err },
		"folder": func() error { _, err := in.ReadDir(at("d")); return err },
		"manifest": func() error {
			m := layout{name: "manifest", read: readManifest}
			_, err := m.open(t.Context(), &listing{Tree: f}, []string{"l.txt"}, "x", Options{})
			return err
		},
	} {
		if err := open(); !errors.As(err, new(*rootfs.OutsideError)) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
