package serve

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// Of the items of a request each is looked at, and no two may have one id.
func TestCheckItems(t *testing.T) {
	item := func(id string, vector ...float32) store.Item { return store.Item{ID: id, Vector: vector} }
	for want, items := range map[string][]store.Item{
		"":                                   {item("a", 1, 2), item("b", 1, 2)},
		"no items":                           {},
		`the request has the item "a" twice`: {item("a", 1, 2), item("b", 1, 2), item("a", 1, 2)},
		"1 numbers":                          {item("a", 1, 2), item("b", 1)},
		"id":                                 {item("", 1, 2)},
	} {
		err := (&Server{}).checkItems(items, 2)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// An answer is kept by nobody, and no browser finds a tag in it.
func TestAnswer(t *testing.T) {
	w := httptest.NewRecorder()
	if err := writeJSON(w, 201, map[string]string{"a": "<b>"}); err != nil {
		t.Fatal(err)
	}
	body := w.Body.String()
	if h := w.Header(); h.Get("Cache-Control") != "no-store" || h.Get("Content-Length") != "21" || w.Code != 201 ||
		len(body) != 21 || strings.ContainsAny(body, "<>") {
		t.Errorf("%d, %v, %s of %d bytes", w.Code, h, body, len(body))
	}
}

// TestOddIDs: what can be added can be read, changed and removed by its id as part of an
// address, as every browser writes it; what no address can hold is refused with the reason.
func TestOddIDs(t *testing.T) {
	s := newServer(t, Options{})
	do := &caller{t: t, s: s, contract: newContract(t)}
	one := func(id string) map[string]any {
		return map[string]any{"items": []any{map[string]any{"id": id, "vector": []int{1, 2, 3}}}}
	}
	for _, id := range []string{"a/", "/a", "//", "///", "a//b", "./", "/.", "../", "../..", "/..", "a/..", "...", ". ",
		"%2F", "%", "%2e", "?", "#", "a?b#c", "&", "+", " ", ";", "*", "{id}", "picture", "a/picture", "\\", "-", "~",
		"\u00a0", "ü/ö", "😀"} {
		at := "/v1/items/" + url.PathEscape(id)
		do.json("POST", "/v1/items", one(id)).want(t, 201)
		for _, way := range []string{at, at + "/thumbnail"} {
			a := do.get(way)
			if !strings.HasSuffix(way, "/thumbnail") {
				var it store.Item
				if a.want(t, 200).into(t, &it); it.ID != id {
					t.Errorf("%q is read as %q", id, it.ID)
				}
			} else if a.want(t, 404, "not_found"); !strings.Contains(string(a.body), "has no picture here") {
				t.Errorf("the thumbnail of %q: %s", id, a.body)
			}
		}
		do.json("PUT", at, map[string]any{"columns": map[string]any{"label": "x"}}).want(t, 200)
		do.do("DELETE", at, "", nil).want(t, 200)
		do.get(at).want(t, 404, "not_found")
	}
	for _, id := range []string{"/", ".", ".."} {
		for _, method := range []string{"POST", "PUT"} {
			a := do.json(method, "/v1/items", one(id)).want(t, 422, "invalid")
			if !strings.Contains(string(a.body), "would be a folder in an address") {
				t.Errorf("%q: %s", id, a.body)
			}
		}
		do.form("POST", "/v1/items", encodePNG(t, plainPicture(9, 9, red)), "id", id).want(t, 422, "invalid")
	}
}

// TestOldIDs: items with ids that are refused now, of an index that an older version made,
// are listed, searched by and removed.
func TestOldIDs(t *testing.T) {
	for _, id := range []string{"/", ".", ".."} {
		for _, way := range []string{"address", "body"} {
			m := newFilledStore(t, 2)
			m.Keep(store.Item{ID: id, Vector: []float32{9, 9, 9}})
			s := newServer(t, Options{Collections: []Collection{{Name: "things", Store: m}}})
			do := &caller{t: t, s: s, contract: newContract(t)}
			if a := do.get("/v1/items?limit=1"); !strings.Contains(string(a.want(t, 200).body), `"id":"`+id+`"`) {
				t.Errorf("%q is not listed: %s", id, a.body)
			}
			do.json("POST", "/v1/search", map[string]any{"id": id}).want(t, 200)
			a := func() *answer {
				if way == "body" {
					return do.json("DELETE", "/v1/items", api.IDs{IDs: []string{id}})
				}
				return do.do("DELETE", "/v1/items?id="+url.QueryEscape(id), "", nil)
			}().want(t, 200)
			var done api.Deleted
			if a.into(t, &done); done.Deleted != 1 {
				t.Errorf("%q is not removed: %s", id, a.body)
			}
		}
	}
}
