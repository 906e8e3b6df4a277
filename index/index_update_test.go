package index

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/kindred-ml/kindred/store"
)

// Changes that are computed see all earlier ones, also large ones and those that are written together with others; one
// that fails changes nothing.
func TestUpdate(t *testing.T) {
	x := createSmall(t, Config{Dim: 2})
	count := func(n int) func() (Change, error) {
		return func() (Change, error) {
			var c Change
			for i := range n {
				it, ok, err := x.Get(fmt.Sprint(i))
				if err != nil {
					return c, err
				}
				if !ok {
					it = store.Item{ID: fmt.Sprint(i), Vector: []float32{1, 2}}
				}
				old, _ := it.Columns["count"].(float64)
				it.Columns = map[string]any{"count": old + 1}
				c.Put = append(c.Put, it)
			}
			return c, nil
		}
	}
	var all sync.WaitGroup
	for k := range 30 {
		all.Go(func() {
			n := 3
			if k%10 == 0 {
				n = 70 // written as a segment
			}
			if _, _, err := x.Update(t.Context(), count(n)); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			other := store.Item{ID: fmt.Sprint("other", k), Vector: []float32{0, 1}}
			if _, err := x.Add(t.Context(), []store.Item{other}, AddOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for id, want := range map[string]float64{"0": 30, "2": 30, "3": 3, "69": 3} {
		if it, _, err := x.Get(id); err != nil || it.Columns["count"] != want {
			t.Errorf("%s: %v, want %v, %v", id, it.Columns, want, err)
		}
	}
	items, failed := x.Info().Items, errors.New("no")
	for _, bad := range []func() (Change, error){
		func() (Change, error) { return Change{Remove: []string{"0"}}, failed },
		func() (Change, error) {
			return Change{Remove: []string{"0"}, Put: []store.Item{{ID: "a", Vector: []float32{1}}}}, nil
		},
		func() (Change, error) {
			return Change{Remove: []string{"0"}, Put: []store.Item{{ID: "a", Vector: []float32{1, 2},
				Columns: map[string]any{"count": "text"}}}}, nil
		},
	} {
		if _, _, err := x.Update(t.Context(), bad); err == nil || x.Info().Items != items {
			t.Errorf("%v, %d items, want %d", err, x.Info().Items, items)
		}
	}
	dir := x.Dir()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := x.Update(t.Context(), count(1)); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	r, err := Open(filepath.Clean(dir), Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, _, err := r.Update(t.Context(), count(1)); !errors.Is(err, store.ErrReadOnly) {
		t.Error(err)
	}
}
