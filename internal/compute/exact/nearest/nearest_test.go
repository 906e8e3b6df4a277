package nearest

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/cosine"
	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/internal/test/ctxtest"
)

func byRow(a, b Found) int { return cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(a.Row, b.Row)) }

// allRows is the set of n rows.
func allRows(n int) []uint64 {
	out := make([]uint64, (n+63)/64)
	for i := range n {
		out[i>>6] |= 1 << (i & 63)
	}
	return out
}

// same tells whether the same rows were found in the same order, with the same scores: cosines to
// within their rounding.
func same(distance exact.Distance, d int, got, want []Found) bool {
	return slices.EqualFunc(got, want, func(a, b Found) bool {
		slack := 0.0
		if distance == exact.Cosine {
			slack = cosine.ErrorBound(d)
		}
		return a.Part == b.Part && a.Row == b.Row && (a.Score == b.Score || math.Abs(a.Score-b.Score) <= slack)
	})
}

// naive is what Search means.
func naive(distance exact.Distance, d int, parts []Part, q *Query) []Found {
	var out []Found
	for p := range parts {
		for r := range len(parts[p].X) / d {
			if q.allows(int32(p), r) {
				s := score(distance, q.X, parts[p].X[r*d:(r+1)*d], quantized.InverseNorm(q.X))
				if distance == exact.Cosine {
					s = cosine.Similarity(q.X, parts[p].X[r*d:(r+1)*d])
				}
				out = append(out, Found{int32(p), int32(r), s})
			}
		}
	}
	slices.SortFunc(out, func(a, b Found) int { return cmp.Or(cmp.Compare(b.Score, a.Score), byRow(a, b)) })
	return out[:min(q.K, len(out))]
}

// natures is how many kinds of rows random makes.
const natures = 6

// random makes rows of several natures: spread, far from zero, in steps with many
// duplicates, of coordinates and of lengths from tiny to large, rows of zeros.
func random(rng *rand.Rand, n, d, nature int) []float32 {
	x := make([]float32, n*d)
	for i := range x {
		switch v := rng.NormFloat64(); nature {
		case 0:
			x[i] = float32(v)
		case 1:
			x[i] = float32(1000 + v)
		case 2:
			x[i] = float32(rng.IntN(2))
		case 3:
			x[i] = float32(v * math.Pow(10, float64(i/d%40-20)))
		case 4:
			x[i] = float32(v * math.Pow(10, float64(i/d%76-38)))
		default:
			x[i] = float32(v * math.Pow(10, float64(i%d%60-30)))
		}
	}
	if n > 3 {
		clear(x[d : 2*d])
	}
	return x
}

func TestSearchIsExact(t *testing.T) {
	for _, l := range []simd.Level{simd.Generic, simd.AVX2, simd.AVX512} {
		t.Run(l.String(), func(t *testing.T) {
			defer simd.Force(l)()
			testSearch(t)
		})
	}
}

func testSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 120 {
		d, nature := 1+rng.IntN(40), rng.IntN(natures)
		if trial%2 == 1 {
			d += 47 // coded in 8 bits
		}
		distance := exact.Distance(trial % 3)
		var parts []Part
		for _, n := range []int{1, 37, Block, 2*Block + 5, 3}[:1+rng.IntN(5)] {
			p := Part{X: random(rng, n, d, nature)}
			if rng.IntN(4) > 0 {
				p.Codes = Encode(distance, p.X, d)
			}
			parts = append(parts, p)
		}
		var queries []*Query
		for range 1 + rng.IntN(40) {
			q := &Query{X: random(rng, 1, d, rng.IntN(natures)), K: 1 + rng.IntN(30)}
			if rng.IntN(10) == 0 {
				for j := range q.X {
					q.X[j] *= 1e8 // far away from all
				}
			}
			share := rng.IntN(3)
			for _, p := range parts {
				set := allRows(len(p.X) / d)
				for i := range set {
					switch share {
					case 1:
						set[i] &= rng.Uint64()
					case 2:
						set[i] &= 1 << rng.IntN(64)
					}
				}
				q.Allowed = append(q.Allowed, set)
			}
			queries = append(queries, q)
		}
		if err := Search(t.Context(), distance, d, parts, queries, byRow); err != nil {
			t.Fatal(err)
		}
		for i, q := range queries {
			if want := naive(distance, d, parts, q); !same(distance, d, q.Found, want) {
				t.Fatalf("trial %d, %v, d %d, nature %d, query %d of %d:\n%v\nwant\n%v", trial, distance, d, nature, i,
					len(queries), q.Found, want)
			}
		}
	}
}

// Rows far from all others must not make the others' codes coarse, nor theirs those of
// queries that are far out themselves.
func TestOutliersAreNoBurden(t *testing.T) {
	const n, d = 20 * Block, 64
	rng := rand.New(rand.NewPCG(9, 10))
	for _, far := range []float64{1, 1e3, 1e9} {
		for _, distance := range []exact.Distance{exact.Euclidean, exact.Cosine} {
			x := random(rng, n, d, 0)
			for r := range n {
				for j := range d {
					switch {
					case r%3 == 0 && distance == exact.Euclidean:
						x[r*d+j] *= float32(far)
					case r%3 != 0 && distance == exact.Cosine:
						x[r*d+j] += 5 // most have a direction in common, some do not
					}
				}
			}
			parts := []Part{{X: x, Codes: Encode(distance, x, d)}}
			for r := range 9 {
				v := slices.Clone(x[r*d : (r+1)*d])
				for j := range v {
					v[j] *= 1 + 0.1*float32(rng.NormFloat64())
				}
				q := &Query{X: v, K: 5, Allowed: [][]uint64{allRows(n)}}
				if err := Search(t.Context(), distance, d, parts, []*Query{q}, byRow); err != nil {
					t.Fatal(err)
				}
				if !same(distance, d, q.Found, naive(distance, d, parts, q)) {
					t.Errorf("%v, far %g, query %d: wrong", distance, far, r)
				}
				if s := q.Scored.Load(); s > n/6 {
					t.Errorf("%v, far %g, query %d: %d of %d rows scored exactly", distance, far, r, s, n)
				}
			}
		}
	}
}

// Ranges leave blocks out, and no more.
func TestWithin(t *testing.T) {
	const d, n = 4, 5 * Block
	rng := rand.New(rand.NewPCG(3, 4))
	x := random(rng, n, d, 0)
	parts := []Part{{X: x, Codes: Encode(exact.Euclidean, x, d)}}
	some := make([]uint64, n/64)
	for i := range n {
		if b := i / Block; b == 1 || b == 3 || b == 4 {
			some[i>>6] |= 1 << (i & 63)
		}
	}
	full := &Query{X: x[:d], K: 200, Allowed: [][]uint64{allRows(n)}}
	within := &Query{X: x[:d], K: 200, Allowed: [][]uint64{allRows(n)},
		Within: [][]Range{{{Block + 7, Block + 9}, {3*Block + 1, 5 * Block}}}}
	if err := Search(t.Context(), exact.Euclidean, d, parts, []*Query{full, within}, byRow); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(full.Found, naive(exact.Euclidean, d, parts, full)) {
		t.Error("the query without ranges is wrong")
	}
	want := Query{X: x[:d], K: 200, Allowed: [][]uint64{some}}
	if !slices.Equal(within.Found, naive(exact.Euclidean, d, parts, &want)) {
		t.Error("the query with ranges is wrong")
	}
}

func TestSearchStops(t *testing.T) {
	x := random(rand.New(rand.NewPCG(5, 6)), 100*Block, 3, 0)
	parts := []Part{{X: x, Codes: Encode(exact.Dot, x, 3)}}
	ctxtest.CheckStops(t, 5, func(ctx context.Context) error {
		q := &Query{X: x[:3], K: 5, Allowed: [][]uint64{allRows(100 * Block)}}
		return Search(ctx, exact.Dot, 3, parts, []*Query{q}, byRow)
	})
	gone := &Query{X: x[:3], K: 5, Allowed: [][]uint64{allRows(100 * Block)}, Done: func() bool { return true }}
	if err := Search(t.Context(), exact.Dot, 3, parts, []*Query{gone}, byRow); err != nil || len(gone.Found) > 0 {
		t.Error(err, gone.Found)
	}
	if errors.Is(Search(t.Context(), exact.Dot, 3, nil, nil, byRow), context.Canceled) {
		t.Error("nothing to do")
	}
}
