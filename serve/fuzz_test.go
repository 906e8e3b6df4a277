package serve

import (
	"strings"
	"testing"
)

// FuzzRequests: whatever the body and its type, a request that changes or asks
// something is answered, and not with a failure of the server.
func FuzzRequests(f *testing.F) {
	kind, form := formOf(f, pngOf(f, plain(4, 4, red)), "k", "3", "columns", `{"label":"x"}`)
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
