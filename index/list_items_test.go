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
		checkSample(t, x, f, want)
	}
	if _, err := x.List(nil, "", 0); err == nil {
		t.Error("a page of 0 items is not an error")
	}
}

// checkSample draws the wanted ids in pages: every one once, in the same order by the same seed
// and in another by another, and from all over the index.
func checkSample(t *testing.T, x *Index, f *store.Filter, want []string) {
	t.Helper()
	draw := func(seed uint64) (have []string) {
		for after := ""; ; after = have[len(have)-1] {
			page, passed, err := x.Sample(f, after, 70, seed)
			if err != nil || passed != len(want) {
				t.Fatalf("%d pass, want %d: %v", passed, len(want), err)
			}
			if len(page) == 0 {
				return have
			}
			for _, e := range page {
				have = append(have, e.ID)
			}
		}
	}
	one, two := draw(1), draw(2)
	if !slices.Equal(one, draw(1)) || slices.Equal(one, two) {
		t.Error("the seed does not decide on the order")
	}
	low := 0
	for _, id := range one[:200] {
		if id < "1500" {
			low++
		}
	}
	if low < 70 || low > 130 { // of a fair coin 100, with a standard deviation of 7
		t.Errorf("%d of the first 200 are of the first half", low)
	}
	for _, have := range [][]string{one, two} {
		slices.Sort(have)
		if diff := cmp.Diff(want, have); diff != "" {
			t.Error(diff)
		}
	}
}
