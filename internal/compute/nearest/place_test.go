package nearest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/compute/coded"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// What coding takes of a query, and no less, is granted to its scores: that of the codes, or
// where products are those of float32, their roundings.
func TestReachOfQueries(t *testing.T) {
	const d = 64
	rng := rand.New(rand.NewPCG(3, 1))
	rows := make([][]float32, 40)
	for i := range rows {
		rows[i] = make([]float32, d)
		for j := range rows[i] {
			rows[i][j] = float32(rng.NormFloat64())
		}
	}
	for _, level := range []simd.Level{simd.Generic, simd.AVX2, simd.AVX512} {
		restore := simd.Force(level)
		for _, distance := range []rank.Distance{rank.Euclidean, rank.Cosine, rank.Dot} {
			space := Fit(distance, d, len(rows), func(r int) []float32 { return rows[r] })
			c := &Codes{Space: space}
			query := &Query{X: rows[3], K: 1, inverse: coded.InverseNorm(rows[3])}
			p := c.placeAll([]*Query{query})
			kind := coded.Stored(d)
			if !kind.Fast() {
				kind = coded.Float32
			}
			v := make([]float64, d)
			_, norm := c.spot(v, query)
			loss := coded.FloatLoss(norm, d)
			if kind != coded.Float32 {
				loss = code(coded.NewCoder(kind, d), v, norm).Loss
			}
			want := coded.Stored(d).Reach(norm, loss)
			if p.kind != kind || len(p.spots) != 1 || math.Abs(p.spots[0].reach-want) > 1e-12*want {
				t.Errorf("%v, %v: kind %d, reach %g, want %d and %g", level, distance, p.kind, p.spots[0].reach, kind,
					want)
			}
		}
		restore()
	}
}
