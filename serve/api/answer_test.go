package api_test

import (
	"github.com/kindred-ml/kindred/serve/api"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// An answer with an invalid vector, or with half a character, is an error.
func TestDamagedAnswers(t *testing.T) {
	for _, answer := range []string{`{"id":"x","vector":[1,null]}`, `{"id":"\ud800"}`, "{\"id\":\"\xff\"}"} {
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, answer)
		}))
		c, err := api.NewClient(h.URL, api.ClientOptions{HTTP: h.Client()})
		if err != nil {
			t.Fatal(err)
		}
		it, err := c.Get(t.Context(), "x")
		if err == nil || !strings.Contains(err.Error(), "of the JSON: ") {
			t.Errorf("%s: %+v, %v", answer, it, err)
		}
		h.Close()
	}
}

// A column of a map says by null where an item has no number; in its texts nothing is
// mended either.
func TestGapsOfAMap(t *testing.T) {
	for answer, want := range map[string]string{
		`{"name":"price","kind":"number","numbers":[1,null,2]}`: "",
		`{"name":"\ud800","numbers":[1,null,2]}`:                "is half",
		`{"name":"label","classes":["a\udc00"],"of":[]}`:        "is half",
	} {
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, answer)
		}))
		c, err := api.NewClient(h.URL, api.ClientOptions{HTTP: h.Client()})
		if err != nil {
			t.Fatal(err)
		}
		column, err := c.MapColumn(t.Context(), 1, "price")
		switch {
		case want != "":
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %+v, %v", answer, column, err)
			}
		case err != nil || len(column.Numbers) != 3 || column.Numbers[1] != nil || *column.Numbers[2] != 2:
			t.Errorf("%s: %+v, %v", answer, column, err)
		}
		h.Close()
	}
}
