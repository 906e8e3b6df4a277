package atomic

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPrepare makes the folders and leaves nothing else, and finds what Write would fail
// at.
func TestPrepare(t *testing.T) {
	dir := t.TempDir()
	at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	if err := os.WriteFile(at("file"), []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("gone", "away"), at("link")); err != nil {
		t.Skip(err) // of Windows without the right to
	}
	if err := Prepare(at("a", "b", "x"), at("file"), os.DevNull); err != nil {
		t.Error(err)
	}
	for _, path := range []string{at("file", "x"), at("a", "b"), at("link"), dir} {
		if err := Prepare(path); err == nil || !strings.HasPrefix(err.Error(), path+" cannot be written: ") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got := names(t, at("a", "b")); len(got) != 0 {
		t.Errorf("left %v", got)
	}
	if b, err := os.ReadFile(at("file")); err != nil || string(b) != "mine" {
		t.Errorf("file is %q, %v", b, err)
	}
	if got := names(t, dir); len(got) != 3 {
		t.Errorf("left %v", got)
	}
}
