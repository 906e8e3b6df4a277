package dot16

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestKeys compares keys with scores in plain float64, for every width up to a few panels, on rows of which some are
// copies of columns. A word beyond each row must not change.
func TestKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for _, d := range []int{1, 2, 3, 15, 16, 17, 64, 130} {
		for panels := range 4 {
			n := panels * KeyColumns
			rows, cols := make([]float64, KeyRows*d), make([]float32, n*d)
			for i := range rows {
				rows[i] = float64(float32(rng.NormFloat64()))
			}
			for i := range cols {
				cols[i] = float32(rng.NormFloat64())
			}
			space := &KeySpace{Factor: make([]float64, n), Less: make([]float64, n)}
			for j := range n {
				space.Factor[j], space.Less[j] = 1+rng.Float64(), rng.NormFloat64()
			}
			for i := range KeyRows {
				space.Lo[i], space.Scale[i] = rng.NormFloat64(), math.Ldexp(1+rng.Float64(), 4*i)
			}
			stride := n + 3
			const guard = -7.5
			dst := make([]float32, KeyRows*stride)
			for i := range dst {
				dst[i] = guard
			}
			Keys(dst, stride, rows, cols, d, space)
			for i := range KeyRows {
				for j := range n {
					score, size := 0.0, 0.0
					for k := range d {
						p := rows[k*KeyRows+i] * float64(cols[j/KeyColumns*KeyColumns*d+k*KeyColumns+j%KeyColumns])
						score, size = score+p, size+math.Abs(p)
					}
					size = (size*space.Factor[j] + math.Abs(space.Less[j]) + math.Abs(space.Lo[i])) * space.Scale[i]
					score = (score*space.Factor[j] - space.Less[j] - space.Lo[i]) * space.Scale[i]
					slack := float64(d+8) * 0x1p-52 * size
					low, high := min(max(score-slack, 0), MostKey), min(max(score+slack, 0), MostKey)
					if got := math.Float32bits(dst[i*stride+j]); got < uint32(low) || got > uint32(high) {
						t.Fatalf("%d values, row %d, column %d of %d: key %d, score %v", d, i, j, n, got, score)
					}
				}
				for _, v := range dst[i*stride+n : (i+1)*stride] {
					if v != guard {
						t.Fatalf("%d values, %d columns: row %d was written beyond its end", d, n, i)
					}
				}
			}
		}
	}
}
