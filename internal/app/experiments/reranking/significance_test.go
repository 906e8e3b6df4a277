package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// With four classes, 2 of the 16 signs give a sum as far from 0 as that of gains that are all above 0.
func TestSignFlip(t *testing.T) {
	class := []int64{7, 7, 8, 9, 9, 9, 4}
	for _, c := range []struct {
		gain []float64
		want float64
	}{
		{[]float64{1, 1, 1, 1, 1, 1, 1}, 2. / 16},
		{[]float64{1, 1, 1, 1, 1, 1, -1}, 6. / 16}, // sums 2, 1, 3, -1: six signs are 5 or 7 from 0
		{[]float64{1, -1, 0, 1, -1, 0, 0}, 1},      // no class gains
		{[]float64{0, 0, 0, 0, 0, 0, 0}, 1},
	} {
		if got := signFlip(class, c.gain, 16, 1); got != c.want {
			t.Errorf("gains %v: p %g, want %g", c.gain, got, c.want)
		}
	}
}

// Drawn signs agree with all of them, for any seed.
func TestSignFlipDraws(t *testing.T) {
	class, gain := make([]int64, 13), make([]float64, 13)
	for i := range class {
		class[i], gain[i] = int64(i), float64(i%5)-1
	}
	want := signFlip(class, gain, 1<<13, 1)
	for seed := range uint64(3) {
		if got := signFlip(class, gain, 1<<13-1, seed); got == want || math.Abs(got-want) > 0.02 {
			t.Errorf("seed %d: p %g, of all signs %g", seed, got, want)
		}
	}
}

// Without a difference, p is below 0.1 in a tenth of the trials, although queries of a class agree.
func TestSignFlipLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var class []int64
	for y := range int64(15) {
		class = append(class, slices.Repeat([]int64{y}, 8)...)
	}
	below := 0
	for trial := range 400 {
		gain := make([]float64, len(class))
		for i := range gain {
			if i%8 == 0 {
				gain[i] = rng.NormFloat64()
			} else {
				gain[i] = gain[i-1]
			}
		}
		if signFlip(class, gain, 200, uint64(trial)) < 0.1 {
			below++
		}
	}
	if below < 20 || below > 64 { // 40, and four standard deviations of 6
		t.Errorf("%d of 400 below 0.1", below)
	}
}
