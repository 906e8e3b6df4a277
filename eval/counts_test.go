package eval

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"
)

// TestReference: the scores that testdata/make_reference.py found with numpy 1.24 and
// scikit-learn 1.2.
func TestReference(t *testing.T) {
	text, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name              string
		Genuine, Impostor []float64
		AUC, EER, DPrime  float64
		FNMR              map[string]float64
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 5 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		got, err := NewCounts(c.Genuine, c.Impostor)
		if err != nil {
			t.Fatal(err)
		}
		eer, _ := got.EER()
		near := func(what string, got, want float64) {
			if math.Abs(got-want) > 1e-12*max(1, math.Abs(want)) {
				t.Errorf("%s: %s is %v, the reference has %v", c.Name, what, got, want)
			}
		}
		near("AUC", got.AUC(), c.AUC)
		near("EER", eer, c.EER)
		near("d'", got.DPrime(), c.DPrime)
		if len(c.FNMR) != 4 {
			t.Errorf("%s: %d rates", c.Name, len(c.FNMR))
		}
		for rate, want := range c.FNMR {
			fmr, err := strconv.ParseFloat(rate, 64)
			if err != nil {
				t.Fatal(err)
			}
			near("FNMR at "+rate, got.RatesAtFMR(fmr).FNMR, want)
		}
	}
}

// AUC is by the distances themselves, not by their keys; sums in another order tie.
func TestExactAUC(t *testing.T) {
	for _, c := range []struct {
		genuine, impostor []float64
		want              float64
	}{
		{[]float64{1, 2}, []float64{1 + 1e-9, 2 + 1e-9}, 0.75}, {[]float64{1 + 1e-9, 2}, []float64{1, 2 - 1e-9}, 0.25},
		{[]float64{1}, []float64{1 + 1e-15}, 0.5}, {[]float64{-2, 0}, []float64{-2 + 1e-9, 0}, 0.625},
	} {
		got, err := NewCounts(c.genuine, c.impostor)
		if err != nil || got.AUC() != c.want {
			t.Errorf("%v, %v: %v, want %v", c.genuine, c.impostor, got.AUC(), c.want)
		}
	}
}

// A threshold below all possible distances accepts nothing.
func TestDecisionText(t *testing.T) {
	c, err := NewCounts([]float64{0, 1}, []float64{0, 2})
	if err != nil {
		t.Fatal(err)
	}
	for fmr, want := range map[float64]string{0: "none", 0.5: "2"} {
		d := Decision{Threshold: c.RatesAtFMR(fmr).Threshold}
		if got := d.Text(3); got != want {
			t.Errorf("FMR %g: %s, want %s", fmr, got, want)
		}
	}
}
