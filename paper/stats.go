package paper

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Summary is the mean of a measure over seeds, with the standard deviation
// (n - 1) between them; Std is 0 for one seed.
type Summary struct {
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"`
	N    int     `json:"n"`
}

func summarize(x []float64) Summary {
	s := Summary{Mean: stat.Mean(x, nil), N: len(x)}
	if len(x) > 1 {
		s.Std = stat.StdDev(x, nil)
	}
	return s
}

// Paired is Student's paired t-test of two arms over the same seeds.
type Paired struct {
	Gain Summary `json:"gain"` // arm minus baseline
	// P is the two-sided probability of a gain at least this large in size if
	// there were none; 1 for fewer than two seeds, which can tell nothing.
	P float64 `json:"p"`
}

// paired compares arm with baseline, values of the same seeds in the same order.
func paired(arm, baseline []float64) Paired {
	diff := make([]float64, len(arm))
	for i := range arm {
		diff[i] = arm[i] - baseline[i]
	}
	p := Paired{Gain: summarize(diff), P: 1}
	n := float64(len(diff))
	switch {
	case n < 2:
	case p.Gain.Std == 0:
		// Every seed gained the same: certain unless the gain is nil.
		if p.Gain.Mean != 0 {
			p.P = 0
		}
	default:
		t := math.Abs(p.Gain.Mean) / (p.Gain.Std / math.Sqrt(n))
		p.P = 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Survival(t)
	}
	return p
}
