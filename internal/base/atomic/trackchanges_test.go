package atomic

import (
	"os"
	"path/filepath"
	"testing"
)

// TestUndo: what was made is gone, what was there before stays.
func TestUndo(t *testing.T) {
	home := t.TempDir()
	at := func(names ...string) string { return filepath.Join(append([]string{home}, names...)...) }
	fill := func(dir string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, "made"), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte("new"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(at("old", "mine"), 0o777); err != nil {
		t.Fatal(err)
	}
	ours := func(name string) bool { return name == "made" || name == "file" }
	for _, dir := range []string{at("a", "b", "c"), at("old"), at("new")} {
		undo, err := TrackChanges(dir, ours)
		if err != nil {
			t.Fatal(err)
		}
		fill(dir)
		if dir == at("old") { // somebody else writes there meanwhile
			if err := os.WriteFile(filepath.Join(dir, "theirs"), nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := undo(); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if got := names(t, home); len(got) != 1 || got[0] != "old" {
		t.Errorf("left %v", got)
	}
	if got := names(t, at("old")); len(got) != 2 || got[0] != "mine" {
		t.Errorf("left %v of the folder that was there", got)
	}
	// A folder above that somebody else uses by then stays.
	undo, err := TrackChanges(at("shared", "x"), ours)
	if err != nil {
		t.Fatal(err)
	}
	fill(at("shared", "x"))
	fill(at("shared", "y"))
	if err := undo(); err != nil || len(names(t, at("shared"))) != 1 {
		t.Errorf("left %v, %v", names(t, at("shared")), err)
	}
	if _, err := TrackChanges(at("old", "mine", "file"), ours); err != nil {
		t.Error(err)
	}
}
