package strictjson

import (
	"strings"
	"testing"
)

func TestCheckNames(t *testing.T) {
	type Base struct {
		Filter string `json:"filter,omitempty"`
	}
	type search struct {
		Base
		K     int            `json:"k"`
		Extra map[string]any `json:"extra"`
		Plain int
	}
	for text, want := range map[string]string{
		`{}`: "", ` {"filter" : "Filter: x", "k":3, "Plain":1}`: "",
		`{"extra":{"Filter":1,"K":[{"FILTER":2}]},"k":1}`: "",
		`{"filteR":"x"}`:            `byte 1 of the JSON: unknown field "filteR": capitals count`,
		`{"k":1,` + "\n" + `"K":2}`: `byte 8 of the JSON: unknown field "K": capitals count`,
		`{"plain":1}`:               `byte 1 of the JSON: unknown field "plain": capitals count`,
		`{"\u006b":1}`:              "",
	} {
		err := CheckNames([]byte(text), &search{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if err := CheckNames([]byte(`{"A":1}`), &map[string]any{}); err != nil {
		t.Error(err)
	}
}
