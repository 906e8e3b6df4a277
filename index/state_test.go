package index

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/store"
)

// Changes that are taken back leave no trace, also of the first row and of items that
// were changed twice; those that are kept are what a map says.
func TestRollback(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	s := newState(&manifest{Dim: 1}, nil)
	want := map[string]float32{}
	now := func() map[string]float32 {
		out := map[string]float32{}
		for id, row := range s.ids {
			if !s.tail.live.has(row) || s.tail.items[row].ID != id {
				t.Fatalf("%s is said to be in row %d", id, row)
			}
			out[id] = s.tail.row(row)[0]
		}
		if n := s.tail.rows() - s.tail.numRemoved; n != len(out) || s.tail.live.count() != n {
			t.Fatalf("%d ids, %d rows, %d set", len(out), n, s.tail.live.count())
		}
		return out
	}
	for round := range 200 {
		s.begin()
		rows, gone, changed := s.tail.rows(), s.tail.numRemoved, maps.Clone(want)
		for range 1 + rng.IntN(4) {
			id := fmt.Sprint("i", rng.IntN(5))
			if rng.IntN(3) == 0 {
				_, was := changed[id]
				if s.remove(id) != was {
					t.Fatalf("round %d: %s was there: %v", round, id, was)
				}
				delete(changed, id)
				continue
			}
			v := rng.Float32()
			if err := s.put(&store.Item{ID: id, Vector: []float32{v}}); err != nil {
				t.Fatal(err)
			}
			changed[id] = v
		}
		if got := now(); !maps.Equal(got, changed) {
			t.Fatalf("round %d: %v, want %v", round, got, changed)
		}
		if rng.IntN(2) == 0 {
			s.rollback()
			if s.tail.rows() != rows || s.tail.numRemoved != gone {
				t.Fatalf("round %d: %d rows, %d gone, want %d and %d", round, s.tail.rows(), s.tail.numRemoved,
					rows, gone)
			}
		} else {
			s.commit()
			want = changed
		}
		if got := now(); !maps.Equal(got, want) {
			t.Fatalf("round %d, ended: %v, want %v", round, got, want)
		}
	}
}

// A filter means of the rows of a segment what it means of each item, whatever kind of
// values a column has, and where they are missing.
func TestFiltersOfSegments(t *testing.T) {
	var items []store.Item
	for i, columns := range []map[string]any{
		{"n": 1.0, "b": true, "s": "x"}, {"n": 2.0, "b": false, "s": ""}, {"n": -1.0}, {"b": true}, {"b": false},
		{"s": "x"}, {"s": "y"}, nil,
	} {
		items = append(items, store.Item{ID: fmt.Sprint("i", i), Path: []string{"", "p"}[i%2], Columns: columns,
			Vector: []float32{float32(i)}})
	}
	x := create(t, Config{Dim: 1})
	add(t, x, items, AddOptions{})
	m := model{}
	for _, e := range items {
		m[e.ID] = e
	}
	compare := func(where string) {
		t.Helper()
		for _, text := range []string{"n is missing", "n is not missing", "n = 1", "n != 1", "not n = 1", "n < 2",
			"n <= 1", "n > 1", "n >= 2", "n in (1, -1)", "n not in (1, -1)", "b", "not b", "b = false", "b != false",
			"b != true", "b is missing", "b is not missing", "b in (true)", `s = "x"`, `s != "x"`, `s = ""`,
			"s is missing", `s > "x"`, `s not in ("x")`, `path = "p"`, "path is missing", `id >= "i3"`} {
			f, err := store.ParseFilter(text)
			if err != nil {
				t.Fatal(err)
			}
			compareSearch(t, x, m, Query{Vector: []float32{0}, K: 9, Exact: true, Filter: f}, filterFunc(f))
			listed, err := x.List(f, "", len(items))
			if err != nil {
				t.Fatal(err)
			}
			var got, want []string
			for _, e := range listed {
				got = append(got, e.ID)
			}
			for _, e := range items {
				if _, there := m[e.ID]; there && f.Match(&e) {
					want = append(want, e.ID)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s: %q, want %q", where, text, got, want)
			}
		}
	}
	compare("the log")
	if err := x.Compact(t.Context(), CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	compare("a segment")
	if n, err := x.Remove(t.Context(), "i0", "i4"); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	delete(m, "i0")
	delete(m, "i4")
	compare("a segment and what was removed")
}

// Checking tells how many of the bytes of its files it has read, up to all.
func TestCheckTellsHowFarItIs(t *testing.T) {
	x := createSmall(t, Config{Dim: 3})
	for i := range 5 {
		e := entries(45, 3, uint64(i))
		for k := range e {
			e[k].ID = fmt.Sprint(i, " ", k)
		}
		add(t, x, e, AddOptions{})
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	m, err := readManifest(x.Dir())
	if err != nil {
		t.Fatal(err)
	}
	size := int64(len(readFile(t, filepath.Join(x.Dir(), m.Log))))
	for _, s := range m.Segments {
		size += int64(len(readFile(t, filepath.Join(x.Dir(), s.File))))
	}
	last, calls := int64(0), 0
	c, err := Check(t.Context(), x.Dir(), CheckOptions{Progress: func(done, total int64) {
		if calls++; done <= last || total != size {
			t.Errorf("%d after %d of %d bytes, want of %d", done, last, total, size)
		}
		last = done
	}})
	if err != nil || calls < 2 || last != size || c.Bytes != size {
		t.Errorf("%v: %d calls, %d and %d bytes, want %d", err, calls, last, c.Bytes, size)
	}
}

// TestStateName: every change gives the index another name of its state, opening it again does
// not, and no other index has it.
func TestStateName(t *testing.T) {
	seen := map[string]string{}
	x := create(t, Config{Dim: 2})
	other := create(t, Config{Dim: 2})
	told := func(what string) {
		t.Helper()
		name := x.State()
		if was, ok := seen[name]; ok || name == "" {
			t.Errorf("after %s the state is %q, as after %s", what, name, was)
		}
		seen[name] = what
	}
	seen[other.State()] = "making another index"
	told("making it")
	e := entries(9, 2, 1)
	add(t, x, e[:5], AddOptions{})
	told("five items")
	add(t, x, e[4:6], AddOptions{Existing: Replace})
	told("one replaced and one added")
	add(t, x, e[4:5], AddOptions{Existing: Replace})
	told("one replaced")
	if _, err := x.Remove(t.Context(), e[0].ID); err != nil {
		t.Fatal(err)
	}
	told("one removed")
	add(t, x, e[:1], AddOptions{})
	told("one added again")
	was := x.State()
	if _, err := x.Remove(t.Context(), "nothing"); err != nil || x.State() != was {
		t.Errorf("nothing is removed, and the state is %q, was %q: %v", x.State(), was, err)
	}
	if x = reopen(t, x); x.State() != was {
		t.Errorf("opened again the state is %q, was %q", x.State(), was)
	}
	if err := x.Compact(t.Context(), CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	told("compacting it")
	add(t, x, e[2:3], AddOptions{Existing: Replace})
	told("one replaced in a segment")
	if _, err := x.Remove(t.Context(), e[3].ID); err != nil {
		t.Fatal(err)
	}
	told("one removed from a segment")
	was = x.State()
	if x = reopen(t, x); x.State() != was {
		t.Errorf("opened again the state is %q, was %q", x.State(), was)
	}
	if err := x.Close(); err != nil || x.State() != "" {
		t.Errorf("closed it is %q: %v", x.State(), err)
	}
}
