package serve

import (
	"net/http"
	"strings"
	"testing"
)

// What encoding/json would mend in silence is refused: no number becomes 0, no id
// another one, and nothing is written.
func TestNothingIsMended(t *testing.T) {
	s := newServer(t, Options{})
	do := &caller{t: t, s: s}
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/v1/items", `{"items":[{"id":"x","vector":[1,null,2]}]}`, "null in a list"},
		{"PUT", "/v1/items", `{"items":[{"id":"x","vector":[null,1,2]}]}`, "byte 30 of the JSON: null in a list"},
		{"POST", "/v1/items", `{"items":[{"id":"x","vector":[1,2,3]},null]}`, "null in a list"},
		{"PUT", "/v1/items/x", `{"vector":[1,2, null ]}`, "null in a list"},
		{"POST", "/v1/search", `{"vector":[1,null,2]}`, "null in a list"},
		{"POST", "/v1/search", `{"id":"red/001","columns":[null]}`, "null in a list"},
		{"POST", "/v1/explain", `{"vector":[1,null,2]}`, "null in a list"},
		{"DELETE", "/v1/items", `{"ids":[null]}`, "null in a list"},
		{"POST", "/v1/items", `{"items":[{"id":"\ud800","vector":[1,2,3]}]}`, `\ud800 is half of a character`},
		{"POST", "/v1/items", `{"items":[{"id":"x","path":"\udc00","vector":[1,2,3]}]}`, `\udc00 is half`},
		{"POST", "/v1/items", `{"items":[{"id":"x","columns":{"label":"a\ud800"},"vector":[1,2,3]}]}`, "is half"},
		{"POST", "/v1/items", `{"items":[{"id":"x","columns":{"\ud800":1},"vector":[1,2,3]}]}`, "is half"},
		{"POST", "/v1/search", `{"id":"red/001","filter":"label = \"\ud800\""}`, "is half"},
		{"DELETE", "/v1/items", `{"ids":["\ud800"]}`, "is half"},
	} {
		a := do.do(c.method, c.path, "application/json", []byte(c.body))
		want := strings.ReplaceAll(c.want, `\`, `\\`)
		if a.StatusCode != http.StatusBadRequest || !strings.Contains(string(a.body), want) {
			t.Errorf("%s %s %s: %d %s, want %s", c.method, c.path, c.body, a.StatusCode, a.body, c.want)
		}
	}
	do.get("/v1/items/x").want(t, http.StatusNotFound)
	do.do("POST", "/v1/items", "application/json",
		[]byte(`{"items":[{"id":"\ud83d\ude00","path":null,"vector":[1,2,3]}]}`)).want(t, 201)
	do.get("/v1/items/%F0%9F%98%80").want(t, http.StatusOK)
}

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
