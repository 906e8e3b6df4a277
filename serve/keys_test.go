package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A key is appended on a line of its own, whatever the file ends with, and the file is its
// owner's alone.
func TestAppendKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.txt")
	var keys []string
	for _, name := range []string{"phone", "shop"} {
		key, line, err := NewKey(name, Write)
		if err != nil {
			t.Fatal(err)
		}
		if err := AppendKey(file, line); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	st, err := os.Stat(file)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text[:len(text)-1], 0o600); err != nil { // as editors may leave it
		t.Fatal(err)
	}
	if err := AppendKey(file, "# the last"); err != nil {
		t.Fatal(err)
	}
	text, err = os.ReadFile(file)
	if err != nil || strings.Count(string(text), "\n") != 3 || !strings.HasSuffix(string(text), "\n# the last\n") {
		t.Errorf("%v in %q", err, text)
	}
	if _, err := OpenKeys(file); err != nil || len(keys) != 2 {
		t.Error(err)
	}
	if err := AppendKey(t.TempDir(), "x"); err == nil {
		t.Error("a folder is a file of keys")
	}
}
