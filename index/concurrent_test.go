package index

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/kindred-ml/kindred/store"
)

// Changes, searches, compaction and readers beside them, all at once: what was
// acknowledged is found by the next search, and an item that nobody touches always.
func TestConcurrently(t *testing.T) {
	x := createSmall(t, Config{Dim: 4})
	add(t, x, entries(150, 4, 1), AddOptions{})
	steps := 25
	if testing.Short() {
		steps = 8
	}
	fixed := entries(1, 4, 2)
	fixed[0].ID = "fixed"
	add(t, x, fixed, AddOptions{})
	var changers, others sync.WaitGroup
	done := make(chan struct{})
	for w := range 4 {
		changers.Add(1)
		go func() {
			defer changers.Done()
			for n := range steps {
				e := entries(1+n%70, 4, uint64(100*w+n))
				for i := range e {
					e[i].ID = fmt.Sprintf("w%d-%d", w, i)
				}
				if _, err := x.Add(t.Context(), e, AddOptions{Existing: Replace}); err != nil {
					t.Error(err)
				}
				if res, err := x.Search(t.Context(), Query{Vector: e[0].Vector, K: 1}); err != nil ||
					res.Hits[0].Distance != 0 {
					t.Errorf("what was just added: %+v, %v", res, err)
				}
				if n, err := x.Remove(t.Context(), e[0].ID); n != 1 || err != nil {
					t.Error(n, err)
				}
			}
		}()
	}
	loop := func(f func() error) {
		others.Add(1)
		go func() {
			defer others.Done()
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := f(); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	look := func(x *Index) error {
		res, err := x.Search(t.Context(), Query{Vector: fixed[0].Vector, K: 3})
		if err == nil && (len(res.Hits) != 3 || res.Hits[0].ID != "fixed") {
			err = fmt.Errorf("found %+v", res.Hits)
		}
		return err
	}
	for range 4 {
		loop(func() error { return look(x) })
	}
	loop(func() error { return x.Compact(t.Context(), CompactOptions{}) })
	loop(func() error { // another process, as far as it can tell
		r, err := Open(x.dir, Options{ReadOnly: true})
		if err != nil {
			return err
		}
		return errors.Join(look(r), r.Close())
	})
	changers.Wait()
	close(done)
	others.Wait()
	// Each of the four has added w-0 up to its longest list, and removed w-0.
	want := 151 + 4*(min(steps, 70)-1)
	if n := x.Info().Items; n != want {
		t.Errorf("%d items, want %d", n, want)
	}
}

// A merge that is to begin while an index is being closed does not: Close has counted
// those it waits for.
func TestNoMergeAfterStop(t *testing.T) {
	x := createSmall(t, Config{Dim: 8})
	x.sizes.mergeCount = 9 // nothing is merged yet
	for k := range 3 {
		var entries []store.Item
		for i := range x.sizes.bulkRows {
			entries = append(entries, generation(fmt.Sprintf("%d of %d", i, k), k))
		}
		if _, err := x.Add(t.Context(), entries, AddOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.w.stop(); err != nil {
		t.Fatal(err)
	}
	x.sizes.mergeCount = 3
	for range 100 {
		x.w.startMerge()
		if !x.w.merging.TryLock() {
			t.Fatal("a merge began")
		}
		x.w.merging.Unlock()
	}
	x.w = nil // is stopped
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}
