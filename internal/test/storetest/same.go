package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/store"
)

// Items returns n items with vectors of dim numbers and columns of all types, some missing.
// Ids, names and values contain quotes, backslashes and letters of other languages.
func Items(n, dim int) []store.Item {
	rng := rand.New(rand.NewPCG(1, 1))
	items := make([]store.Item, n)
	for i := range items {
		it := store.Item{ID: fmt.Sprintf("item '%d' \\ \"ü\"", i), Vector: make([]float32, dim),
			Columns: map[string]any{}}
		for j := range it.Vector {
			it.Vector[j] = float32(rng.NormFloat64())
		}
		if i%3 > 0 {
			it.Columns["price"] = float64(i) / 4
		}
		if i%5 > 0 {
			it.Columns["odd name'\""] = []string{"Zoë", "a", "B", "", "100"}[i%5]
		}
		if i%2 == 0 {
			it.Columns["sold"], it.Path = i%4 == 0, fmt.Sprint("p", i)
		}
		items[i] = it
	}
	return items
}

// Filters are filters for Items. Ordered are filters that compare texts by their order.
var (
	Filters = []string{"", "price < 20", "price != 20", "not price < 20", "sold", "not sold", "sold != true",
		"`odd name'\"` in (\"a\", \"Zoë\")", "`odd name'\"` not in (\"a\")", "not `odd name'\"` not in (\"a\", \"\")",
		"not `odd name'\"` in (\"a\", \"\")", "not (price < 20 or sold)", "not (price >= 20 and not sold)",
		"price is missing", "price is not missing and (sold or price >= 100)", "not price is missing",
		"path is missing",
		"path = \"p4\"", "price in (1, 1.25, 5)", "sold = false", "id = \"item '3' \\\\ \\\"ü\\\"\""}
	Ordered = []string{"`odd name'\"` > \"B\"", "not `odd name'\"` > \"B\"", "id > \"item '3\"", "path <= \"p3\""}
)

// CheckSame puts Items into two stores of vectors of 16 numbers with the same distance, and
// compares the results of searches with filters. One of the stores is known to be right. If
// the other does not order texts, filters that do must be a *store.FilterError.
func CheckSame(t *testing.T, right, other store.Store, orders bool) {
	t.Helper()
	ctx := t.Context()
	items := Items(500, 16)
	for _, s := range []store.Store{right, other} {
		if err := s.Put(ctx, items, store.Insert); err != nil {
			t.Fatal(err)
		}
	}
	for _, filter := range append(slices.Clone(Filters), Ordered...) {
		q := store.Query{Vector: items[7].Vector, K: 40, Filter: filter, ExcludeIDs: []string{items[7].ID}}
		want, err := right.Search(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		have, err := other.Search(ctx, q)
		var wrong *store.FilterError
		if !orders && slices.Contains(Ordered, filter) {
			if !errors.As(err, &wrong) {
				t.Errorf("%s: %v", filter, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", filter, err)
			continue
		}
		ids := func(hits []store.Hit) (out []string) {
			for _, h := range hits {
				out = append(out, h.ID)
			}
			return out
		}
		if !slices.Equal(ids(have), ids(want)) {
			t.Errorf("filter %q:\n%q\nwant\n%q", filter, ids(have), ids(want))
		}
		for i := range min(len(have), len(want)) {
			if d := have[i].Distance - want[i].Distance; d > 1e-5 || d < -1e-5 {
				t.Errorf("distance %v, want %v", have[i].Distance, want[i].Distance)
			}
		}
	}
	in, err := other.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range items[:20] {
		if back, err := other.Get(ctx, it.ID); err != nil || in.Loss == "" && !slices.Equal(back.Vector, it.Vector) {
			t.Errorf("%s came back changed: %v", it.ID, err)
		}
	}
}
