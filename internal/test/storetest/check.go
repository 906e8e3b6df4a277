package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/store"
)

// Check tests the contract of a store, which must be empty and have Euclidean vectors of 2 numbers.
func Check(t *testing.T, s store.Store) {
	t.Helper()
	ctx := t.Context()
	items := []store.Item{
		{ID: "b/2", Vector: []float32{0, 2}, Path: "b.jpg",
			Columns: map[string]any{"label": "x \"y\" \\ <z>", "price": 2.5, "sold": true}},
		{ID: "a/1", Vector: []float32{1, 0}, Columns: map[string]any{"label": "x", "price": -1}},
		{ID: "ä", Vector: []float32{-3, 0}},
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	before, err := s.Info(ctx)
	must(err)
	must(s.Put(ctx, items, store.Insert))
	info, err := s.Info(ctx)
	must(err)
	want := []store.Column{{Name: "label", Kind: store.Text}, {Name: "price", Kind: store.Number},
		{Name: "sold", Kind: store.Bool}}
	if info.Items != 3 || info.Dim != 2 || info.Distance != "euclidean" || !slices.Equal(info.Columns, want) ||
		info.Version == before.Version {
		t.Errorf("info %+v, before %+v", info, before)
	}
	it, err := s.Get(ctx, "b/2")
	must(err)
	if it.ID != "b/2" || it.Path != "b.jpg" || !slices.Equal(it.Vector, items[0].Vector) || len(it.Columns) != 3 ||
		it.Columns["label"] != items[0].Columns["label"] || it.Columns["price"] != 2.5 || it.Columns["sold"] != true {
		t.Errorf("%+v came back as %+v", items[0], it)
	}
	search := func(q store.Query, want ...string) {
		t.Helper()
		q.Vector = []float32{0, 0}
		hits, err := s.Search(ctx, q)
		must(err)
		var have []string
		for _, h := range hits {
			have = append(have, h.ID)
			if (h.Vector != nil) != q.Vectors {
				t.Errorf("vector %v", h.Vector)
			}
		}
		if !slices.Equal(have, want) {
			t.Errorf("search %+v found %q, want %q", q, have, want)
		}
	}
	search(store.Query{K: 10}, "a/1", "b/2", "ä")
	search(store.Query{K: 2, Vectors: true}, "a/1", "b/2")
	search(store.Query{K: 10, ExcludeIDs: []string{"a/1"}}, "b/2", "ä")
	search(store.Query{K: 10, Filter: `price > 2`}, "b/2")
	search(store.Query{K: 10, Filter: "(price < 3) and `label` != \"x\""}, "b/2")
	hits, err := s.Search(ctx, store.Query{Vector: []float32{4, 0}, K: 1})
	must(err)
	if hits[0].Distance != 3 {
		t.Errorf("distance %v, want 3", hits[0].Distance)
	}
	checkLists(t, s)
	checkErrors(t, s)
	n, err := s.Delete(ctx, []string{"a/1", "nothing"})
	must(err)
	if n != 1 {
		t.Errorf("%d removed", n)
	}
	search(store.Query{K: 10}, "b/2", "ä")
	must(s.Put(ctx, []store.Item{{ID: "b/2", Vector: []float32{9, 9}}}, store.Replace))
	search(store.Query{K: 10}, "ä", "b/2")
	// Classes are texts, which a number in a filter is compared with as it is written.
	must(s.Put(ctx, []store.Item{{ID: "c", Vector: []float32{20, 0}, Columns: map[string]any{"label": "2.1"}},
		{ID: "7", Vector: []float32{30, 0}, Columns: map[string]any{"label": "2.10"}}}, store.Replace))
	for filter, want := range map[string][]string{
		"label = 2.10": {"7"}, "label in (2.10, 2)": {"7"}, "label != 2.10": {"c"}, "label not in (2.10)": {"c"},
		"not label = 2.10": {"ä", "b/2", "c"}, "id = 7": {"7"}, "not id in (7)": {"ä", "b/2", "c"}, "label = true": nil,
	} {
		search(store.Query{K: 10, Filter: filter}, want...)
	}
	_, err = s.Delete(ctx, []string{"c", "7"})
	must(err)
}

// checkBrowser tests store.Browser on the three items.
func checkBrowser(t *testing.T, b store.Browser) {
	t.Helper()
	var have []string
	for after := ""; ; after = have[len(have)-1] {
		page, passed, err := b.Sample(t.Context(), store.Page{After: after, Limit: 2, Vectors: true}, 7)
		if err != nil || passed != 3 || len(page) > 0 && len(page[0].Vector) != 2 {
			t.Fatalf("drawn %+v of %d, %v", page, passed, err)
		}
		for _, it := range page {
			have = append(have, it.ID)
		}
		if len(page) < 2 {
			break
		}
	}
	if slices.Sort(have); !slices.Equal(have, []string{"a/1", "b/2", "ä"}) {
		t.Errorf("drawn %q", have)
	}
	page, passed, err := b.Sample(t.Context(), store.Page{Limit: 5, Filter: "price > 0"}, 1)
	if err != nil || passed != 1 || len(page) != 1 || page[0].ID != "b/2" || page[0].Vector != nil {
		t.Errorf("drawn %+v of %d, %v", page, passed, err)
	}
	if ids, err := b.SimilarIDs(t.Context(), "b/", 5); err != nil || !slices.Equal(ids, []string{"b/2"}) {
		t.Errorf("like b/: %q, %v", ids, err)
	}
}

func checkLists(t *testing.T, s store.Store) {
	t.Helper()
	var have []string
	for after := ""; ; {
		page, err := s.List(t.Context(), store.Page{After: after, Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range page {
			have = append(have, it.ID)
			after = it.ID
		}
		if len(page) < 2 {
			break
		}
	}
	if !slices.Equal(have, []string{"a/1", "b/2", "ä"}) {
		t.Errorf("listed %q", have)
	}
	page, err := s.List(t.Context(), store.Page{Limit: 5, Filter: "price > 0", Vectors: true})
	if err != nil || len(page) != 1 || page[0].ID != "b/2" || len(page[0].Vector) != 2 {
		t.Errorf("listed %+v, %v", page, err)
	}
	if b, ok := s.(store.Browser); ok {
		checkBrowser(t, b)
	}
	all := map[string]int{}
	for it, err := range s.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all[it.ID] += len(it.Vector)
	}
	if len(all) != 3 || all["ä"] != 2 {
		t.Errorf("all are %v", all)
	}
}

func checkErrors(t *testing.T, s store.Store) {
	t.Helper()
	ctx := t.Context()
	var missing *store.NotFoundError
	if _, err := s.Get(ctx, "nothing"); !errors.As(err, &missing) {
		t.Errorf("nothing found: %v", err)
	}
	var exists *store.ExistsError
	err := s.Put(ctx, []store.Item{{ID: "new", Vector: []float32{1, 1}}, {ID: "a/1", Vector: []float32{1, 1}}},
		store.Insert)
	if !errors.As(err, &exists) || exists.ID != "a/1" {
		t.Errorf("inserted twice: %v", err)
	}
	if _, err := s.Get(ctx, "new"); !errors.As(err, &missing) {
		t.Errorf("half of a refused call was written: %v", err)
	}
	var dim *store.DimensionError
	if err := s.Put(ctx, []store.Item{{ID: "new", Vector: []float32{1}}}, store.Replace); !errors.As(err, &dim) {
		t.Errorf("a short vector: %v", err)
	}
	if _, err := s.Search(ctx, store.Query{Vector: []float32{1}, K: 1}); !errors.As(err, &dim) {
		t.Errorf("a short query: %v", err)
	}
	var wrong *store.FilterError
	for _, filter := range []string{"price <", "= 3", "\x00", "id < 5", `price in (1, "x")`} {
		if _, err := s.Search(ctx, store.Query{Vector: []float32{1, 1}, K: 1, Filter: filter}); !errors.As(err,
			&wrong) {
			t.Errorf("filter %q: %v", filter, err)
		}
		if _, err := s.List(ctx, store.Page{Limit: 1, Filter: filter}); !errors.As(err, &wrong) {
			t.Errorf("filter %q: %v", filter, err)
		}
	}
	var item *store.ItemError
	if err := s.Put(ctx, []store.Item{{ID: "a\nb", Vector: []float32{1, 1}}}, store.Replace); !errors.As(err, &item) {
		t.Errorf("an id of two lines: %v", err)
	}
}
