package index

import (
	"os"
	"path/filepath"
	"testing"
)

// A last frame that is not whole is reported as what it may be: no problem, but no
// silence either.
func TestCheckTellsOfUnfinished(t *testing.T) {
	x := create(t, Config{Dim: 3})
	for _, e := range entries(3, 3, 1) {
		add(t, x, []Entry{e}, AddOptions{})
	}
	dir := x.Dir()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	m, err := readManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, m.Log)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	look := func(what string, log []byte, items int, unfinished bool) {
		t.Helper()
		if err := os.WriteFile(path, log, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Check(t.Context(), dir, CheckOptions{})
		if err != nil || len(c.Problems) > 0 || c.Items != items || (c.Unfinished > 0) != unfinished {
			t.Errorf("%s: %v, %+v", what, err, c)
		}
	}
	look("whole", whole, 3, false)
	look("cut off", whole[:len(whole)-5], 2, true)
	flipped := append([]byte(nil), whole...)
	flipped[len(flipped)-2] ^= 1
	look("a flipped bit in the last frame", flipped, 2, true)
}
