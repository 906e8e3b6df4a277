package decide

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// drawClassesInGroups draws classes as shops have them: look-alikes come in groups, of one class or of
// many, some groups closer than others, and classes have a few photos or dozens.
func drawClassesInGroups(seed uint64, classes, dim int) (*matrix.Dense, []int64) {
	rng := rand.New(rand.NewPCG(seed, 98))
	var rows [][]float64
	var labels []int64
	group, centre := make([]float64, dim), make([]float64, dim)
	left, apart := 0, 0.0
	for c := range classes {
		if left == 0 {
			left = min(12, int(1/(1-rng.Float64()))) // n or more with probability 1/n
			apart = 0.3 * math.Exp(0.6*rng.NormFloat64())
			for k := range group {
				group[k] = rng.NormFloat64()
			}
		}
		left--
		for k := range centre {
			centre[k] = group[k] + apart*rng.NormFloat64()
		}
		spread := 0.3 * math.Exp(0.4*rng.NormFloat64())
		for range 4 + int(8*math.Exp(1*rng.NormFloat64())) {
			row := make([]float64, dim)
			for k := range row {
				row[k] = centre[k] + spread*rng.NormFloat64()
			}
			rows, labels = append(rows, row), append(labels, int64(c))
		}
	}
	x := matrix.New(len(rows), dim)
	for i, row := range rows {
		for k, v := range row {
			x.Row(i)[k] = float32(v)
		}
	}
	return x, labels
}

// TestPromiseOfGroups: promises hold where look-alikes come in groups of any size, so that the
// classes that are measured on may hold most of a group of which the calibration had one or none.
func TestPromiseOfGroups(t *testing.T) {
	const classes, seeds = 80, 100
	var cases, broken, openCases, openBroken int
	var match, known float64
	for seed := range uint64(seeds) {
		x, labels := drawClassesInGroups(seed, classes, 8)
		got, err := Validate(t.Context(), x, labels, ValidationOptions{FMR: []float64{1e-2, 2e-3}, FPIR: []float64{0.1},
			Galleries: []int{10, 35}}, Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range got.Matches {
			if m.RefusalReason != "" {
				continue // too few classes of too different sizes
			}
			cases++
			match += m.TMR
			if m.FMR > m.Rate {
				broken++
			}
		}
		for _, o := range got.OpenSets {
			if o.RefusalReason != "" {
				continue
			}
			openCases++
			known += o.TPIR
			if o.FPIR > o.Rate {
				openBroken++
			}
		}
	}
	t.Logf("%d of %d rates broken, true matches %.3f; strangers: %d of %d, known %.3f", broken, cases,
		match/float64(cases), openBroken, openCases, known/float64(openCases))
	if cases < 9*2*seeds/10 || openCases < 9*2*seeds/10 {
		t.Errorf("%d and %d promises of %d: kept by promising nothing", cases, openCases, 2*seeds)
	}
	if float64(broken) > 0.05*float64(cases) || float64(openBroken) > 0.05*float64(openCases) {
		t.Error("promises are broken in more than one case of twenty")
	}
	if match/float64(cases) < 0.1 || known/float64(openCases) < 0.1 {
		t.Error("kept by matching nothing")
	}
}
