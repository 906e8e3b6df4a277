package serve

import (
	"strings"
	"testing"
)

// What a request holds comes back cut, however long it is.
func TestAnswersAreShort(t *testing.T) {
	s := newServer(t, Options{Limits: Limits{Body: 8 << 20}})
	do := &caller{t: t, s: s}
	for _, long := range []string{strings.Repeat("x", 1<<20), strings.Repeat("\x01", 1<<20)} {
		for _, a := range []*answer{
			do.json("POST", "/v1/search", map[string]any{"id": "red/001", "filter": long}),
			do.json("POST", "/v1/search", map[string]any{"id": long}),
			do.json("PUT", "/v1/items", map[string]any{"items": []any{map[string]any{"id": long,
				"vector": []int{1, 2, 3}}}}),
			do.json("PUT", "/v1/items", map[string]any{"items": []any{map[string]any{"id": "x",
				"vector": []int{1, 2, 3}, "columns": map[string]any{long: []int{1}}}}}),
			do.json("POST", "/v1/search", map[string]any{long: 1}),
		} {
			if a.StatusCode < 400 || a.StatusCode >= 500 || len(a.body) > 32<<10 {
				t.Errorf("%.20q: %d and %d bytes", long, a.StatusCode, len(a.body))
			}
		}
	}
}
