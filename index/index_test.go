package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/store"
)

func create(t testing.TB, cfg Config) *Index {
	t.Helper()
	x, err := Create(filepath.Join(t.TempDir(), "x.index"), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func reopen(t testing.TB, x *Index) *Index {
	t.Helper()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	y, err := Open(x.Dir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { y.Close() })
	return y
}

// entries are n items with random vectors and fields.
func entries(n, dim int, seed uint64) []store.Item {
	rng := rand.New(rand.NewPCG(seed, 1))
	out := make([]store.Item, n)
	for i := range out {
		x := make([]float32, dim)
		for j := range x {
			x[j] = float32(rng.NormFloat64())
		}
		kind := []string{"shoe", "hat", "bag"}[rng.IntN(3)]
		fields := map[string]any{"price": float64(rng.IntN(100)), "kind": kind}
		if rng.IntN(4) == 0 {
			delete(fields, "price")
		}
		if rng.IntN(2) == 0 {
			fields["sale"] = rng.IntN(2) == 0
		}
		out[i] = store.Item{ID: fmt.Sprintf("item %05d", i), Path: fmt.Sprintf("p/%d.jpg", i), Columns: fields,
			Vector: x}
	}
	return out
}

func add(t testing.TB, x *Index, e []store.Item, opt AddOptions) Added {
	t.Helper()
	a, err := x.Add(context.Background(), e, opt)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAddSearchRemoveReopen(t *testing.T) {
	x := create(t, Config{Dim: 2, Network: Network{Network: embedding.Network{Name: "n", Fingerprint: "s"}}})
	e := []store.Item{
		{ID: "a", Path: "a.jpg", Columns: map[string]any{"price": 3.0}, Vector: []float32{0, 0}},
		{ID: "b", Columns: map[string]any{"price": 30.0, "sale": true}, Vector: []float32{1, 0}},
		{ID: "c", Vector: []float32{0, 2}},
	}
	if a := add(t, x, e, AddOptions{}); a != (Added{Added: 3}) {
		t.Errorf("%+v", a)
	}
	if a := add(t, x, e[:1], AddOptions{}); a != (Added{Skipped: 1}) {
		t.Errorf("again: %+v", a)
	}
	c := []store.Item{{ID: "c", Vector: []float32{0, 3}}}
	if a := add(t, x, c, AddOptions{Existing: Replace}); a != (Added{Replaced: 1}) {
		t.Errorf("replaced: %+v", a)
	}
	var exists *store.ExistsError
	d := store.Item{ID: "d", Vector: []float32{0, 3}}
	if _, err := x.Add(t.Context(), []store.Item{d, e[0]}, AddOptions{Existing: Refuse}); !errors.As(err, &exists) {
		t.Errorf("error %v", err)
	}
	search := func(text string) string {
		t.Helper()
		f, err := store.ParseFilter(text)
		if text == "" {
			f, err = nil, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		res, err := x.Search(t.Context(), Query{Vector: []float32{0, 0}, Filter: f})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, h := range res.Hits {
			out = append(out, fmt.Sprintf("%s %g", h.ID, h.Distance))
		}
		return strings.Join(out, ", ")
	}
	for range 2 {
		if got := search(""); got != "a 0, b 1, c 3" {
			t.Error(got)
		}
		if got := search("price < 20"); got != "a 0" {
			t.Error(got)
		}
		if got := search("not price < 20"); got != "b 1, c 3" {
			t.Error(got)
		}
		x = reopen(t, x)
	}
	if n, err := x.Remove(t.Context(), "a", "x"); n != 1 || err != nil {
		t.Error(n, err)
	}
	if _, ok, err := x.Get("a"); ok || err != nil {
		t.Error("a is still there", err)
	}
	x = reopen(t, x)
	if got := search(""); got != "b 1, c 3" {
		t.Error(got)
	}
	if i := x.Info(); i.Items != 2 || i.Network.Fingerprint != "s" || len(i.Columns) != 2 {
		t.Errorf("%+v", i)
	}
}

func TestOneWriter(t *testing.T) {
	x := create(t, Config{Dim: 1})
	var held *lock.HeldError
	if _, err := Open(x.Dir(), Options{}); !errors.As(err, &held) || !errors.Is(err, ErrInUse) {
		t.Errorf("a second writer: %v", err)
	}
	add(t, x, entries(3, 1, 1), AddOptions{})
	r, err := Open(x.Dir(), Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	add(t, x, []store.Item{{ID: "later", Vector: []float32{1}}}, AddOptions{})
	if n := r.Info().Items; n != 3 {
		t.Errorf("%d items", n)
	}
	if _, err := r.Remove(t.Context(), "later"); !errors.Is(err, store.ErrReadOnly) {
		t.Error(err)
	}
	if _, err := Create(x.Dir(), Config{Dim: 1}); err == nil {
		t.Error("a second index in the folder")
	}
	if _, err := Open(t.TempDir(), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// What is asked of an index is refused in words that say what is wanted, and what is just
// allowed is not.
func TestRefused(t *testing.T) {
	x := create(t, Config{Dim: 2})
	add(t, x, entries(3, 2, 1), AddOptions{})
	readOnly, err := Open(x.Dir(), Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	ctx := t.Context()
	search := func(q Query) error { _, err := x.Search(ctx, q); return err }
	origin := []float32{0, 0}
	const readOnlyText = "only" // of reading
	for _, c := range []struct {
		err  error
		want string // "" for none
	}{
		{x.Compact(ctx, CompactOptions{NumLists: -2}),
			"-2 lists: must be 1 or more, 0 to keep their number, or -1 for none"},
		{x.Compact(ctx, CompactOptions{Recall: 1.5}), "the recall is 1.5: must be from 0 to 1"},
		{x.Compact(ctx, CompactOptions{Recall: -0.5}), "the recall is -0.5"},
		{x.Compact(ctx, CompactOptions{Recall: math.NaN()}), "the recall is NaN"},
		{x.Compact(ctx, CompactOptions{NumLists: 4}), "more lists than items"},
		{x.Compact(ctx, CompactOptions{NumLists: 1, Recall: 1}), ""},
		{x.Compact(ctx, CompactOptions{NumLists: -1}), ""},
		{search(Query{Vector: origin, K: -1}), "-1 nearest items: must be at least 1"},
		{listed(x.List(nil, "", 0)), "a list of 0 items: must be at least 1"},
		{listed(x.List(nil, "", 1)), ""},
		{search(Query{Vector: origin, K: 1}), ""},
		{search(Query{Vector: []float32{1}}), "the query has 1 numbers, but the index has vectors of 2"},
		{search(Query{Vector: []float32{1, float32(math.Inf(1))}}), "the query has the value +Inf in dimension 1"},
		{removed(x.RemoveWhere(ctx, nil)), "a removal without a filter"},
		{removed(readOnly.RemoveWhere(ctx, nil)), readOnlyText},
		{removed(readOnly.Remove(ctx, "a")), readOnlyText},
		{readOnly.Compact(ctx, CompactOptions{}), readOnlyText},
	} {
		if (c.err == nil) != (c.want == "") || c.err != nil && !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%.300v, want %q", c.err, c.want)
		}
		var input *InputError
		if c.err != nil && c.want != readOnlyText && !errors.As(c.err, &input) {
			t.Errorf("%v is no *InputError", c.err)
		}
	}
	for dim, want := range map[int]bool{0: false, -1: false, 1: true, maxDim: true, maxDim + 1: false} {
		y, err := Create(filepath.Join(t.TempDir(), "y"), Config{Dim: dim})
		said := fmt.Sprintf("dimension of the index is %d: must be 1 to 65536", dim)
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), said) {
			t.Errorf("dimension %d: %v", dim, err)
		}
		if err == nil {
			y.Close()
		}
	}
	if in := x.Info(); in.Items != 3 {
		t.Errorf("%d items", in.Items)
	}
}

func removed(_ int, err error) error { return err }

// A file of an index that no manifest names goes when the index is opened; other files stay.
func TestOrphans(t *testing.T) {
	x := create(t, Config{Dim: 2})
	add(t, x, entries(3, 2, 1), AddOptions{})
	files := map[string]bool{"999.seg": false, "999.log": false, "998.dead": false, "999.seg.bak": true,
		"notes.txt": true}
	nothing := func(io.Writer) error { return nil }
	for name := range files {
		if err := (atomic.Files{}).Write(filepath.Join(x.Dir(), name), nothing); err != nil {
			t.Fatal(err)
		}
	}
	x = reopen(t, x)
	for name, stays := range files {
		found, err := filepath.Glob(filepath.Join(x.Dir(), name))
		if err != nil || (len(found) == 1) != stays {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
	if in := x.Info(); in.Items != 3 {
		t.Errorf("%d items", in.Items)
	}
}

// All that wait for a pass which cannot begin, as the index is closed, are told so; one that
// has an error already keeps it.
func TestPassesOfAClosedIndex(t *testing.T) {
	x := createSmall(t, Config{Dim: 1})
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	own := errors.New("its own")
	batch := []*pendingQuery{{done: make(chan struct{})}, {done: make(chan struct{}), err: own}}
	x.search(batch)
	for _, p := range batch {
		<-p.done
	}
	if batch[0].err == nil || batch[0].result != nil || batch[1].err != own {
		t.Errorf("%v, %v", batch[0].err, batch[1].err)
	}
}

// listed is the error of a list.
func listed(_ []store.Item, err error) error { return err }
