package serve

import (
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/store"
)

// A class is the text of its JSON literal, in every request that writes an item; other columns keep their types.
func TestClassesAreTexts(t *testing.T) {
	things := &storetest.Memory{Dim: 3}
	s := newServer(t, Options{Collections: []Collection{{Name: "things", Store: things, Embedder: &colourEmbedder{}}}})
	do := &caller{t: t, s: s, contract: newContract(t)}
	list := func(a, b string) []byte {
		return []byte(`{"items": [{"id": "a", "columns": {"label": ` + a + `, "price": 2.10}, "vector": [1, 2, 3]},
			{"id": "b", "columns": {"label": ` + b + `}, "vector": [1, 2, 3]}]}`)
	}
	do.do("POST", "/v1/items", "application/json", list("2.10", "2.1")).want(t, 201)
	do.do("PUT", "/v1/items", "application/json", list("2.10", "2.1")).want(t, 200)
	do.do("PUT", "/v1/items/c", "application/json",
		[]byte(`{"columns": {"fine": 1e0}, "vector": [1, 2, 3]}`)).want(t, 200)
	picture := encodePNG(t, plainPicture(9, 9, red))
	do.form("PUT", "/v1/items/d", picture, "columns", `{"coarse": true, "label": "007"}`).want(t, 200)
	for id, want := range map[string]map[string]any{"a": {"label": "2.10", "price": 2.1}, "b": {"label": "2.1"},
		"c": {"fine": "1e0"}, "d": {"coarse": "true", "label": "007"}} {
		it, err := things.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range want {
			if it.Columns[name] != v {
				t.Errorf("%s of %s is %#v, want %v", name, id, it.Columns[name], v)
			}
		}
	}
	old := &storetest.Memory{Dim: 3}
	if err := old.Put(t.Context(), []store.Item{{ID: "a", Vector: []float32{1, 2, 3},
		Columns: map[string]any{"label": 7.0}}}, store.Insert); err != nil {
		t.Fatal(err)
	}
	s = newServer(t, Options{Collections: []Collection{{Name: "old", Store: old, Embedder: &colourEmbedder{}}}})
	do = &caller{t: t, s: s, contract: newContract(t)}
	do.do("PUT", "/v1/items", "application/json", list("2.10", `"7"`)).want(t, 200)
	if it, err := old.Get(t.Context(), "a"); err != nil || it.Columns["label"] != 2.1 {
		t.Errorf("%v, %v: an older column of numbers keeps its kind", it, err)
	}
	a := do.do("PUT", "/v1/items", "application/json", list("7", `"10a"`)).want(t, 422, "invalid")
	if !strings.Contains(string(a.body), "kindred index create") {
		t.Errorf("%s", a.body)
	}
}
