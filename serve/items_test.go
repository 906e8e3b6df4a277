package serve

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/store"
)

// Of the items of a request each is looked at, and no two may have one id.
func TestCheckItems(t *testing.T) {
	item := func(id string, vector ...float32) store.Item { return store.Item{ID: id, Vector: vector} }
	for want, items := range map[string][]store.Item{
		"":                            {item("a", 1, 2), item("b", 1, 2)},
		"no items":                    {},
		`the item "a" is there twice`: {item("a", 1, 2), item("b", 1, 2), item("a", 1, 2)},
		"1 numbers":                   {item("a", 1, 2), item("b", 1)},
		"id":                          {item("", 1, 2)},
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
	if err := reply(w, 201, map[string]string{"a": "<b>"}); err != nil {
		t.Fatal(err)
	}
	body := w.Body.String()
	if h := w.Header(); h.Get("Cache-Control") != "no-store" || h.Get("Content-Length") != "21" || w.Code != 201 ||
		len(body) != 21 || strings.ContainsAny(body, "<>") {
		t.Errorf("%d, %v, %s of %d bytes", w.Code, h, body, len(body))
	}
}
