package serve

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/serve/api"
)

// FuzzRequests: whatever the body and its type, a request that changes or asks
// something is answered, and not with a failure of the server.
func FuzzRequests(f *testing.F) {
	kind, form := encodeForm(f, encodePNG(f, plainPicture(4, 4, red)), "k", "3", "columns", `{"label":"x"}`)
	for _, body := range []string{`{"vector":[1,0,0],"k":3,"filter":"price < 3","columns":["label"]}`,
		`{"id":"red/001"}`,
		`{"items":[{"id":"a","vector":[1,2,3],"columns":{"label":"x","n":1e3,"b":true}}]}`, `{"ids":["a"]}`,
		`{"path":"x","columns":{}}`} {
		for route := range 6 {
			f.Add(byte(route), "application/json", []byte(body))
		}
	}
	for route := range 6 {
		f.Add(byte(route), kind, form)
	}
	s := newServer(f, Options{Limits: Limits{Body: 1 << 16, Pixels: 10_000}})
	do := &caller{t: f, s: s, contract: newContract(f)}
	targets := []string{"POST /v1/search", "POST /v1/explain", "POST /v1/items", "PUT /v1/items", "DELETE /v1/items",
		"PUT /v1/items/x"}
	f.Fuzz(func(t *testing.T, route byte, kind string, body []byte) {
		method, path, _ := strings.Cut(targets[int(route)%len(targets)], " ")
		own := *do
		own.t = t
		// What the document allows and what is taken may differ in numbers beyond those
		// of Go, so that only the answer is held to the contract.
		if a := own.do(method, path, kind, body); a.StatusCode >= 500 {
			t.Errorf("%d: %s", a.StatusCode, a.body)
		}
	})
}

// FuzzDecisions: whatever is sent as decisions on a page is refused, and changes nothing,
// or is kept as it is answered, for another server to read.
func FuzzDecisions(f *testing.F) {
	whole, err := json.Marshal(decisionsAfter(0))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	for _, text := range []string{`{}`, `null`, `{"done":{"0":{"action":"relabel","label":"\u2028<","at":"` +
		decidedAt +
		`"}}}`, `{"done":{"1":{"action":"drop","at":"0000-01-01T00:00:00+23:59"}},"at":2}`, `{"version":1e0}`,
		`{"done":{"00":{}}}`, `{"past":[{"card":0,"was":{"action":"split","label":"\ud800"},"at":""}]}`} {
		f.Add([]byte(text))
	}
	dir := reviewFolder(f)
	s := newServer(f, Options{Review: dir, Limits: Limits{Body: 1 << 16}})
	file := s.review.file
	contract := newContract(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		// Where a key is written twice, or in capitals, less is allowed by the document than
		// is taken: only what is refused is held to it.
		s.review.decided = api.Decisions{Done: map[string]api.Decision{}, History: []api.Step{}}
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		own := caller{t: t, s: s}
		a := own.do("PUT", "/v1/review/decisions", "application/json", body)
		if a.StatusCode != 200 {
			own.contract = contract
			own.do("PUT", "/v1/review/decisions", "application/json", body)
			if _, err := os.Stat(file); a.StatusCode >= 500 || err == nil || s.review.decided.Version != 0 {
				t.Fatalf("%d: %s (%v)", a.StatusCode, a.body, err)
			}
			return
		}
		var answered api.Decisions
		a.into(t, &answered)
		again, err := openReview(dir, false)
		if err != nil {
			t.Fatalf("%s is kept, and %v", body, err)
		}
		var parts map[string]any // nothing that is missing is taken for nothing
		if json.Unmarshal(body, &parts) != nil || len(parts) < 4 {
			t.Fatalf("%s is taken for all decisions", body)
		}
		if answered.Version != 1 || !reflect.DeepEqual(again.decided, answered) ||
			!reflect.DeepEqual(s.review.decided, answered) {
			t.Fatalf("%s: answered %+v, kept %+v", body, answered, again.decided)
		}
	})
}

// FuzzAddresses: whatever stands behind the path of a request that has no body, it is
// answered by the document, and not with a failure of the server.
func FuzzAddresses(f *testing.F) {
	paths := []string{"/v1/items", "/v1/items/red%2F001", "/v1/items/red%2F001/picture",
		"/v1/items/red%2F001/thumbnail", "/v1/map", "/v1/map/points", "/v1/map/ids", "/v1/map/column", "/v1/info",
		"/v1/review", "/v1/review/decisions", "/v1/"}
	for i, end := range []string{"?limit=3&after=red%2F001&filter=price%20%3C%203&vectors=true",
		"?column=label&version=1&from=0&to=5", "?limit=-1", "?collection=none", "/%ff/..", "%", "?%zz", "?a;b",
		"?size=99999999999999999999", "#x", "%00", "?filter=" + strings.Repeat("%28", 300)} {
		f.Add(byte(i), end)
	}
	for route := range paths {
		f.Add(byte(route), "")
	}
	s := newServer(f, Options{Review: reviewFolder(f), Limits: Limits{Body: 1 << 16, Pixels: 10_000}})
	do := &caller{t: f, s: s, contract: newContract(f)}
	f.Fuzz(func(t *testing.T, route byte, end string) {
		target := paths[int(route)%len(paths)] + end
		u, err := url.ParseRequestURI(target)
		if err != nil || strings.ContainsAny(target, " \t\r\n") {
			return // net/http takes no such request
		}
		own := *do
		own.t = t
		if p := u.EscapedPath(); p != cleanPath(p) {
			own.contract = nil // refused before there is a route
		}
		a := own.get(target)
		if a.StatusCode >= 500 || len(a.body) > 1<<20 {
			t.Errorf("%s: %d with %d bytes: %.500s", target, a.StatusCode, len(a.body), a.body)
		}
	})
}
