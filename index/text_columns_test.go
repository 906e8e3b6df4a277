package index

import (
	"errors"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/store"
)

// A column of texts that is compared with a number says which value made it so.
func TestFilterNamesTheTextAmongNumbers(t *testing.T) {
	x := create(t, Config{Dim: 1})
	put := func(id, price string) {
		t.Helper()
		add(t, x, []store.Item{{ID: id, Columns: map[string]any{"price": price}, Vector: []float32{1}}}, AddOptions{})
	}
	want := func(reason string) {
		t.Helper()
		f, err := store.ParseFilter("price < 20")
		if err != nil {
			t.Fatal(err)
		}
		_, err = x.Search(t.Context(), Query{Vector: []float32{1}, K: 1, Filter: f})
		var wrong *store.FilterError
		if !errors.As(err, &wrong) || wrong.Column != 9 || len(wrong.Reason) > 600 ||
			!strings.Contains(wrong.Reason, reason) ||
			!strings.HasPrefix(wrong.Reason, "column price has values of kind text, but this value is of kind "+
				"number; ") {
			t.Errorf("%v, want %q", err, reason)
		}
	}
	put("a", "1.5")
	want("all its values are numbers that were added as texts")
	put("b", "n/a")
	put("c", "?")
	want(`"n/a" of item "b" is not a number`)
	if err := x.Compact(t.Context(), CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	want(`"n/a" of item "b" is not a number`)
	if _, err := x.Remove(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	want(`"?" of item "c" is not a number`)
	put("d", "x\x1b[2J"+strings.Repeat("y", 1000))
	if _, err := x.Remove(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	want(`"x\x1b[2Jyyy`)
	if _, err := x.Remove(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	put(strings.Repeat("e", 500), "?")
	want(`"?" of item "eee`)
}
