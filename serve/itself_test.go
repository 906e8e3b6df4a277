package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// What is the query itself is left out if the request says so: copies of its file under other
// names and, of items without a file, equal vectors; not another file of the same look.
func TestItself(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	photo := encodePNG(t, plainPicture(30, 20, red))
	m := &storetest.Memory{Dim: 3}
	items := []store.Item{
		{ID: "photo", Path: write("photo.png", photo), Vector: []float32{1, 0, 0}},
		{ID: "copy", Path: write("copy.png", photo), Vector: []float32{1, 0, 0}},
		{ID: "other size", Path: write("other.png", encodePNG(t, plainPicture(31, 20, red))),
			Vector: []float32{1, 0, 0}},
		{ID: "other bytes", Path: write("bytes.png", append(photo[:len(photo)-1:len(photo)-1], 'x')),
			Vector: []float32{1, 0, 0}},
		{ID: "no file", Vector: []float32{1, 0, 0}},
		{ID: "lost file", Path: filepath.Join(dir, "lost.png"), Vector: []float32{1, 0, 0}},
		{ID: "near", Vector: []float32{0.5, 0, 0}},
	}
	if err := m.Put(t.Context(), items, store.Insert); err != nil {
		t.Fatal(err)
	}
	do := &caller{t: t, contract: newContract(t), s: newServer(t, Options{Collections: []Collection{
		{Name: "things", Store: m, Embedder: &colourEmbedder{}, Folders: []string{dir}}}})}
	ids := func(hits []api.Neighbour) (out []string) {
		for _, h := range hits {
			out = append(out, h.ID)
			if h.Vector != nil {
				t.Errorf("%s comes with a vector", h.ID)
			}
		}
		slices.Sort(out)
		return out
	}
	for _, c := range []struct {
		what           string
		form           bool
		json           api.Search
		itself, others []string
	}{
		{"a picture", true, api.Search{}, []string{"copy", "photo"},
			[]string{"lost file", "near", "no file", "other bytes", "other size"}}, // embedded, it is (0.9999, 0, 0)
		{"an item", false, api.Search{ID: "photo", ExcludeQuery: true}, []string{"copy", "lost file", "no file",
			"photo"},
			[]string{"near", "other bytes", "other size"}},
		{"an item without a file", false, api.Search{ID: "no file", ExcludeQuery: true},
			[]string{"copy", "lost file", "no file", "other bytes", "other size", "photo"}, []string{"near"}},
		{"a vector", false, api.Search{Vector: []float32{0.5, 0, 0}, ExcludeQuery: true}, []string{"near"},
			[]string{"copy", "lost file", "no file", "other bytes", "other size", "photo"}},
		{"an item, not asked to", false, api.Search{ID: "photo"}, nil,
			[]string{"copy", "lost file", "near", "no file", "other bytes", "other size"}},
	} {
		for _, way := range []string{"/v1/search", "/v1/explain"} {
			var got api.Found
			if c.form {
				do.form("POST", way, photo, "except_itself", "true").want(t, 200).into(t, &got)
			} else {
				do.json("POST", way, c.json).want(t, 200).into(t, &got)
			}
			if slices.Sort(got.QueryIDs); !slices.Equal(got.QueryIDs, c.itself) ||
				!slices.Equal(ids(got.Neighbours), c.others) {
				t.Errorf("%s by %s: itself %q, neighbours %q", way, c.what, got.QueryIDs, ids(got.Neighbours))
			}
		}
	}
	var got api.Found
	do.form("POST", "/v1/search", photo).want(t, 200).into(t, &got)
	for _, n := range got.Neighbours {
		if n.IsQuery != (n.ID == "photo" || n.ID == "copy") {
			t.Errorf("the item %s is the query: %v", n.ID, n.IsQuery)
		}
	}
	do.form("POST", "/v1/search", photo, "except_itself", "perhaps").want(t, 400, "bad_request")
}

// An item with a digest is compared by it: an item whose file was replaced is of the older content.
func TestItselfByDigest(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "photo.png")
	old, now := encodePNG(t, plainPicture(30, 20, red)), encodePNG(t, plainPicture(31, 20, red))
	digest := func(content []byte) map[string]any {
		t.Helper()
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		set, err := data.Open(t.Context(), dir, data.OpenOptions{Unlabelled: true})
		if err != nil {
			t.Fatal(err)
		}
		facts, err := mirror.ReadFileRecords(t.Context(), set.All(), dir)
		if err != nil {
			t.Fatal(err)
		}
		var it store.Item
		facts[0].Put(&it)
		return it.Columns
	}
	m := &storetest.Memory{Dim: 3}
	items := []store.Item{{ID: "older", Path: path, Vector: []float32{0.5, 0, 0}, Columns: digest(old)},
		{ID: "moved", Path: filepath.Join(dir, "gone.png"), Vector: []float32{0.75, 0, 0}, Columns: digest(old)},
		{ID: "current", Path: path, Vector: []float32{1, 0, 0}, Columns: digest(now)}}
	if err := m.Put(t.Context(), items, store.Insert); err != nil {
		t.Fatal(err)
	}
	do := &caller{t: t, contract: newContract(t), s: newServer(t, Options{Collections: []Collection{
		{Name: "things", Store: m, Embedder: &colourEmbedder{}, Folders: []string{dir}}}})}
	for _, c := range []struct {
		what   string
		ask    func() *answer
		itself []string
	}{
		{"the old photo", func() *answer { return do.form("POST", "/v1/search", old, "except_itself", "true") },
			[]string{"moved", "older"}},
		{"the photo", func() *answer { return do.form("POST", "/v1/search", now, "except_itself", "true") },
			[]string{"current"}},
		{"the older item", func() *answer {
			return do.json("POST", "/v1/search", api.Search{ID: "older", ExcludeQuery: true})
		}, []string{"moved", "older"}},
		{"the current item", func() *answer {
			return do.json("POST", "/v1/search", api.Search{ID: "current", ExcludeQuery: true})
		}, []string{"current"}},
	} {
		var got api.Found
		c.ask().want(t, 200).into(t, &got)
		if slices.Sort(got.QueryIDs); !slices.Equal(got.QueryIDs, c.itself) {
			t.Errorf("%s: %q is left out, want %q", c.what, got.QueryIDs, c.itself)
		}
	}
}

// As many neighbours come as were asked for, however many items are the query.
func TestItselfManyTimes(t *testing.T) {
	m := &storetest.Memory{Dim: 1}
	var items []store.Item
	for i := range 100 {
		items = append(items, store.Item{ID: fmt.Sprintf("%03d", i), Vector: []float32{float32(max(0, i-80))}})
	}
	if err := m.Put(t.Context(), items, store.Insert); err != nil {
		t.Fatal(err)
	}
	do := &caller{t: t, s: newServer(t, Options{Collections: []Collection{{Name: "things", Store: m}}})}
	var got api.Found
	do.json("POST", "/v1/search", api.Search{Vector: []float32{0}, K: 5, ExcludeQuery: true}).want(t, 200).into(t, &got)
	if len(got.QueryIDs) != 81 || len(got.Neighbours) != 5 || got.Neighbours[0].ID != "081" {
		t.Errorf("%d are the query, %d neighbours: %+v", len(got.QueryIDs), len(got.Neighbours), got.Neighbours)
	}
}

// Vectors, ids and pictures of items decide alike: items that are the photos have no vote, and the answer names them.
func TestIdentifyLeavesItselfOut(t *testing.T) {
	do, m := serveSpots(t)
	ask := func(a api.Identify) (out api.Identified) {
		a.FPIR = 0.2
		do.json("POST", "/v1/identify", a).want(t, 200).into(t, &out)
		return out
	}
	for _, ids := range [][]string{{"0"}, {"17"}, {"8", "9", "10"}} {
		var vectors [][]float32
		for _, id := range ids {
			it, err := m.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			vectors = append(vectors, it.Vector)
		}
		byID, byVector := ask(api.Identify{IDs: ids}), ask(api.Identify{Vectors: vectors})
		slices.Sort(byID.PhotoIDs)
		slices.Sort(byVector.PhotoIDs)
		if want := slices.Sorted(slices.Values(ids)); !slices.Equal(byID.PhotoIDs, want) ||
			byID.Answer != api.AnswerPicture || byID.Probability != 1 || byID.Unknown || byID.Others == nil {
			t.Errorf("%q: %+v", ids, byID)
		}
		byID.Query, byID.Names = "", nil // a vector has no name
		if !reflect.DeepEqual(byID, byVector) || byID.Nearest == 0 {
			t.Errorf("by id %+v, by vector %+v", byID, byVector)
		}
	}
}
