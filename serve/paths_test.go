package serve

import (
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/store"
)

// A request may give an item no path, the one that it has, or one in the collection's
// folders, and no other.
func TestMayHave(t *testing.T) {
	m := filled(t, 1)
	folder := t.TempDir()
	here, there := filepath.Join(folder, "a.jpg"), filepath.Join(t.TempDir(), "b.jpg")
	if err := m.Put(t.Context(), []store.Item{{ID: "old", Path: there, Vector: []float32{1, 0, 0}},
		{ID: "bare", Vector: []float32{1, 0, 0}}}, store.Insert); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id, path string
		may      bool
	}{{"new", "", true}, {"old", "", true}, {"old", there, true}, {"old", here, true}, {"new", here, true},
		{"new", there, false}, {"bare", there, false}, {"old", there + "x", false}, {"old", "/etc/passwd", false},
		{"new", filepath.Join(folder, "..", "b.jpg"), false}} {
		of := &collection{Collection: Collection{Store: m, Folders: []string{folder}}}
		if err := of.mayHave(t.Context(), &store.Item{ID: c.id, Path: c.path}); (err == nil) != c.may {
			t.Errorf("%s, which may have %s: %v, %v", c.id, c.path, c.may, err)
		}
	}
}
