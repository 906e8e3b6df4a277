package index

import (
	"os"
	"path/filepath"
	"testing"
)

// An index of format version 1 is searched, and becomes one of this version when it is
// written.
func TestReadsVersion1(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "old.index")
	if err := os.CopyFS(dir, os.DirFS("testdata/version1")); err != nil {
		t.Fatal(err)
	}
	x, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	look := func(x *Index) {
		t.Helper()
		for _, e := range entries(30, 50, 1) {
			r, err := x.Search(t.Context(), Query{Vector: e.Vector, K: 40})
			if err != nil {
				t.Fatal(err)
			}
			removed := e.ID == "item 00003"
			if len(r.Hits) != 29 || removed == (r.Hits[0].ID == e.ID && r.Hits[0].Distance == 0) {
				t.Fatalf("%s: %d found, the nearest %s at %g", e.ID, len(r.Hits), r.Hits[0].ID, r.Hits[0].Distance)
			}
		}
	}
	look(x)
	if v := x.Info().Version; v != 1 {
		t.Errorf("version %d", v)
	}
	if err := x.Compact(t.Context(), CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	if x = reopen(t, x); x.Info().Version != 2 {
		t.Errorf("version %d once it was written", x.Info().Version)
	}
	look(x)
	c, err := Check(t.Context(), dir, CheckOptions{})
	if err != nil || len(c.Problems) > 0 || c.Items != 29 {
		t.Errorf("%v, %+v", err, c)
	}
}
