package serve

import (
	"fmt"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// serveIndex serves an index with some items, whose changes are computed as they are written.
func serveIndex(t *testing.T, items ...store.Item) (*caller, *index.Index) {
	t.Helper()
	x, err := index.Create(filepath.Join(t.TempDir(), "things.index"), index.Config{Dim: 3, Distance: eval.Euclidean,
		Network: index.Network{Network: embedding.Network{Name: "none"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	if _, err := x.Add(t.Context(), items, index.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	s := newServer(t, Options{Collections: []Collection{{Name: "things", Store: x.Store(false),
		Embedder: &colourEmbedder{},
		Uploads:  filepath.Join(t.TempDir(), "uploads")}}})
	return &caller{t: t, s: s, contract: newContract(t)}, x
}

// photoItem is an item of a file with a label.
func photoItem(id, label string) store.Item {
	return store.Item{ID: id, Path: "/photos/" + id, Vector: []float32{1, 0, 0}, Columns: map[string]any{"label": label,
		"price": 2.0, mirror.Digest: strings.Repeat("ab", 32), mirror.Size: 7.0, mirror.Set: "/photos"}}
}

// get returns an item of the server.
func getTestItem(t *testing.T, do *caller, id string) (it store.Item) {
	t.Helper()
	do.get("/v1/items/"+strings.ReplaceAll(id, "/", "%2F")).want(t, 200).into(t, &it)
	return it
}

// What PATCH answers undoes it, to the bit; the facts of the file stay, and the folder's label is remembered while the
// item has another one.
func TestEditUndone(t *testing.T) {
	do, _ := serveIndex(t, photoItem("a", "cat"), photoItem("b", "dog"),
		store.Item{ID: "c", Vector: []float32{0, 1, 0}})
	before := []store.Item{getTestItem(t, do, "a"), getTestItem(t, do, "b"), getTestItem(t, do, "c")}
	for _, body := range []string{
		`{"ids":["a","b","c"],"columns":{"label":" 2.10 ","price":null,"new":true}}`,
		`{"items":[{"id":"a","columns":{"label":2.10}},{"id":"c","columns":{"label":"dog","price":2}}]}`,
		`{"items":[{"id":"b","columns":{"label":"dog"}}]}`,
		`{"items":[{"id":"b","columns":{}},{"id":"c","columns":{"none":null,"label":null}}]}`,
	} {
		var out api.Edited
		do.do("PATCH", "/v1/items", "application/json", []byte(body)).want(t, 200).into(t, &out)
		a := getTestItem(t, do, "a")
		if strings.Contains(body, `"a"`) && (a.Columns["label"] != "2.10" ||
			a.Columns[mirror.Labels] != `label="cat";` ||
			a.Columns[mirror.Digest] != before[0].Columns[mirror.Digest]) {
			t.Errorf("%s: %v", body, a.Columns)
		}
		for _, e := range out.Before {
			if len(e.Columns) == 0 {
				t.Errorf("%s: %s has not changed", body, e.ID)
			}
		}
		if len(out.Before) > 0 {
			do.json("PATCH", "/v1/items", api.Edits{Items: out.Before}).want(t, 200)
		}
		after := []store.Item{getTestItem(t, do, "a"), getTestItem(t, do, "b"), getTestItem(t, do, "c")}
		if !reflect.DeepEqual(before, after) {
			t.Fatalf("%s:\n%v\n%v", body, before, after)
		}
	}
}

// A request that cannot be met as a whole changes nothing.
func TestEditRefused(t *testing.T) {
	do, x := serveIndex(t, photoItem("a", "cat"), photoItem("b", "dog"))
	state := x.State()
	for body, status := range map[string]int{
		`{"items":[{"id":"a","columns":{"label":"x"}},{"id":"nothing","columns":{"label":"x"}}]}`:     404,
		`{"items":[{"id":"a","columns":{"label":"x"}},{"id":"b","columns":{"price":"dear"}}]}`:        422,
		`{"items":[{"id":"a","columns":{"label":"x"}},{"id":"a","columns":{"label":"y"}}]}`:           422,
		`{"items":[{"id":"a","columns":{"label":"x"}},{"id":"b","columns":{"price":[1]}}]}`:           422,
		`{"items":[{"id":"a","columns":{"label":"x"}},{"id":"b","path":"/etc/passwd","columns":{}}]}`: 422,
		`{"items":[{"id":"a","columns":{"file.digest":"x"}}]}`:                                        422,
		`{"ids":["a","b"],"columns":{"label":"x","file.labels":null}}`:                                422,
		`{"ids":["a"]}`:                         422,
		`{"items":[]}`:                          422,
		`{"items":[{"id":"a"}]}`:                422,
		`{"ids":["a"],"Columns":{"label":"x"}}`: 400,
	} {
		do.do("PATCH", "/v1/items", "application/json", []byte(body)).want(t, status)
	}
	do.do("PATCH", "/v1/items/a", "application/json", []byte(`{"columns":{"file.size":1}}`)).want(t, 422)
	if x.State() != state {
		t.Error("something was written")
	}
}

// Many edits of one item at a time: none is lost.
func TestEditsTogether(t *testing.T) {
	for _, kind := range []string{"index", "database"} {
		var do *caller
		if kind == "index" {
			do, _ = serveIndex(t, photoItem("a", "cat"))
		} else {
			do = &caller{t: t, s: newServer(t, Options{})}
			do.json("PUT", "/v1/items", api.Items{Items: []store.Item{photoItem("a", "cat")}}).want(t, 403)
			bare := store.Item{ID: "a", Vector: []float32{1, 0, 0}}
			do.json("PUT", "/v1/items", api.Items{Items: []store.Item{bare}}).want(t, 200)
		}
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				do.json("PATCH", "/v1/items/a", api.Edit{Columns: map[string]any{fmt.Sprint("c", i): float64(i)}})
			})
		}
		all.Wait()
		it := getTestItem(t, do, "a")
		for i := range 40 {
			if it.Columns[fmt.Sprint("c", i)] != float64(i) {
				t.Errorf("%s: edit %d is lost", kind, i)
			}
		}
	}
}

// PUT of columns keeps the facts of the file; another vector ends them.
func TestPutKeepsFacts(t *testing.T) {
	do, _ := serveIndex(t, photoItem("a", "cat"), photoItem("b", "cat"))
	dog := api.Change{Columns: map[string]any{"label": "dog", mirror.Digest: "forged"}}
	do.json("PUT", "/v1/items/a", dog).want(t, 200)
	a := getTestItem(t, do, "a")
	want := map[string]any{"label": "dog", mirror.Labels: `label="cat";`, mirror.Digest: strings.Repeat("ab", 32),
		mirror.Size: 7.0, mirror.Set: "/photos"}
	if !reflect.DeepEqual(a.Columns, want) || a.Path != "/photos/a" {
		t.Errorf("%v", a)
	}
	b := getTestItem(t, do, "b")
	b.Columns = map[string]any{"label": "cat"}
	do.json("PUT", "/v1/items", api.Items{Items: []store.Item{b}}).want(t, 200)
	if b = getTestItem(t, do, "b"); b.Columns[mirror.Digest] != strings.Repeat("ab", 32) ||
		b.Columns[mirror.Labels] != nil {
		t.Errorf("%v", b)
	}
	b.Vector, b.Columns = []float32{0, 0, 1}, nil
	do.json("PUT", "/v1/items", api.Items{Items: []store.Item{b}}).want(t, 200)
	if b = getTestItem(t, do, "b"); len(b.Columns) != 0 {
		t.Errorf("%v", b)
	}
}

// A removal with keep is undone with the uploaded pictures, for an hour, also after a restart. Later the pictures are
// gone, unless an item has them.
func TestRemovalUndone(t *testing.T) {
	do, _ := serveIndex(t, photoItem("a", "cat"))
	for _, id := range []string{"new/1", "new/2"} {
		do.form("POST", "/v1/items", encodePNG(t, plainPicture(9, 9, green)), "id", id, "columns", `{"label":"x"}`).want(t, 201)
	}
	one := getTestItem(t, do, "new/1")
	ids := []string{"a", "new/1", "new/2", "nothing", "a"}
	var out api.Deleted
	do.json("DELETE", "/v1/items", api.IDs{IDs: ids, Keep: true}).want(t, 200).into(t, &out)
	if out.Deleted != 3 || len(out.Items) != 3 || !reflect.DeepEqual(out.Items[1], one) {
		t.Fatalf("%+v", out)
	}
	c := do.s.collections[0]
	if err := c.removeUnused(t.Context(), do.s, time.Now().Add(restoreTime-time.Minute)); err != nil {
		t.Fatal(err)
	}
	do.json("PUT", "/v1/items", api.Items{Items: out.Items[:1]}).want(t, 200) // it has the path again that it had
	out.Items[0].ID = "thief"
	do.json("PUT", "/v1/items", api.Items{Items: out.Items[:1]}).want(t, 403, "forbidden")
	foreign := store.Item{ID: "thief", Path: one.Path, Vector: one.Vector}
	do.json("PUT", "/v1/items", api.Items{Items: []store.Item{foreign}}).want(t, 403, "forbidden")
	do.json("PUT", "/v1/items", api.Items{Items: out.Items[1:2]}).want(t, 200)
	if is := getTestItem(t, do, "new/1"); !reflect.DeepEqual(is, one) {
		t.Errorf("%v", is)
	}
	do.get("/v1/items/new%2F1/picture").want(t, 200)
	restarted := newServer(t, Options{Collections: []Collection{c.Collection}})
	if err := restarted.collections[0].removeUnused(t.Context(), restarted,
		time.Now().Add(restoreTime+time.Minute)); err != nil {
		t.Fatal(err)
	}
	do.get("/v1/items/new%2F1/picture").want(t, 200)
	do.json("PUT", "/v1/items", api.Items{Items: out.Items[2:]}).want(t, 403) // its picture is gone
	files, err := os.ReadDir(c.Uploads)
	if err != nil || len(files) != 1 || filepath.Join(c.Uploads, files[0].Name()) != one.Path {
		t.Errorf("%v, %v", files, err)
	}
}

// Labels are counted with the first ids, by number or by name, and only the items that pass a filter.
func TestLabels(t *testing.T) {
	do, _ := serveIndex(t, photoItem("c", "cat"), photoItem("b", "cat"), photoItem("a", "dog"),
		photoItem("f", "cat"), photoItem("e", "cat"),
		photoItem("d", "cat"), store.Item{ID: "z", Vector: []float32{0, 0, 1}, Columns: map[string]any{"price": 9.0}})
	for target, want := range map[string]api.Labels{
		"": {Labels: []api.Label{{Label: "cat", Items: 5, IDs: []string{"b", "c", "d", "e"}},
			{Label: "dog", Items: 1, IDs: []string{"a"}}}, Total: 2, Missing: 1},
		"?from=1&limit=1": {Labels: []api.Label{{Label: "dog", Items: 1, IDs: []string{"a"}}}, Total: 2, Missing: 1},
		"?from=9":         {Labels: []api.Label{}, Total: 2, Missing: 1},
		"?column=price&sort=name&filter=id+>+%22e%22": {Labels: []api.Label{{Label: "2", Items: 1, IDs: []string{"f"}},
			{Label: "9", Items: 1, IDs: []string{"z"}}}, Total: 2},
	} {
		for range 2 { // counted, then kept
			var got api.Labels
			do.get("/v1/labels"+target).want(t, 200).into(t, &got)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v", target, got)
			}
		}
	}
	do.json("PATCH", "/v1/items/a", api.Edit{Columns: map[string]any{"label": "cat"}}).want(t, 200)
	var got api.Labels
	do.get("/v1/labels").want(t, 200).into(t, &got)
	if got.Total != 1 || got.Labels[0].Items != 6 || got.Labels[0].IDs[0] != "a" {
		t.Errorf("after a change: %+v", got)
	}
}

// A kept picture is found by its digest until others take its place.
func TestKeptPictures(t *testing.T) {
	s := newServer(t, Options{Limits: Limits{Memory: 6 << 20}})
	do := &caller{t: t, s: s, contract: newContract(t)}
	noise := func(seed int) []byte {
		im := image.NewRGBA(image.Rect(0, 0, 400, 400))
		rng := rand.New(rand.NewPCG(1, uint64(seed)))
		for i := range im.Pix {
			im.Pix[i] = byte(rng.Uint32())
		}
		for i := 3; i < len(im.Pix); i += 4 {
			im.Pix[i] = 255
		}
		return encodePNG(t, im)
	}
	first := noise(0)
	var name api.Picture
	do.form("POST", "/v1/pictures", first).want(t, 201).into(t, &name)
	if got := do.get("/v1/pictures/"+name.Picture).want(t, 200); string(got.body) != string(first) ||
		got.Header.Get("Content-Type") != "image/png" {
		t.Errorf("%d bytes of %s", len(got.body), got.Header.Get("Content-Type"))
	}
	for i := range 4 {
		do.form("POST", "/v1/pictures", noise(i+1)).want(t, 201)
	}
	do.get("/v1/pictures/"+name.Picture).want(t, 404, "not_found")
	do.json("POST", "/v1/search", api.Search{Picture: name.Picture}).want(t, 404, "not_found")
	if s.pictures.bytes > 1536<<10 {
		t.Errorf("%d bytes are kept", s.pictures.bytes)
	}
	s.pictures.maxBytes = 1000
	do.form("POST", "/v1/pictures", first).want(t, 413, "too_large")
}

// The answer says what the caller may do, and shows the folder only to those who may write.
func TestMay(t *testing.T) {
	file, readKey, writeKey := keyFile(t)
	keys, err := OpenKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	f := NewFolderSync("photos/", "/home/me/photos", nil)
	f.ReportCompared(SyncResult{Pending: &PendingRemovals{ID: "x", Removed: []string{"a"}, Items: 5},
		Kept: []string{"b"}})
	f.ReportFailed(fmt.Errorf("/home/me/photos is gone"))
	for _, c := range []struct {
		opt    Options
		key    string
		may    string
		folder bool
	}{{Options{}, "", "write", true}, {Options{ReadOnly: true}, "", "read", false},
		{Options{Keys: keys}, readKey, "read", false}, {Options{Keys: keys}, writeKey, "write", true},
		{Options{Keys: keys, ReadOnly: true}, writeKey, "read", false}} {
		c.opt.Collections = []Collection{{Name: "things", Store: newFilledStore(t, 1), FolderSync: f}}
		do := &caller{t: t, s: newServer(t, c.opt), contract: newContract(t), key: c.key}
		var info api.Info
		body := do.get("/v1/info").want(t, 200)
		body.into(t, &info)
		got := info.Collections[0].Following
		if info.Permission != c.may || (got.Folder != "") != c.folder || (got.Pending != nil) != c.folder ||
			strings.Contains(string(body.body), "/home") != c.folder {
			t.Errorf("%s: %s", c.may, body.body)
		}
		if !c.folder && !reflect.DeepEqual(got, &api.Following{State: api.Current}) {
			t.Errorf("%+v", got)
		}
	}
}
