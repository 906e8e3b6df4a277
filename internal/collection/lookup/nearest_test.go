package lookup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
)

// emptyItems are an empty index and an empty store of a database, of vectors of 2 numbers.
func emptyItems(t *testing.T) map[string]*Items {
	t.Helper()
	x, err := index.Create(filepath.Join(t.TempDir(), "ix"), index.Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	none := func() (*run.Model, error) { return nil, nil }
	return map[string]*Items{
		"index":    {Store: x.Store(false), Name: x.Dir(), Model: none, Index: x, Way: ": ask otherwise"},
		"database": {Store: &storetest.Memory{Dim: 2}, Name: "db", Model: none, Way: ": ask otherwise"}}
}

// TestNearest: the photo itself is left out, however many copies of it there are, and so are the items with the very
// embedding of a vector, and the item that was asked for by its id.
func TestNearest(t *testing.T) {
	for name, g := range emptyItems(t) {
		const copies = 30 // more than are asked for beside those wanted, twice
		var list []store.Item
		for i := range copies + 20 {
			at := float32(max(0, i-copies+1))
			list = append(list, store.Item{ID: fmt.Sprintf("i%02d", i), Vector: []float32{at, 0}})
		}
		if err := g.Store.Put(t.Context(), list, store.Replace); err != nil {
			t.Fatal(name, err)
		}
		opt := Options{K: 5}
		photo := Query{Name: "q.jpg", Path: "q.jpg", Vector: []float32{0, 0}}
		plain := Query{Name: "row", Vector: []float32{0, 0}}
		byID, err := g.QueriesByID(t.Context(), []string{"i49"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Nearest(t.Context(), g, []Query{photo, plain, byID[0]}, opt)
		if err != nil {
			t.Fatal(name, err)
		}
		if a := got[0]; len(a.QueryIDs) != copies || len(a.Neighbours) != 5 || a.Neighbours[0].ID != "i30" ||
			a.Neighbours[0].Distance != 1 {
			t.Errorf("%s: of a photo %d are itself, and %+v", name, len(a.QueryIDs), a.Neighbours)
		}
		if a := got[1]; len(a.QueryIDs) != copies || len(a.Neighbours) != 5 || a.Neighbours[0].ID != "i30" {
			t.Errorf("%s: of a vector %d are itself, and %+v", name, len(a.QueryIDs), a.Neighbours)
		}
		if a := got[2]; !slices.Equal(a.QueryIDs, []string{"i49"}) || a.Neighbours[0].ID != "i48" {
			t.Errorf("%s: %+v", name, a)
		}
		if counted := got[1].Passed; (counted != nil) != (name == "index") || counted != nil && *counted != copies+20 {
			t.Errorf("%s: %v passed", name, counted)
		}
		if _, err := g.QueriesByID(t.Context(), []string{"none"}); err == nil || !strings.Contains(err.Error(), `"none"`) {
			t.Error(name, err)
		}
		if _, err := g.Network(); err == nil ||
			!strings.HasSuffix(err.Error(), "embedded: ask otherwise") {
			t.Error(name, err)
		}
	}
}

// An id that is not there is an error, with the one that is most like it.
func TestByID(t *testing.T) {
	for name, g := range emptyItems(t) {
		some := []store.Item{{ID: "p3", Vector: []float32{3, 0}}, {ID: "p11", Vector: []float32{11, 0}}}
		if err := g.Store.Put(t.Context(), some, store.Replace); err != nil {
			t.Fatal(name, err)
		}
		list, err := g.QueriesByID(t.Context(), []string{"p3"})
		if err != nil || len(list) != 1 || list[0].Vector[0] != 3 {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
		if _, err := g.QueriesByID(t.Context(), []string{"P11"}); name == "index" && (err == nil ||
			!strings.HasSuffix(err.Error(), `has no item "P11" (did you mean "p11"?)`)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The item of the photo's own path is named first, whatever its embedding is now, and its copies after it.
func TestItselfByItsPath(t *testing.T) {
	dir := t.TempDir()
	photo, copied := filepath.Join(dir, "b.jpg"), filepath.Join(dir, "a.jpg")
	if err := errors.Join(os.WriteFile(photo, []byte("x"), 0o600),
		os.WriteFile(copied, []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, g := range emptyItems(t) {
		list := []store.Item{{ID: "a", Path: copied, Vector: []float32{0, 0}}, {ID: "b", Path: photo,
			Vector: []float32{3, 0}}, {ID: "c", Path: filepath.Join(dir, "c.jpg"), Vector: []float32{1, 0}}}
		if err := g.Store.Put(t.Context(), list, store.Replace); err != nil {
			t.Fatal(err)
		}
		got, err := Nearest(t.Context(), g, []Query{{Path: photo, Vector: []float32{0, 0}}}, Options{K: 2})
		if err != nil || !slices.Equal(got[0].QueryIDs, []string{"b", "a"}) || len(got[0].Neighbours) != 1 ||
			got[0].Neighbours[0].ID != "c" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// An item is the photo if its embedding is of the photo's content, whatever its file is now: not one whose file was
// replaced by the photo or by a copy of it, and one whose file was replaced by another picture.
func TestItselfByItsContent(t *testing.T) {
	dir := t.TempDir()
	put := func(name, content string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, name := range []string{"photo", "replaced", "moved", "plain"} {
		put(name+".jpg", "content of "+name)
	}
	set, err := data.Open(t.Context(), dir, data.OpenOptions{Unlabelled: true})
	if err != nil {
		t.Fatal(err)
	}
	facts, err := mirror.ReadFileRecords(t.Context(), set.All(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []store.Item
	for i, name := range set.Names {
		list = append(list, store.Item{ID: name, Path: facts[i].Path, Vector: []float32{float32(i + 1), 0}})
		if name != "plain.jpg" { // it has no digest: its file decides
			facts[i].Put(&list[i])
		}
	}
	lost := list[0]
	lost.ID, lost.Path = "lost", filepath.Join(dir, "lost.jpg")
	lost.Vector, lost.Columns = []float32{9, 0}, list[3].Columns
	list = append(list, lost)
	// moved.jpg is photo.jpg now; photo.jpg, replaced.jpg and plain.jpg have another content.
	for _, name := range []string{"photo", "replaced", "plain"} {
		put(name+".jpg", "other content")
	}
	put("moved.jpg", "content of photo")
	for name, g := range emptyItems(t) {
		if err := g.Store.Put(t.Context(), list, store.Replace); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			query         string
			itself, older []string
			others        int
		}{
			{"moved.jpg", []string{"photo.jpg"}, []string{"moved.jpg"}, 4},
			{"photo.jpg", []string{"plain.jpg"}, []string{"photo.jpg", "replaced.jpg"}, 4},
		} {
			q := Query{Path: filepath.Join(dir, c.query), Vector: []float32{9, 1}}
			got, err := Nearest(t.Context(), g, []Query{q}, Options{K: 9})
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got[0].OutdatedIDs)
			if !slices.Equal(got[0].QueryIDs, c.itself) || !slices.Equal(got[0].OutdatedIDs, c.older) ||
				len(got[0].Neighbours) != c.others {
				t.Errorf("%s, %s: %+v", name, c.query, got[0])
			}
		}
	}
}

// Others asks for no more than it may, and gives what it has then.
func TestOthersBounded(t *testing.T) {
	var asked []int
	search := func(k int) ([]store.Hit, error) {
		asked = append(asked, k)
		hits := make([]store.Hit, k)
		for i := range hits {
			hits[i].ID = fmt.Sprint(i)
		}
		return hits, nil
	}
	hits, itself, err := searchOthers(t.Context(), 3, 40, search, func(h *store.Hit) bool { return h.ID != "42" })
	if err != nil || len(hits) != 1 || hits[0].ID != "42" || len(itself) != 42 || !slices.Equal(asked, []int{11, 43}) {
		t.Errorf("asked for %v: %+v, %d itself, %v", asked, hits, len(itself), err)
	}
}
