package decide

import (
	"math"
	"testing"
)

// TestChance: with probabilities that are right for the kind of classes, the error that sets
// of these measure is what chance says on average, and it falls as classes grow.
func TestChance(t *testing.T) {
	const sets = 8
	at := func(classes int) (off, chance float64) {
		x, labels := clusters(31, 160, 8, 8)
		c, err := Calibrate(t.Context(), x, labels, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(sets) {
			x, labels := clusters(100+seed, classes, 8, 8)
			got, err := c.Measure(t.Context(), x, labels, Ask{})
			if err != nil {
				t.Fatal(err)
			}
			off, chance = off+got.Same.ECE/sets, chance+got.Same.Chance/sets
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
