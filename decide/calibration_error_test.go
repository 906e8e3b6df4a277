package decide

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestChance: with probabilities that are right for the kind of classes, the error that sets
// of these measure is what chance says on average, and it falls as classes grow.
func TestChance(t *testing.T) {
	const sets = 8
	at := func(classes int) (off, chance float64) {
		x, labels := drawClusters(31, 160, 8, 8)
		c, err := Calibrate(t.Context(), x, labels, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(sets) {
			x, labels := drawClusters(100+seed, classes, 8, 8)
			got, err := c.Validate(t.Context(), x, labels, ValidationOptions{})
			if err != nil {
				t.Fatal(err)
			}
			off, chance = off+got.Reliability.ECE/sets, chance+got.Reliability.Chance/sets
		}
		return off, chance
	}
	few, fewBy := at(20)
	many, manyBy := at(80)
	t.Logf("20 classes: %.4f, by chance %.4f; 80: %.4f, by chance %.4f", few, fewBy, many, manyBy)
	if fewBy <= 0 || few/fewBy < 0.6 || few/fewBy > 1.5 {
		t.Errorf("20 classes are off by %.4f, and by chance by %.4f", few, fewBy)
	}
	if r := fewBy / manyBy; math.Abs(math.Log(r/2)) > 0.3 { // as the root of their number
		t.Errorf("chance falls from %.4f to %.4f with four times as many classes", fewBy, manyBy)
	}
}

// TestDebiased: without chance an error is nearer to the true one than with it, whether the
// probabilities are right or off by as much as chance or by more, and at most a tenth below it.
func TestDebiased(t *testing.T) {
	const draws, classes, pairs = 2000, 30, 10
	rng := rand.New(rand.NewPCG(3, 4))
	for _, off := range []float64{0, 0.015, 0.06} {
		var measured, chance, debiased float64
		for range draws {
			of := make([]calibrationGaps, classes)
			var d float64
			for i := range of {
				of[i].same, of[i].different = pairs, pairs
				of[i].excess[7] = 0.25 * pairs
				of[i].missed[7] = pairs * (0.25 + 2*off + 0.2*rng.NormFloat64())
				d += (of[i].missed[7] - of[i].excess[7]) / (2 * pairs * classes)
			}
			by, without := chanceAndDebiased(of)
			measured, chance, debiased = measured+math.Abs(d)/draws, chance+by/draws, debiased+without/draws
		}
		t.Logf("off by %.4f: measured %.4f, debiased %.4f; chance %.4f", off, measured, debiased, chance)
		// The mean of |N(0, v)| with the root of v = 0.1 / sqrt(30).
		if want := 0.1 / math.Sqrt(classes) * math.Sqrt(2/math.Pi); math.Abs(chance/want-1) > 0.03 {
			t.Errorf("chance is %.4f, want %.4f", chance, want)
		}
		if debiased > measured+1e-4 || debiased < 0.9*off ||
			math.Abs(debiased-off) > 0.6*(measured-off)+1e-3 {
			t.Errorf("off by %.4f: measured %.4f, debiased %.4f", off, measured, debiased)
		}
	}
	if chance, debiased := chanceAndDebiased([]calibrationGaps{{}, {}}); chance != 0 || debiased != 0 {
		t.Errorf("%g and %g of no pairs", chance, debiased)
	}
}
