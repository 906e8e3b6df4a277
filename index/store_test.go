package index

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/store"
)

func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	x, err := Create(dir, Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	storetest.Check(t, x.Store(false))

	ro, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	s := ro.Store(true)
	if _, err := s.Delete(t.Context(), []string{"ä"}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("removed from a read-only index: %v", err)
	}
	if err := ro.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Info(t.Context()); err == nil {
		t.Error("a closed index still answers")
	}
	for _, items := range [][]store.Item{nil, {{ID: "a", Vector: []float32{1, 2}}}} {
		if err := s.Put(t.Context(), items, store.Replace); !errors.Is(err, ErrClosed) {
			t.Errorf("%d items put into a closed index: %v", len(items), err)
		}
	}
	if _, err := s.Search(t.Context(), store.Query{Vector: []float32{1, 2}, K: 1}); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed index searched: %v", err)
	}
}

// What an index takes, a store takes, and the other way round: what is read through a store
// can be written back.
func TestSameBounds(t *testing.T) {
	x, err := Create(filepath.Join(t.TempDir(), "index"), Config{Dim: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	s := x.Store(false)
	long := strings.Repeat("x", store.MaxText)
	for what, c := range map[string]struct {
		it   store.Item
		fits bool
	}{
		"the longest id":   {store.Item{ID: long[:store.MaxID]}, true},
		"a longer id":      {store.Item{ID: long[:store.MaxID+1]}, false},
		"an id of one /":   {store.Item{ID: "/"}, false},
		"an id of one dot": {store.Item{ID: "."}, false},
		"an id of two":     {store.Item{ID: ".."}, false},
		"an id of three":   {store.Item{ID: "..."}, true},
		"an id with a C1":  {store.Item{ID: "a\u0085"}, false},
		"the longest path": {store.Item{ID: "path", Path: long}, true},
		"a longer path":    {store.Item{ID: "path", Path: long + "x"}, false},
		"the longest text": {store.Item{ID: "text", Columns: map[string]any{"a": long}}, true},
		"a longer text":    {store.Item{ID: "text", Columns: map[string]any{"a": long + "x"}}, false},
		"no value":         {store.Item{ID: "nil", Columns: map[string]any{"a": nil}}, false},
		"a whole number":   {store.Item{ID: "int", Columns: map[string]any{"n": 1}}, true},
		"a list":           {store.Item{ID: "list", Columns: map[string]any{"n": []int{1}}}, false},
	} {
		c.it.Vector = []float32{1}
		var wrong *store.ItemError
		_, err := x.Add(t.Context(), []store.Item{c.it}, AddOptions{Existing: Replace})
		if (err == nil) != c.fits || err != nil && !errors.As(err, &wrong) {
			t.Errorf("%s added: %.100v", what, err)
		}
		if err == nil {
			if c.it, err = s.Get(t.Context(), c.it.ID); err != nil {
				t.Fatal(err)
			}
		}
		err = s.Put(t.Context(), []store.Item{c.it}, store.Replace)
		if (err == nil) != c.fits || err != nil && !errors.As(err, &wrong) {
			t.Errorf("%s put: %.100v", what, err)
		}
	}
}

// An item that does not fit is named, wherever in the call it is.
func TestNamesTheItem(t *testing.T) {
	x, err := Create(filepath.Join(t.TempDir(), "index"), Config{Dim: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	err = x.Store(false).Put(t.Context(), []store.Item{
		{ID: "first", Vector: []float32{1}, Columns: map[string]any{"price": 1.0}},
		{ID: "second", Vector: []float32{1}, Columns: map[string]any{"price": "x"}}}, store.Replace)
	var wrong *store.ItemError
	want := `item "second": column price has values of kind number, but "x" has one of kind text`
	if !errors.As(err, &wrong) || wrong.ID != "second" || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// The sign of a zero is not kept: equal numbers come back equal, to the bit.
func TestZeroHasNoSign(t *testing.T) {
	x, err := Create(filepath.Join(t.TempDir(), "index"), Config{Dim: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := x.Store(false)
	columns := map[string]any{"n": math.Copysign(0, -1)}
	if err := s.Put(t.Context(), []store.Item{{ID: "a", Vector: []float32{1}, Columns: columns}}, 0); err != nil {
		t.Fatal(err)
	}
	positive := func(when string) {
		t.Helper()
		it, err := x.Store(false).Get(t.Context(), "a")
		if v, ok := it.Columns["n"].(float64); err != nil || !ok || math.Signbit(v) {
			t.Errorf("%s: %v, %v", when, it.Columns, err)
		}
	}
	positive("put")
	dir := x.Dir()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if x, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	positive("read from the log")
	if err := x.Compact(t.Context(), CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	positive("read from a segment")
	if !math.Signbit(columns["n"].(float64)) {
		t.Error("what the caller has was changed")
	}
}

// The errors of an index are those of the contract of stores.
func TestErrorsOfQueries(t *testing.T) {
	x, err := Create(filepath.Join(t.TempDir(), "index"), Config{Dim: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	s := x.Store(false)
	for text, want := range map[string]string{
		"price <":   `filter "price <": column 8: expected a number, a text in quotes, true or false, not the end`,
		"price < 2": `filter "price < 2": column 1: no column price: the columns are id, path`,
	} {
		var wrong *store.FilterError
		_, err := s.Search(t.Context(), store.Query{Vector: []float32{1}, K: 1, Filter: text})
		if !errors.As(err, &wrong) || wrong.Filter != text || err.Error() != want {
			t.Errorf("a search for %s: %v", text, err)
		}
		_, err = s.List(t.Context(), store.Page{Limit: 1, Filter: text})
		if !errors.As(err, &wrong) || wrong.Filter != text || err.Error() != want {
			t.Errorf("a list of %s: %v", text, err)
		}
	}
	var item *store.ItemError
	_, err = s.Search(t.Context(), store.Query{Vector: []float32{float32(math.NaN())}, K: 1})
	if !errors.As(err, &item) || !strings.Contains(err.Error(), "the query has the value NaN") {
		t.Errorf("a search for NaN: %v", err)
	}
}

// Going through all items ends with an error where the caller gave up, and an error is the
// last that comes.
func TestAllEnds(t *testing.T) {
	x, err := Create(filepath.Join(t.TempDir(), "index"), Config{Dim: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	s := x.Store(false)
	var items []store.Item
	for _, id := range []string{"a", "b", "c"} {
		items = append(items, store.Item{ID: id, Vector: []float32{1}})
	}
	if err := s.Put(t.Context(), items, store.Insert); err != nil {
		t.Fatal(err)
	}
	for stop := range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		if stop == 0 {
			cancel()
		}
		seen := 0
		var last error
		for it, err := range s.All(ctx) {
			if last != nil {
				t.Errorf("stopped after %d: more after %v", stop, last)
			}
			if last = err; err != nil {
				continue
			}
			if it.ID != items[seen].ID {
				t.Errorf("item %d is %s", seen, it.ID)
			}
			if seen++; seen == stop {
				cancel()
			}
		}
		cancel()
		if seen != min(stop, 3) || stop < 3 != errors.Is(last, context.Canceled) || stop >= 3 && last != nil {
			t.Errorf("stopped after %d: %d items, %v", stop, seen, last)
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	for it, err := range s.All(t.Context()) {
		if err == nil {
			t.Errorf("a closed index has %+v", it)
		}
	}
}
