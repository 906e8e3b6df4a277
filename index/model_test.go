package index

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/compute/cosine"
	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/compute/exact/nearest"
	"github.com/kindred-ml/kindred/store"
)

// smallLimits makes segments of few rows.
func smallLimits() limits { return limits{bulkRows: 60, sealRows: 100, mergeCount: 3} }

func createSmall(t testing.TB, cfg Config) *Index {
	t.Helper()
	return createFiles(t, cfg, atomic.Files{})
}

// createFiles is createSmall by way of files.
func createFiles(t testing.TB, cfg Config, files atomic.Files) *Index {
	t.Helper()
	x, err := (&Index{dir: t.TempDir(), sizes: smallLimits(), files: files}).create(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// model is what an index means.
type model map[string]store.Item

// search is what an index finds by a filter that is evaluated item by item; nil: none.
func (m model) search(d eval.Distance, q Query, passes func(store.Item) bool) []string {
	type hit struct {
		id    string
		score float64
	}
	var hits []hit
	for id, e := range m {
		if passes != nil && !passes(e) || slices.Contains(q.Exclude, id) {
			continue
		}
		h := hit{id, nearest.Score(exact.Distance(d), q.Vector, e.Vector)}
		if d == eval.Cosine {
			h.score = cosine.Similarity(q.Vector, e.Vector)
		}
		hits = append(hits, h)
	}
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id)) })
	var out []string
	for _, h := range hits[:min(q.K, len(hits))] {
		out = append(out, h.id)
	}
	return out
}

// filterFunc is a filter item by item.
func filterFunc(f *store.Filter) func(store.Item) bool {
	return func(e store.Item) bool { return f.Match(&e) }
}

// compareModel compares an index with what it should be.
func compareModel(t *testing.T, x *Index, m model, rng *rand.Rand) {
	t.Helper()
	n := 0
	for e, err := range x.All() {
		if err != nil {
			t.Fatal(err)
		}
		n++
		want, ok := m[e.ID]
		if !ok || !isSameItem(e, want) {
			t.Fatalf("item %+v: want %+v (%v)", e, want, ok)
		}
	}
	info := x.Info()
	if n != len(m) || info.Items != n {
		t.Fatalf("%d items, %d by Info: want %d", n, info.Items, len(m))
	}
	for range 3 {
		q := randomQuery(x, m, rng)
		var passes func(store.Item) bool
		filters := []string{"", "price < 20", `not kind = "shoe" or sale`, "price is missing", `id < "item 00100"`,
			`kind in ("hat", "bag") and price >= 90`, `path != "p/7.jpg" and sale != true`, `kind not in ("hat")`}
		if text := filters[rng.IntN(len(filters))]; text != "" && len(info.Columns) == 3 {
			f, err := store.ParseFilter(text)
			if err != nil {
				t.Fatal(err)
			}
			q.Filter, passes = f, filterFunc(f)
		}
		compareSearch(t, x, m, q, passes)
	}
}

// randomQuery asks for an exact search near anything.
func randomQuery(x *Index, m model, rng *rand.Rand) Query {
	q := Query{Vector: make([]float32, x.dim), K: 1 + rng.IntN(30), Exact: true}
	for j := range q.Vector {
		q.Vector[j] = float32(rng.NormFloat64())
	}
	ids := slices.Sorted(maps.Keys(m))
	for range min(5, len(ids)) {
		q.Exclude = append(q.Exclude, ids[rng.IntN(len(ids))])
	}
	return q
}

// compareSearch compares what an index finds with what the map has.
func compareSearch(t *testing.T, x *Index, m model, q Query, passes func(store.Item) bool) {
	t.Helper()
	res, err := x.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("%v: %v", q.Filter, err)
	}
	var got []string
	for _, h := range res.Hits {
		got = append(got, h.ID)
	}
	d := x.Info().Distance
	if want := m.search(d, q, passes); !slices.Equal(got, want) {
		t.Fatalf("%v, filter %v, without %q:\n%q, want\n%q", d, q.Filter, q.Exclude, got, want)
	}
	all := q
	all.K = len(m)
	if passed := len(m.search(d, all, passes)); res.Passed != passed || res.Items != len(m) {
		t.Fatalf("filter %v, without %q: %d of %d passed, want %d of %d", q.Filter, q.Exclude, res.Passed, res.Items,
			passed, len(m))
	}
}

func isSameItem(a, b store.Item) bool {
	return a.ID == b.ID && a.Path == b.Path && maps.Equal(a.Columns, b.Columns) && slices.Equal(a.Vector, b.Vector)
}

// An index does what a map does, whatever is done to it in whatever order.
func TestIndexIsAMap(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 8))
			x := createSmall(t, Config{Dim: 1 + rng.IntN(20), Distance: eval.Distance(seed % 3)})
			m := model{}
			steps := 40
			if testing.Short() {
				steps = 10
			}
			for range steps {
				changeRandomly(t, x, m, rng)
				if rng.IntN(4) == 0 {
					compareModel(t, x, m, rng)
				}
				if rng.IntN(8) == 0 {
					y := &Index{dir: x.dir, sizes: smallLimits()}
					if err := x.Close(); err != nil {
						t.Fatal(err)
					}
					var err error
					if x, err = y.open(); err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { y.Close() })
				}
			}
			compareModel(t, x, m, rng)
			r, err := Open(x.dir, Options{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			compareModel(t, r, m, rng)
			if left, _ := filepath.Glob(filepath.Join(x.dir, "*.log")); len(left) != 1 {
				t.Errorf("logs left: %q", left)
			}
		})
	}
}

// changeRandomly does something to both.
func changeRandomly(t *testing.T, x *Index, m model, rng *rand.Rand) {
	t.Helper()
	ctx := context.Background()
	switch rng.IntN(12) {
	default:
		e := entries(1+rng.IntN(2*smallLimits().bulkRows), x.dim, rng.Uint64())
		for i := range e {
			e[i].ID = fmt.Sprintf("item %05d", rng.IntN(600))
		}
		opt := AddOptions{Existing: Existing(rng.IntN(2))}
		a, err := x.Add(ctx, e, opt)
		if err != nil {
			t.Fatal(err)
		}
		var want Added
		for _, e := range e {
			_, there := m[e.ID]
			switch {
			case there && opt.Existing == Skip:
				want.Skipped++
				continue
			case there:
				want.Replaced++
			default:
				want.Added++
			}
			m[e.ID] = e
		}
		if a != want {
			t.Fatalf("%+v, want %+v", a, want)
		}
	case 0, 1:
		var ids []string
		want := 0
		for range rng.IntN(80) {
			id := fmt.Sprintf("item %05d", rng.IntN(600))
			if _, there := m[id]; there && !slices.Contains(ids, id) {
				want++
			}
			ids = append(ids, id)
		}
		n, err := x.Remove(ctx, ids...)
		if err != nil || n != want {
			t.Fatalf("removed %d, %v: want %d", n, err, want)
		}
		for _, id := range ids {
			delete(m, id)
		}
	case 2:
		if len(x.Info().Columns) < 3 {
			return
		}
		f, err := store.ParseFilter("price > 80")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.RemoveWhere(ctx, f); err != nil {
			t.Fatal(err)
		}
		maps.DeleteFunc(m, func(_ string, e store.Item) bool {
			price, _ := e.Columns["price"].(float64)
			return price > 80
		})
	case 4:
		changeBoth(t, x, m, rng)
	case 3:
		opt := CompactOptions{NumLists: rng.IntN(12) - 1}
		if opt.NumLists > len(m) {
			opt.NumLists = -1
		}
		if err := x.Compact(ctx, opt); err != nil && len(m) >= 12 {
			t.Fatal(err)
		}
	}
}

// changeBoth removes and puts items together.
func changeBoth(t *testing.T, x *Index, m model, rng *rand.Rand) {
	t.Helper()
	c := Change{Put: entries(1+rng.IntN(2*smallLimits().bulkRows), x.dim, rng.Uint64())}
	for range rng.IntN(80) {
		c.Remove = append(c.Remove, fmt.Sprintf("item %05d", rng.IntN(600)))
	}
	want := maps.Clone(m)
	for _, id := range c.Remove {
		delete(want, id)
	}
	removed := len(m) - len(want)
	for i := range c.Put {
		c.Put[i].ID = fmt.Sprintf("item %05d", rng.IntN(600))
		want[c.Put[i].ID] = c.Put[i]
	}
	n, _, err := x.Change(t.Context(), c)
	if err != nil || n != removed {
		t.Fatalf("removed %d, %v: want %d", n, err, removed)
	}
	clear(m)
	maps.Copy(m, want)
}

// Lists give the recall that was asked for, on rows that have lists, and say so.
func TestLists(t *testing.T) {
	for _, d := range []eval.Distance{eval.Euclidean, eval.Cosine} {
		x := create(t, Config{Dim: 8, Distance: d})
		e := entries(9000, 8, 5)
		rng := rand.New(rand.NewPCG(7, 7))
		for i := range e { // in clusters
			c := i % 60
			for j := range e[i].Vector {
				e[i].Vector[j] = e[i].Vector[j]*0.3 + float32(math.Sin(float64(c*8+j)*3))
			}
		}
		add(t, x, e, AddOptions{})
		if err := x.Compact(t.Context(), CompactOptions{NumLists: 60, Recall: 0.9}); err != nil {
			t.Fatal(err)
		}
		l := x.Info().Lists
		if l == nil || l.Recall < 0.9 || l.Probes >= 60 || l.NumLists != 60 {
			t.Fatalf("%+v", l)
		}
		x = reopen(t, x)
		hits, total, inexact := 0, 0, 0
		for range 200 {
			q := Query{Vector: e[rng.IntN(len(e))].Vector}
			got, err := x.Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			q.Exact = true
			want, err := x.Search(t.Context(), q)
			if err != nil || !want.Exact {
				t.Fatal(err, want.Exact)
			}
			if !got.Exact {
				inexact++
			}
			for _, w := range want.Hits {
				total++
				if slices.ContainsFunc(got.Hits, func(h store.Hit) bool { return h.ID == w.ID }) {
					hits++
				}
			}
		}
		if r := float64(hits) / float64(total); r < 0.85 || inexact == 0 {
			t.Errorf("%v: recall %.3f, %d inexact", d, r, inexact)
		}
		// Items that come later are found too, and few that pass a filter all.
		add(t, x, []store.Item{{ID: "new", Columns: map[string]any{"rare": true}, Vector: e[3].Vector}}, AddOptions{})
		f, err := store.ParseFilter("rare")
		if err != nil {
			t.Fatal(err)
		}
		far := slices.Clone(e[3].Vector)
		for j := range far {
			far[j] = -far[j]
		}
		if res, err := x.Search(t.Context(), Query{Vector: far, Filter: f}); err != nil || len(res.Hits) != 1 {
			t.Error(res, err)
		}
		if err := x.Compact(t.Context(), CompactOptions{NumLists: -1}); err != nil || x.Info().Lists != nil {
			t.Error(err, x.Info().Lists)
		}
	}
}
