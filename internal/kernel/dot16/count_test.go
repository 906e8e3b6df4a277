package dot16

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Scores on a coarse grid, so that many equal their bounds, and such as padding has.
func TestCount(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	value := func() float32 {
		switch rng.IntN(9) {
		case 0:
			return float32(math.Inf(-1))
		case 1:
			return float32(math.Inf(1))
		}
		return float32(rng.IntN(17)-8) / 4
	}
	for n := 0; n <= 480; n += 16 {
		for range 20 {
			v, lo, hi := make([]float32, n), make([]float32, n), make([]float32, n)
			above, want := make([]int32, n), make([]int32, n)
			open, wantOpen := make([]uint32, n/16), make([]uint32, n/16)
			for j := range n {
				v[j], lo[j] = value(), value()
				hi[j] = lo[j] + float32(rng.IntN(4))/4
				above[j] = rng.Int32N(100)
			}
			copy(want, above)
			const less = 0.25
			left := CountColumns(above, v, less, lo, hi, open)
			wantLeft := countColumnsGeneric(want, v, less, lo, hi, wantOpen)
			if left != wantLeft || !slices.Equal(above, want) || !slices.Equal(open, wantOpen) {
				t.Fatalf("%d columns: %v %v, want %v %v", n, above, open, want, wantOpen)
			}
			from, to := value(), value()
			count, left := CountRow(v, from, to, open)
			wantCount, wantLeft := countRowGeneric(v, from, to, wantOpen)
			if count != wantCount || left != wantLeft || !slices.Equal(open, wantOpen) {
				t.Fatalf("%d scores from %v to %v: %d %v, want %d %v", n, from, to, count, open, wantCount, wantOpen)
			}
		}
	}
}
