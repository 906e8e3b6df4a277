package serve

import (
	"strings"
	"testing"
)

// A name counts with its capitals wherever it stands, but for columns, whose names are
// those of the items.
func TestNamesCountWithTheirCapitals(t *testing.T) {
	do := &caller{t: t, s: newServer(t, Options{})}
	for body, wrong := range map[string]string{
		`{"items":[{"id":"a","vector":[1,2,3],"columns":{"ID":"x"}}]}`:      "",
		`{"items":[{"id":"a","vector":[1,2,3]},{"ID":"b","vector":[1,2]}]}`: `byte 39 of the JSON: unknown field \"ID\"`,
		`{"Items":[]}`: `byte 1 of the JSON: unknown field \"Items\"`,
	} {
		a := do.do("PUT", "/v1/items", "application/json", []byte(body))
		if wrong == "" && a.StatusCode != 200 || wrong != "" && (a.StatusCode != 400 ||
			!strings.Contains(string(a.body), wrong)) {
			t.Errorf("%s: %d %s", body, a.StatusCode, a.body)
		}
	}
}
