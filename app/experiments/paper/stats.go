package paper

import (
	"encoding/json"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Number is a value that may be missing: NaN and infinities are null in JSON, and
// null is NaN.
type Number float64

// MarshalJSON implements json.Marshaler.
func (x Number) MarshalJSON() ([]byte, error) {
	if !x.known() {
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

func (x Number) known() bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

// Summary is the mean of a measure over seeds, with the standard deviation
// (n - 1) between them, which is missing for fewer than two seeds.
type Summary struct {
	Mean Number `json:"mean"`
	Std  Number `json:"std"`
	N    int    `json:"n"`
}

func summarize(x []Number) Summary {
	s := Summary{Mean: missing, Std: missing, N: len(x)}
	v := make([]float64, len(x))
	for i := range x {
		v[i] = float64(x[i])
	}
	if len(v) > 0 {
		s.Mean = Number(stat.Mean(v, nil))
	}
	if len(v) > 1 {
		s.Std = Number(stat.StdDev(v, nil))
	}
	return s
}

// Paired is Student's paired t-test of two arms over the same seeds.
type Paired struct {
	Gain Summary `json:"gain"` // arm minus baseline
	// P is the two-sided probability of a gain at least this large in size if there were no
	// difference. It is missing for fewer than two seeds, and for gains that are equal in all seeds.
	P Number `json:"p"`
}

// paired compares an arm with a baseline: values of the same seeds in the same order. If the
// numbers of values differ, no seeds are paired.
func paired(arm, baseline []Number) Paired {
	if len(arm) != len(baseline) {
		arm, baseline = nil, nil
	}
	diff := make([]Number, len(arm))
	size := 0.0
	for i := range arm {
		diff[i] = arm[i] - baseline[i]
		size = max(size, math.Abs(float64(arm[i])), math.Abs(float64(baseline[i])))
	}
	p := Paired{Gain: summarize(diff), P: missing}
	n, std := float64(len(diff)), float64(p.Gain.Std)
	// A spread from rounding alone would make any gain certain, so it counts as none.
	if n < 2 || math.IsNaN(std) || std <= 1e-12*size {
		return p
	}
	t := math.Abs(float64(p.Gain.Mean)) / (std / math.Sqrt(n))
	p.P = Number(2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Survival(t))
	return p
}

// against compares values with a bound that they should exceed.
func against(values []Number, bound float64) Paired {
	b := make([]Number, len(values))
	for i := range b {
		b[i] = Number(bound)
	}
	return paired(values, b)
}

// negated is the comparison with the sides exchanged.
func (p Paired) negated() Paired {
	p.Gain.Mean = -p.Gain.Mean
	return p
}
