package nearest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
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
		for _, distance := range []exact.Distance{exact.Euclidean, exact.Cosine, exact.Dot} {
			space := FitSpace(distance, d, len(rows), func(r int) []float32 { return rows[r] })
			c := &Codes{Space: space}
			query := &Query{X: rows[3], K: 1, inverse: quantized.InverseNorm(rows[3])}
			p := c.placeQueries([]*Query{query})
			kind := quantized.StoredKind(d)
			if !kind.IsFast() {
				kind = quantized.Float32
			}
			v := make([]float64, d)
			_, norm := c.placeQuery(v, query)
			loss := quantized.FloatLoss(norm, d)
			if kind != quantized.Float32 {
				loss = code(quantized.NewCoder(kind, d), v, norm).Loss
			}
			want := quantized.StoredKind(d).Reach(norm, loss)
			if p.kind != kind || len(p.places) != 1 || math.Abs(p.places[0].reach-want) > 1e-12*want {
				t.Errorf("%v, %v: kind %d, reach %g, want %d and %g", level, distance, p.kind, p.places[0].reach, kind,
					want)
			}
		}
		restore()
	}
}

// What a row has to score lies below the floor by all that computing may have taken: of the
// floor, of the shift and of the center's length, whatever their signs.
func TestLook(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct{ unit, shift, length, floor, lo, parts float64 }{
		{0.5, -4, 2, 10, 1, 11}, {0.5, 4, 0, -10, -1, 9}, {2, 3, 1, 8, 19, 20}, {1, 0, 0, 0, 0, 0},
	} {
		s := queryPlace{unit: c.unit, shift: c.shift, length: c.length, exact: 0x1p-6}
		want := c.lo - roundings*math.Abs(c.lo) - 0x1p-6*c.parts - 1e-30
		if got := s.minScore(c.floor); got != quantized.RoundDown(want) {
			t.Errorf("%+v: %g, want %g", c, got, want)
		}
	}
	s := queryPlace{unit: 1, exact: 0x1p-6}
	for floor, want := range map[float64]float32{-inf: -math.MaxFloat32, 1e300: math.MaxFloat32,
		-1e300: -math.MaxFloat32} {
		if got := s.minScore(floor); got != want {
			t.Errorf("a floor of %g: %g, want %g", floor, got, want)
		}
	}
}

// Rows beyond a set of bits do not count.
func TestAllows(t *testing.T) {
	q := &Query{Allowed: [][]uint64{{1<<63 | 1, 2}, nil}}
	for row, want := range map[int]bool{0: true, 1: false, 62: false, 63: true, 64: false, 65: true, 66: false,
		127: false, 128: false, 191: false, 192: false} {
		if q.allows(0, row) != want || q.allows(1, row) {
			t.Errorf("row %d counts: %v, want %v; of nothing %v", row, q.allows(0, row), want, q.allows(1, row))
		}
	}
	if q.count(0) != 3 || q.count(1) != 0 {
		t.Errorf("%d and %d rows count", q.count(0), q.count(1))
	}
}

// Lengths at the ends of what the codes hold, and beyond: shorter and longer rows than that are
// coded as zeros, which lose all of their length, and queries farther away are compared with
// each row.
func TestLengthsAtTheEnds(t *testing.T) {
	for norm, coded16 := range map[float64]bool{shortest: true, math.Nextafter(shortest, 0): false,
		math.Nextafter(longest, 0): true, longest: false} {
		coder := quantized.NewCoder(quantized.StoredKind(1), 1)
		if c := code(coder, []float64{norm}, norm); (c.Loss < norm/100) != coded16 || c.Loss > norm {
			t.Errorf("a row of length %g loses %g", norm, c.Loss)
		}
	}
	c := &Codes{Space: Space{Center: []float64{0}}}
	for norm, far := range map[float32]int{farAway: 0, math.Nextafter32(farAway, farAway*2): 1} {
		q := &Query{X: []float32{norm}, K: 1, inverse: 1 / float64(norm)}
		if p := c.placeQueries([]*Query{q}); len(p.far) != far || len(p.places) != 1-far {
			t.Errorf("%d queries of length %g are far away, want %d", len(p.far), norm, far)
		}
	}
}

// What is granted for the arithmetic of a query is at least what the sums of its dimension may
// be off by.
func TestExactGrantsRoundings(t *testing.T) {
	for _, d := range []int{1, 8, 64, 1000} {
		c := &Codes{Space: Space{Center: make([]float64, d)}}
		x := make([]float32, d)
		if s, _ := c.placeQuery(make([]float64, d), &Query{X: x}); s.exact < float64(d+8)*0x1p-52 || s.exact > 1e-6 {
			t.Errorf("dimension %d: %g", d, s.exact)
		}
	}
}
