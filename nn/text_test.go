package nn

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestNamesAsText: kinds and starts read what they write, refuse other
// names and say what was meant.
func TestNamesAsText(t *testing.T) {
	type names struct {
		Kind Kind
		Init Init
	}
	for _, k := range Kinds() {
		for _, i := range inits() {
			in := names{k, i}
			text, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			var out names
			if err := json.Unmarshal(text, &out); err != nil || out != in {
				t.Fatalf("%s came back as %+v: %v", text, out, err)
			}
		}
	}
	for text, want := range map[string]string{
		`{"Kind": "layer_nrom"}`: `unknown kind "layer_nrom" (did you mean "layer_norm"?)`,
		`{"Kind": "warp"}`:       `there are conv, dense,`,
		`{"Kind": ""}`:           `unknown kind ""`,
		`{"Init": "kaiming"}`:    `unknown init "kaiming" (did you mean "kaiming_out"?); there are kaiming_out, small, truncated`,
	} {
		var n names
		if err := json.Unmarshal([]byte(text), &n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %s", text, err, want)
		}
	}
	if _, err := json.Marshal(names{Kind: "warp"}); err == nil {
		t.Error("an unknown kind was written")
	}
}
