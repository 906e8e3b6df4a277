package zoo

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/nn"
)

// TestNamesAsText: stems, pools and resamplings read what they write, refuse other names
// and say what was meant.
func TestNamesAsText(t *testing.T) {
	type names struct {
		Stem     Stem
		Pool     Pool
		Resample Resample
	}
	for _, s := range stems() {
		for _, p := range pools() {
			for _, r := range resamples() {
				in := names{s, p, r}
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
	}
	for text, want := range map[string]string{
		`{"Pool": "token"}`:     `unknown pool "token"; there are mean, gem`,
		`{"Stem": "larg"}`:      `did you mean "large"?`,
		`{"Resample": "cubic"}`: `unknown resampling "cubic"; there are dino`,
	} {
		var n names
		if err := json.Unmarshal([]byte(text), &n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %s", text, err, want)
		}
	}
	if _, err := json.Marshal(names{Stem: "warp"}); err == nil {
		t.Error("an unknown stem was written")
	}
}

// TestMultiple: widths are 64 times it, rounded, and at least 1.
func TestMultiple(t *testing.T) {
	for multiple, base := range map[float64]int{0: 64, 1: 64, 0.25: 16, 2: 128, 0.1: 6, 1. / 64: 1, 1e-6: 1} {
		for _, name := range []string{"resnet18", "resnet50"} {
			s, err := Network(name, Options{Input: nn.Shape{H: 32, W: 32, C: 3}, Dim: 5, Multiple: multiple})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Layers[0].Out; got != base {
				t.Errorf("%s times %v: first of %d, want %d", name, multiple, got, base)
			}
		}
	}
}
