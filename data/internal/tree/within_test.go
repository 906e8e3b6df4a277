package tree

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

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
	for _, name := range []string{"x.zip", "s.tar", "1.png"} {
		if err := os.Symlink(outside, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	in, err := rootfs.Open([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	f, at := NewFolder(dir, in), func(name string) string { return filepath.Join(dir, name) }
	for what, open := range map[string]func() error{
		"archive": func() error { _, err := openZip(in, at("x.zip")); return err },
		"tree":    func() error { _, err := Open(in, at("x.zip")); return err },
		"range":   func() error { _, err := OpenRanged(f, "s.tar"); return err },
		"read":    func() error { _, err := f.Read("1.png", nil); return err },
		"digest":  func() error { _, _, err := f.Digest("1.png", nil); return err },
		"stat":    func() error { return f.Stat("1.png").Err },
		"head":    func() error { _, err := (&Files{list: []file{{f, "1.png"}}}).Head(0, nil); return err },
	} {
		if err := open(); !errors.As(err, new(*rootfs.OutsideError)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if f.Has("1.png") {
		t.Error("whether there is a file outside is told")
	}
}
