package atomic

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestCopy: a copy has the bytes, by a link or where there are none, and no file is replaced by the link.
func TestCopy(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(dir, "a")
	if err := os.WriteFile(from, []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("no")
	for name, files := range map[string]Files{"linked": {}, "copied": {Trace: func(Step) {}}} {
		to := filepath.Join(dir, name)
		if err := files.Copy(from, to); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(to); string(got) != "text" || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err := files.Copy(filepath.Join(dir, "none"), to+"2"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a file that is not there: %v", name, err)
		}
		files.Fault = func(string, string) error { return refused }
		if err := files.Copy(from, to+"3"); !errors.Is(err, refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (Files{}).Copy(from, filepath.Join(dir, "linked")); !errors.Is(err, os.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
}
