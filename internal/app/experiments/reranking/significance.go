package main

import (
	"math"
	"math/rand/v2"
)

// measureGains returns how far a measure of each query is above that of the first search.
func measureGains(first, other []scores, measure int) []float64 {
	out := make([]float64, len(first))
	for i := range out {
		out[i] = other[i][measure] - first[i][measure]
	}
	return out
}

// signFlip returns the two-sided p of a mean gain, by a paired permutation test over classes: the queries of a class
// depend on each other, so the sum of their gains gets one sign. p is the share of all signs whose mean is at least as
// far from 0 as that of the data. If there are more signs than draws, it is that share of random ones and those of the
// data.
func signFlip(class []int64, gain []float64, draws int, seed uint64) float64 {
	at := map[int64]int{}
	var sums []float64
	for i, y := range class {
		if _, ok := at[y]; !ok {
			at[y] = len(sums)
			sums = append(sums, 0)
		}
		sums[at[y]] += gain[i]
	}
	observed, size := 0.0, 0.0
	for _, v := range sums {
		observed += v
		size += math.Abs(v)
	}
	least := math.Abs(observed) - 1e-12*size // as the signs of the data may round otherwise
	farther := func(positive func(k int) bool) int {
		sum := 0.0
		for k, v := range sums {
			if !positive(k) {
				v = -v
			}
			sum += v
		}
		if math.Abs(sum) >= least {
			return 1
		}
		return 0
	}
	if all := 1 << min(len(sums), 62); all <= draws {
		extreme := 0
		for signs := range all {
			extreme += farther(func(k int) bool { return signs>>k&1 == 1 })
		}
		return float64(extreme) / float64(all)
	}
	rng, extreme := rand.New(rand.NewPCG(seed, 0x51f1)), 1
	for range draws {
		extreme += farther(func(int) bool { return rng.Uint64()&1 == 1 })
	}
	return float64(extreme) / float64(draws+1)
}
