package folder

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/storetest"
	"github.com/kindred-ml/kindred/store"
)

func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	x, err := index.Create(dir, index.Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	storetest.Check(t, New(x, false))

	ro, err := index.Open(dir, index.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	s := New(ro, true)
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
		if err := s.Put(t.Context(), items, store.Replace); !errors.Is(err, index.ErrClosed) {
			t.Errorf("%d items put into a closed index: %v", len(items), err)
		}
	}
	if _, err := s.Search(t.Context(), store.Query{Vector: []float32{1, 2}, K: 1}); !errors.Is(err, index.ErrClosed) {
		t.Errorf("a closed index searched: %v", err)
	}
}

// What an index takes, a store takes, and the other way round: what is read through a store
// can be written back.
func TestSameBounds(t *testing.T) {
	if index.MaxID != store.MaxID || index.MaxText != store.MaxText {
		t.Fatalf("%d and %d bytes, %d and %d", index.MaxID, store.MaxID, index.MaxText, store.MaxText)
	}
	x, err := index.Create(filepath.Join(t.TempDir(), "index"), index.Config{Dim: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	s := New(x, false)
	for _, n := range []int{store.MaxID, store.MaxID + 1, 4096} {
		id, fits := strings.Repeat("x", n), n <= store.MaxID
		e := index.Entry{Item: index.Item{ID: id}, Vector: []float32{1}}
		_, err := x.Add(t.Context(), []index.Entry{e}, index.AddOptions{})
		if (err == nil) != fits {
			t.Errorf("an id of %d bytes added: %v", n, err)
		}
		it := store.Item{ID: id, Vector: []float32{1}}
		if err == nil {
			if it, err = s.Get(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Put(t.Context(), []store.Item{it}, store.Replace); (err == nil) != fits {
			t.Errorf("an id of %d bytes put: %v", n, err)
		}
	}
}
