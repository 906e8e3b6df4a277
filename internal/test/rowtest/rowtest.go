// Package rowtest generates rows for tests of comparisons: each set has a difficulty.
package rowtest

import (
	"math/rand/v2"

	"github.com/kindred-ml/kindred/matrix"
)

// Kinds are functions that fill rows, by the name of the difficulty.
var Kinds = map[string]func(rng *rand.Rand, x *matrix.Dense){
	"normal": func(rng *rand.Rand, x *matrix.Dense) {
		for i := range x.Data {
			x.Data[i] = float32(rng.NormFloat64())
		}
	},
	// Rows repeat: distances tie and the index decides.
	"duplicates": func(rng *rand.Rand, x *matrix.Dense) {
		for i := range x.Rows {
			if i > 3 && rng.IntN(2) == 0 {
				copy(x.Row(i), x.Row(rng.IntN(i)))
				continue
			}
			for j := range x.Cols {
				x.Row(i)[j] = float32(rng.NormFloat64())
			}
		}
	},
	// Small integers: many exact ties between different rows.
	"lattice": func(rng *rand.Rand, x *matrix.Dense) {
		for i := range x.Data {
			x.Data[i] = float32(rng.IntN(3))
		}
	},
	// Far from the origin: a product of rows loses their differences.
	"offset": func(rng *rand.Rand, x *matrix.Dense) {
		for i := range x.Data {
			x.Data[i] = 1000 + float32(rng.NormFloat64())/64
		}
	},
	// One row a million times longer than the rest.
	"outlier": func(rng *rand.Rand, x *matrix.Dense) {
		for i := range x.Data {
			x.Data[i] = float32(rng.NormFloat64())
		}
		for j := range x.Row(x.Rows / 2) {
			x.Row(x.Rows / 2)[j] *= 1e6
		}
	},
	// Squares overflow float32.
	"huge": func(rng *rand.Rand, x *matrix.Dense) {
		for i := range x.Data {
			x.Data[i] = float32(rng.NormFloat64() * 1e30)
		}
	},
	"tiny": func(rng *rand.Rand, x *matrix.Dense) {
		for i := range x.Data {
			x.Data[i] = float32(rng.NormFloat64() * 1e-30)
		}
	},
	"equal": func(_ *rand.Rand, x *matrix.Dense) {
		for i := range x.Data {
			x.Data[i] = float32(i%x.Cols) + 0.1
		}
	},
	"zeros among them": func(rng *rand.Rand, x *matrix.Dense) {
		for i := range x.Rows {
			for j := range x.Row(i) {
				if i%5 != 0 {
					x.Row(i)[j] = float32(rng.NormFloat64())
				}
			}
		}
	},
}
