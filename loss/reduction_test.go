package loss

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestNamesInText writes and reads reductions and measures in JSON, which uses
// their text.
func TestNamesInText(t *testing.T) {
	type config struct {
		Reduce  Reduction
		Measure Measure
	}
	for text, c := range map[string]config{
		`{"Reduce":"default","Measure":"similarity"}`:    {},
		`{"Reduce":"mean","Measure":"squared"}`:          {Mean, Squared},
		`{"Reduce":"mean-active","Measure":"euclidean"}`: {MeanActive, Euclidean},
		`{"Reduce":"sum","Measure":"similarity"}`:        {Sum, Similarity},
	} {
		got, err := json.Marshal(c)
		if err != nil || string(got) != text {
			t.Errorf("%+v is written as %s, %v", c, got, err)
		}
		var back config
		if err := json.Unmarshal([]byte(text), &back); err != nil || back != c {
			t.Errorf("%s reads as %+v, %v", text, back, err)
		}
	}
	for text, says := range map[string]string{
		`{"Reduce":"men"}`:      `mean "mean"?`,
		`{"Reduce":""}`:         "unknown reduction",
		`{"Measure":"squard"}`:  `mean "squared"?`,
		`{"Measure":"Squared"}`: `mean "squared"?`,
	} {
		c := config{Sum, Euclidean}
		err := json.Unmarshal([]byte(text), &c)
		if err == nil || !strings.Contains(err.Error(), says) || c != (config{Sum, Euclidean}) {
			t.Errorf("%s reads as %+v, %v, want %s", text, c, err, says)
		}
	}
	for _, c := range []config{{Reduce: 4}, {Measure: 3}} {
		if got, err := json.Marshal(c); err == nil {
			t.Errorf("%+v is written as %s", c, got)
		}
	}
}
