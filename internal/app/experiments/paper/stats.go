package paper

import (
	"encoding/json"
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/kindred-ml/kindred/internal/compute/ttest"
)

// Number is a value that may be missing: NaN and infinities are null in JSON, and
// null is NaN.
type Number float64

// MarshalJSON implements json.Marshaler.
func (x Number) MarshalJSON() ([]byte, error) {
	if !x.isKnown() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

// UnmarshalJSON implements json.Unmarshaler.
func (x *Number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*x = missing
		return nil
	}
	return json.Unmarshal(text, (*float64)(x))
}

var missing = Number(math.NaN())

func (x Number) isKnown() bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

// Summary is the mean of a measure over seeds, with the standard deviation
// (n - 1) between them, which is missing for fewer than two seeds.
type Summary struct {
	Mean Number `json:"mean"`
	Std  Number `json:"std"`
	N    int    `json:"n"`
}

func summarize(x []Number) Summary {
	s := Summary{Mean: missing, Std: missing, N: len(x)}
	v := floats(x)
	if len(v) > 0 {
		s.Mean = Number(stat.Mean(v, nil))
	}
	if len(v) > 1 {
		s.Std = Number(stat.StdDev(v, nil))
	}
	return s
}

// PairedTest is Student's paired t-test of two arms over the same seeds.
type PairedTest struct {
	Gain Summary `json:"gain"` // arm minus baseline
	// P is the two-sided probability of a gain at least this large in size if there were no
	// difference. It is missing for fewer than two seeds, and for gains that are equal in all seeds.
	P Number `json:"p"`
}

// pairedTest compares an arm with a baseline: values of the same seeds in the same order. If the
// numbers of values differ, no seeds are paired.
func pairedTest(arm, baseline []Number) PairedTest {
	r := ttest.Paired(floats(arm), floats(baseline))
	return PairedTest{Gain: Summary{Mean: Number(r.Mean), Std: Number(r.Std), N: r.N}, P: Number(r.P)}
}

func floats(x []Number) []float64 {
	v := make([]float64, len(x))
	for i := range x {
		v[i] = float64(x[i])
	}
	return v
}

// boundTest compares values with a bound that they should exceed.
func boundTest(values []Number, bound float64) PairedTest {
	b := make([]Number, len(values))
	for i := range b {
		b[i] = Number(bound)
	}
	return pairedTest(values, b)
}

// negated is the comparison with the sides exchanged.
func (p PairedTest) negated() PairedTest {
	p.Gain.Mean = -p.Gain.Mean
	return p
}
