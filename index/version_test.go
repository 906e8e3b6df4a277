package index

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/store"
)

// An index of an earlier format is searched, and becomes one of this version when it is
// written. That of version 2 has ten items in its log.
func TestReadsVersions(t *testing.T) {
	for version := 1; version < formatVersion; version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) { testReadsVersion(t, version) })
	}
}

func testReadsVersion(t *testing.T, version int) {
	dir := filepath.Join(t.TempDir(), "old.index")
	if err := os.CopyFS(dir, os.DirFS(fmt.Sprintf("testdata/version%d", version))); err != nil {
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
	if v := x.Info().Version; v != version {
		t.Errorf("version %d", v)
	}
	// Its log has no marks, and takes no more.
	for range 2 {
		add(t, x, []store.Item{{ID: "new", Vector: make([]float32, 50)}}, AddOptions{})
		x = reopen(t, x)
		if n, err := x.Remove(t.Context(), "new"); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	look(x)
	if err := x.Compact(t.Context(), CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	if x = reopen(t, x); x.Info().Version != formatVersion {
		t.Errorf("version %d once it was written", x.Info().Version)
	}
	look(x)
	c, err := Check(t.Context(), dir, CheckOptions{})
	if err != nil || len(c.Problems) > 0 || c.Items != 29 {
		t.Errorf("%v, %+v", err, c)
	}
}
