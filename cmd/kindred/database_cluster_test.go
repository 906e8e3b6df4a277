package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/store"
)

// writeManyItems writes an index of n items around 500 centres, with a column of ten kinds and
// one of prices.
func writeManyItems(t *testing.T, n, dim int) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	normal := func(around []float32, by float64) []float32 {
		v := make([]float32, dim)
		for j := range v {
			v[j] = float32(by * rng.NormFloat64())
			if around != nil {
				v[j] += around[j]
			}
		}
		return v
	}
	centres := make([][]float32, 500)
	for i := range centres {
		centres[i] = normal(nil, 1)
	}
	entries := make([]store.Item, n)
	for i := range entries {
		entries[i] = store.Item{ID: fmt.Sprintf("%06d", i), Columns: map[string]any{
			"kind": fmt.Sprint("k", i%10), "price": float64(i%1000) / 10},
			Vector: normal(centres[rng.IntN(len(centres))], 0.5)}
	}
	dir := filepath.Join(t.TempDir(), "many")
	x, err := index.Create(dir, index.Config{Dim: dim})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Add(t.Context(), entries, index.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// measureRecall searches a store with 100 items as queries, with filters of different width
// and without, compares with a store that is exact, and returns the share of the 10
// nearest found for each filter. between is called after every search.
func measureRecall(t *testing.T, right, other store.Store, items []store.Item, between func()) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, filter := range []string{"", `kind = "k3"`, "price < 5 and not kind = \"k1\"", "price >= 99.9"} {
		found, all := 0, 0
		for i := range 100 {
			q := store.Query{Vector: items[i*7%len(items)].Vector, K: 10, Filter: filter}
			want, err := right.Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			have, err := other.Search(t.Context(), q)
			if err != nil {
				t.Fatalf("filter %q: %v", filter, err)
			}
			for _, w := range want {
				all++
				if slices.ContainsFunc(have, func(h store.Hit) bool { return h.ID == w.ID }) {
					found++
				}
			}
			between()
		}
		out[filter] = float64(found) / float64(all)
	}
	return out
}

// numLongItems is how many items the long tests push: 100,000, or $KINDRED_ITEMS.
func numLongItems(t *testing.T) int {
	t.Helper()
	text := os.Getenv("KINDRED_ITEMS")
	if text == "" {
		return 100_000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1000 {
		t.Fatalf("KINDRED_ITEMS is %q; it must be a whole number of 1000 or more", text)
	}
	return n
}

// pushWhile pushes an index, calls kill when a third of the items is there, and waits
// until the push is done.
func pushWhile(t *testing.T, dir, url string, kill func()) {
	t.Helper()
	begun := time.Now()
	pushed := make(chan string)
	go func() {
		code, out, errOut := runArgs(t, "index", "push", dir, "--to", url, "--hnsw", "--batch", "1000")
		pushed <- fmt.Sprint(code, " ", out, errOut)
	}()
	watch := time.NewTicker(500 * time.Millisecond)
	defer watch.Stop()
	for {
		select {
		case told := <-pushed:
			took := time.Since(begun)
			t.Logf("%s%.0f items of 128 numbers a second; killed in between: %v", told,
				float64(numLongItems(t))/took.Seconds(), kill == nil)
			if !strings.HasPrefix(told, fmt.Sprintf("%d ", exitOK)) ||
				!strings.Contains(told, fmt.Sprintf(": %d items", numLongItems(t))) || kill != nil {
				t.Fatal("the push did not go on")
			}
			return
		case <-watch.C:
			if kill == nil {
				continue
			}
			if s, err := inputs.OpenStore(t.Context(), url); err == nil {
				if in, err := s.Info(t.Context()); err == nil && in.Items > numLongItems(t)/3 {
					t.Logf("%d items after %v: killing", in.Items, time.Since(begun).Round(time.Second))
					kill()
					kill = nil
				}
				s.Close()
			}
		}
	}
}

// compareStores holds what a store has after a push to the index, and its searches, which
// by each filter are to find at least so much of what is nearest.
func compareStores(t *testing.T, right, s store.Store, least float64, between func()) {
	t.Helper()
	items, have := readAllItems(t, right), readAllItems(t, s)
	if len(items) != numLongItems(t) || len(have) != numLongItems(t) {
		t.Fatalf("%d of %d items are there", len(have), numLongItems(t))
	}
	for i := range have {
		if have[i].ID != items[i].ID || !slices.Equal(have[i].Vector, items[i].Vector) ||
			have[i].Columns["price"] != items[i].Columns["price"] {
			t.Fatalf("%v came back as %v", items[i], have[i])
		}
	}
	begun := time.Now()
	for filter, r := range measureRecall(t, right, s, items, between) {
		t.Logf("filter %q: recall@10 %.4f", filter, r)
		if r < least {
			t.Errorf("filter %q: recall@10 is %.4f, to be %v at least", filter, r, least)
		}
	}
	t.Logf("400 searches in %v, half of them in the index", time.Since(begun).Round(10*time.Millisecond))
}

// openPushed opens a store and the index that was pushed there.
func openPushed(t *testing.T, dir, url string) (right store.Store, s *inputs.RemoteStore) {
	t.Helper()
	s, err := inputs.OpenStore(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	x, err := index.Open(dir, index.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x.Store(true), s
}

// TestPostgres pushes items to a PostgreSQL that is killed and started again meanwhile.
func TestPostgres(t *testing.T) {
	if os.Getenv("KINDRED_LONG") == "" {
		t.Skip("takes minutes: set KINDRED_LONG")
	}
	p := storetest.StartTrixie(t)
	dir := writeManyItems(t, numLongItems(t), 128)
	url := p.URL() + "&hnsw.ef_search=100#many"
	pushWhile(t, dir, url, func() {
		p.Kill()
		p.Start()
	})
	right, s := openPushed(t, dir, url)
	n := 0
	compareStores(t, right, s, 0.9, func() {
		if n++; n == 50 {
			p.Kill()
			p.Start()
		}
	})
}

// TestCluster pushes items to three machines of Weaviate that keep three copies, and
// searches them, while one machine is killed in the middle of each: the commands go on,
// and nothing that was acknowledged is lost.
func TestCluster(t *testing.T) {
	if os.Getenv("KINDRED_LONG") == "" {
		t.Skip("takes minutes: set KINDRED_LONG")
	}
	c := storetest.StartWeaviate(t, 3)
	dir := writeManyItems(t, numLongItems(t), 128)
	url := c.URL("replication=3&consistency=quorum&ef=128") + "#many"
	pushWhile(t, dir, url, func() { c.Kill(0) }) // which is the one that is asked
	right, s := openPushed(t, dir, url)
	compareStores(t, right, s, 0.95, func() {})

	begun := time.Now()
	c.Start(0)
	c.Ready(0)
	t.Logf("the machine is back after %v", time.Since(begun).Round(time.Second))
	n := 0
	compareStores(t, right, s, 0.95, func() {
		if n++; n == 50 {
			t.Log("killing another machine while searching")
			c.Kill(1)
		}
	})
	if have := readAllItems(t, s); len(have) != numLongItems(t) {
		t.Errorf("%d of %d items are there without the second machine", len(have), numLongItems(t))
	}
}

// readAllItems is all items of a store in the order of their ids.
func readAllItems(t *testing.T, s store.Store) []store.Item {
	t.Helper()
	var out []store.Item
	for it, err := range s.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, it)
	}
	slices.SortFunc(out, func(a, b store.Item) int { return strings.Compare(a.ID, b.ID) })
	return out
}
