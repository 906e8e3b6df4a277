package strictjson

import (
	"encoding/json"
	"strings"
	"testing"
)

// list reads a list by itself, and hides what it reads; shown says it.
type (
	list  struct{ items []item }
	shown struct{ list }
	item  struct {
		ID      string         `json:"id"`
		Columns map[string]any `json:"columns"`
	}
)

func (l *list) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &l.items) }
func (*shown) JSON() any                        { return []item(nil) }

func TestExact(t *testing.T) {
	type Base struct {
		Filter string `json:"filter,omitempty"`
	}
	type search struct {
		Base
		K      int                   `json:"k"`
		Extra  map[string]any        `json:"extra"`
		Named  map[string]item       `json:"named"`
		Items  []*item               `json:"items"`
		Deep   [1]struct{ X []item } `json:"deep"`
		Hidden list                  `json:"hidden"`
		Shown  shown                 `json:"shown"`
		Plain  int
	}
	for text, want := range map[string]string{
		`{}`: "", ` {"filter" : "Filter: x", "k":3, "Plain":1}`: "",
		`{"extra":{"Filter":1,"K":[{"FILTER":2}]},"k":1}`: "",
		`{"filteR":"x"}`:            `byte 1 of the JSON: unknown field "filteR": capitals count`,
		`{"k":1,` + "\n" + `"K":2}`: `byte 8 of the JSON: unknown field "K": capitals count`,
		`{"plain":1}`:               `byte 1 of the JSON: unknown field "plain": capitals count`,
		`{"\u006b":1}`:              "",
		`{"items":[{"id":"a","columns":{"ID":[{"Columns":"K"}]}},{"id":"b"}],"k":1}`: "",
		`{"items":[{"id":"a"},{"ID":"b"}]}`:                                          `byte 22 of the JSON: unknown field "ID"`,
		`{"items":[],"K":1}`:                                                         `byte 12 of the JSON: unknown field "K"`,
		`{"named":{"Filter":{"id":"x"},"ID":{"Id":"y"}}}`:                            `byte 36 of the JSON: unknown field "Id"`,
		`{"deep":[{"X":[{"iD":"x"}]}]}`:                                              `byte 16 of the JSON: unknown field "iD"`,
		`{"hidden":[{"ID":"x"}],"shown":[{"id":"x"}]}`:                               "",
		`{"shown":[{"Columns":{}}]}`:                                                 `byte 11 of the JSON: unknown field "Columns"`,
		`{"items":[null]}`:                                                           "null in a list is not allowed",
		`{"k":1,"filter":"\ud800"}`:                                                  "half of a character",
	} {
		err := UnmarshalExact([]byte(text), new(search))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for _, v := range []any{&map[string]any{}, new(any)} {
		if err := UnmarshalExact([]byte(`{"A":[{"a":1}]}`), v); err != nil {
			t.Errorf("%T: %v", v, err)
		}
	}
}
