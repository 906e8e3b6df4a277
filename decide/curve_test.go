package decide

import (
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// TestSameApart: where classes lie far apart, nearly all probabilities are near 0 or 1, and
// those of other classes are hardly off. The curve is level where nearly all pairs are.
func TestSameApart(t *testing.T) {
	const draws, classes, each = 3, 50, 10
	apart := func(rng *rand.Rand) (*matrix.Dense, []int64) {
		x, labels := matrix.New(classes*each, 6), []int64{}
		for c := range int64(classes) {
			var at [6]float64
			for k := range at {
				at[k] = rng.NormFloat64()
			}
			for range each {
				row := x.Row(len(labels))
				for k := range row {
					row[k] = float32(at[k] + 0.1*rng.NormFloat64())
				}
				labels = append(labels, c)
			}
		}
		return x, labels
	}
	off := 0.0
	for seed := range uint64(draws) {
		rng := rand.New(rand.NewPCG(seed, 12))
		x, labels := apart(rng)
		c, err := Calibrate(t.Context(), x, labels, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for k, d := range c.Curve.Distance {
			if k > 0 && (d <= c.Curve.Distance[k-1] || c.Curve.LogOdds[k] > c.Curve.LogOdds[k-1]) {
				t.Fatalf("point %d of the curve: %v, %v", k, c.Curve.Distance, c.Curve.LogOdds)
			}
		}
		x, labels = apart(rng)
		got, err := c.Validate(t.Context(), x, labels, ValidationOptions{})
		if err != nil {
			t.Fatal(err)
		}
		off += got.Reliability.ECE / draws
	}
	// A half of a class of 50 that was not seen keeps the least probability at 1 %, of half of the mass.
	if t.Logf("off by %.4f", off); off > 0.01 {
		t.Errorf("probabilities are off by %.4f", off)
	}
}
