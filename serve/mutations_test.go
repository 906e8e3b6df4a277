package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/mutations"
)

// TestMutations changes the bodies of requests: each is answered, by what it asks for or by a
// problem, and not with a failure of the server.
func TestMutations(t *testing.T) {
	dir := reviewFolder(t)
	var readers []mutations.Reader
	for _, c := range []struct{ request, body string }{
		{"POST /v1/search", `{"vector":[1,0,0],"k":3,"filter":"price < 3","columns":["label"],"vectors":true}`},
		{"POST /v1/explain", `{"id":"red/001","k":2,"except_itself":true}`},
		{"PUT /v1/items",
			`{"items":[{"id":"a","vector":[1,2,3],"columns":{"label":"x","price":1e3}},{"id":"b","vector":[0,0,1],` +
				`"columns":{"label":2.10}}]}`},
		{"PUT /v1/items/red%2F001", `{"columns":{"label":"y"},"vector":[1,1,1]}`},
		{"PATCH /v1/items/red%2F001", `{"columns":{"label":2.10,"price":3,"sold":null}}`},
		{"PATCH /v1/items",
			`{"items":[{"id":"red/001","columns":{"label":"x","price":null}},{"id":"red/002","columns":{}}]}`},
		{"PATCH /v1/items?collection=things", `{"ids":["red/001","red/002"],"columns":{"label":"x","price":1e3}}`},
		{"DELETE /v1/items", `{"ids":["nothing","nor this"],"keep":true}`},
		{"PUT /v1/review/decisions",
			`{"version":0,"done":{"0":{"action":"relabel","label":"x","at":"2024-01-02T03:04:05Z"}},` +
				`"past":[{"card":0,"at":"2024-01-02T03:04:05Z"}],"at":1}`},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		s := newServer(t, Options{Review: dir, Limits: Limits{Body: 1 << 20}})
		readers = append(readers, mutations.Reader{Name: c.request, Valid: []string{c.body},
			Read: func(text []byte) error {
				if s.review != nil {
					s.review.decided.Version = 0 // as nobody else decides
				}
				r := httptest.NewRequest(method, path, strings.NewReader(string(text)))
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				switch {
				case w.Code >= 500:
					return fmt.Errorf("%%! a failure of the server: %d %s", w.Code, w.Body)
				case w.Code != http.StatusOK && w.Code != http.StatusCreated:
					return errors.New(w.Body.String())
				}
				return nil
			}})
	}
	mutations.Try(t, readers...)
}

// TestMutationsOfDecisions changes the file of what was decided.
func TestMutationsOfDecisions(t *testing.T) {
	dir := reviewFolder(t)
	v, err := openReview(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := json.Marshal(decisionsDocument{Page: v.page.Key, Decisions: decisionsAfter(0)})
	if err != nil {
		t.Fatal(err)
	}
	mutations.Try(t, mutations.Reader{Name: "decisions", Valid: []string{string(whole)}, Read: func(text []byte) error {
		if err := os.WriteFile(v.file, text, 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := openReview(dir, false)
		return err
	}})
}
