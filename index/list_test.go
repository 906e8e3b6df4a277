package index

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kindred-ml/kindred/store"
)

// TestList reads an index in pages.
func TestList(t *testing.T) {
	x, err := Create(t.TempDir()+"/index", Config{Dim: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var entries []store.Item
	for i := range 3000 {
		id := fmt.Sprintf("%04d", i*7%3000)
		entries = append(entries, store.Item{ID: id, Columns: map[string]any{"odd": i%2 == 1}, Vector: []float32{1}})
	}
	if _, err := x.Add(t.Context(), entries[:2000], AddOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Add(t.Context(), entries[2000:], AddOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Remove(t.Context(), "0007", "0008"); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "odd"} {
		var f *store.Filter
		if text != "" {
			if f, err = store.ParseFilter(text); err != nil {
				t.Fatal(err)
			}
		}
		var want, have []string
		for _, e := range entries {
			if e.ID != "0007" && e.ID != "0008" && (text == "" || e.Columns["odd"] == true) {
				want = append(want, e.ID)
			}
		}
		slices.Sort(want)
		for after := ""; ; {
			page, err := x.List(f, after, 70)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			for _, e := range page {
				have = append(have, e.ID)
			}
			after = have[len(have)-1]
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("filter %q: %s", text, diff)
		}
	}
	if _, err := x.List(nil, "", 0); err == nil {
		t.Error("a page of nothing is none")
	}
}
