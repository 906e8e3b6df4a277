package atomic

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestWriteAll checks that files come into folders that are made, and that the first that
// cannot be written ends it.
func TestWriteAll(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "b"), []byte("a file where a folder is wanted"), 0o666); err != nil {
		t.Fatal(err)
	}
	err := WriteAll(dir, map[string][]byte{"c": []byte("3"), "b/x": []byte("2"), "a/y/z": []byte("1")})
	if err == nil {
		t.Error("a folder was made of a file")
	}
	if got, err := os.ReadFile(filepath.Join(dir, "a", "y", "z")); err != nil || string(got) != "1" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "c")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what comes after the error was written: %v", err)
	}
	if err := WriteAll(dir, map[string][]byte{"a/y/z": []byte("new"), "c": nil}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "a", "y", "z")); err != nil || string(got) != "new" {
		t.Errorf("%q, %v", got, err)
	}
}
