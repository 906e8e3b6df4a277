package api_test

import (
	"github.com/kindred-ml/kindred/serve/api"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// An answer with a vector that is none, or half a character, is an error.
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
