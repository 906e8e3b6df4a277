package index

import (
	"fmt"
	"maps"
	"testing"

	"github.com/kindred-ml/kindred/store"
)

// TestCounts: values of every kind of column are counted as a loop over all items counts them,
// in segments, in the log, and where items were removed or replaced.
func TestCounts(t *testing.T) {
	x, err := Create(t.TempDir()+"/x", Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	add := func(from, to int, opt AddOptions) {
		t.Helper()
		var items []store.Item
		for i := from; i < to; i++ {
			it := store.Item{ID: fmt.Sprint(i), Vector: []float32{float32(i), 1}, Columns: map[string]any{}}
			if i%5 > 0 {
				it.Columns["label"] = fmt.Sprintf("c%d", (i+from)%7)
			}
			if i%3 > 0 {
				it.Columns["price"] = float64(i%4) / 2
			}
			if i%4 > 0 {
				it.Columns["new"] = i%2 == 0
			}
			items = append(items, it)
		}
		if _, err := x.Add(t.Context(), items, opt); err != nil {
			t.Fatal(err)
		}
	}
	check := func() {
		t.Helper()
		for _, column := range []string{"label", "price", "new", "nothing"} {
			want := map[string]int{}
			for it, err := range x.All() {
				if err != nil {
					t.Fatal(err)
				}
				if text := store.FormatValue(it.Columns[column]); text != "" {
					want[text]++
				}
			}
			got, err := x.Counts(column)
			if err != nil || !maps.Equal(got, want) {
				t.Errorf("%s: %v %v, want %v", column, got, err, want)
			}
		}
	}
	check()
	add(0, 500, AddOptions{})
	check()
	if err := x.Compact(t.Context(), CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	check()
	add(400, 700, AddOptions{Existing: Replace})
	if _, err := x.Remove(t.Context(), "3", "17", "650"); err != nil {
		t.Fatal(err)
	}
	check()
	counter, ok := x.Store(true).(store.Counter)
	if !ok {
		t.Fatal("the index as a store does not count")
	}
	got, err := counter.Counts(t.Context(), "label")
	if want, _ := x.Counts("label"); err != nil || !maps.Equal(got, want) || len(got) == 0 {
		t.Errorf("%v %v", got, err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Counts("label"); err == nil {
		t.Error("counted when closed")
	}
}
