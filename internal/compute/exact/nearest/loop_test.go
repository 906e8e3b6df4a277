package nearest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/compute/cosine"
	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/matrix"
)

// steps are rows in steps of 1/8, some of them twice and one of zeros: sums are exact and
// ties many.
func steps(rng *rand.Rand, n, d, values int) *matrix.Dense {
	x := matrix.New(n, d)
	for i := range x.Data {
		x.Data[i] = float32(rng.IntN(values)-values/2) / 8
	}
	clear(x.Row(n / 2))
	copy(x.Row(n-1), x.Row(n/3))
	return x
}

// byLoop is the k rows of g nearest to x, ties by the lowest row.
func byLoop(distance exact.Distance, x []float32, g *matrix.Dense, k int) []Found {
	var out []Found
	for r := range g.Rows {
		var xy, square float64
		for j, v := range x {
			a, b := float64(v), float64(g.Row(r)[j])
			xy, square = xy+a*b, square+(a-b)*(a-b)
		}
		f := Found{Row: int32(r), Score: xy}
		switch distance {
		case exact.Euclidean:
			f.Score = -square
		case exact.Cosine:
			f.Score = cosine.Similarity(x, g.Row(r))
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b Found) int { return cmp.Or(cmp.Compare(b.Score, a.Score), byRow(a, b)) })
	return out[:min(k, len(out))]
}

// A search in coded parts and one of package eval find what two loops in float64 find,
// with the same bits on any number of cores; cosines of both are the same, and near those rounded once.
func TestBothSearchesAgreeWithALoop(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, l := range []simd.Level{simd.Generic, simd.AVX2, simd.AVX512} {
		for _, procs := range []int{1, 5} {
			t.Run(fmt.Sprintf("%v-%d", l, procs), func(t *testing.T) {
				defer simd.Force(l)()
				runtime.GOMAXPROCS(procs)
				rng := rand.New(rand.NewPCG(1, 2))
				for _, c := range []struct{ n, d, values int }{
					{1, 1, 3}, {6, 7, 3}, {463, 1, 9}, {463, 49, 2}, {70, 65, 7},
				} {
					g, q := steps(rng, c.n, c.d, c.values), steps(rng, 19, c.d, c.values)
					for distance := range exact.Dot + 1 {
						checkSearches(t, fmt.Sprintf("%v, n %d, d %d", distance, c.n, c.d), distance, g, q)
					}
				}
			})
		}
	}
}

func checkSearches(t *testing.T, what string, distance exact.Distance, g, q *matrix.Dense) {
	t.Helper()
	const most = 11 // more than the smallest galleries have
	k := min(most, g.Rows)
	nb, err := eval.Nearest(t.Context(), q, g, k, eval.RankOptions{Distance: eval.Distance(distance)})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	parts := []Part{{X: g.Data, Codes: Encode(distance, g.Data, g.Cols)}}
	var queries []*Query
	for i := range q.Rows {
		queries = append(queries, &Query{X: q.Row(i), K: most, Allowed: [][]uint64{allRows(g.Rows)}})
	}
	if err := Search(t.Context(), distance, g.Cols, parts, queries, byRow); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for i := range q.Rows {
		want := byLoop(distance, q.Row(i), g, most)
		if !same(distance, g.Cols, queries[i].Found, want) {
			t.Fatalf("%s: query %d finds\n%v\nin parts, want\n%v", what, i, queries[i].Found, want)
		}
		for e, w := range want {
			score := queries[i].Found[e].Score
			if distance == exact.Euclidean {
				score = -score
			}
			if nb.Row[i*k+e] != w.Row || nb.Value[i*k+e] != score {
				t.Fatalf("%s: query %d finds %d at %v as neighbour %d, want %v", what, i, nb.Row[i*k+e],
					nb.Value[i*k+e], e, queries[i].Found[e])
			}
		}
	}
}

// Rows in steps and copies of them in other lengths are found in the order of package eval, with its
// cosines, also where more tie than are asked for and in several parts.
func TestEqualCosinesGoByRow(t *testing.T) {
	for _, c := range []struct{ n, d int }{{8, 3}, {700, 3}, {3 * Block, 49}} {
		g, q := matrix.New(c.n, c.d), matrix.New(3, c.d)
		rng := rand.New(rand.NewPCG(5, 6))
		base := []float32{1, -3.125, -1.125}
		for j := range c.d {
			v := float32(rng.IntN(1<<10)-1<<9) / 8
			if c.d == len(base) {
				v = base[j]
			}
			q.Row(0)[j], q.Row(1)[j], q.Row(2)[j] = 17*v, v+1, 3
			for i := range g.Rows {
				g.Row(i)[(j+i%2)%c.d] = float32(2*(i%40)+1) * v // odd rows are turned by a coordinate
			}
		}
		const k = 8
		nb, err := eval.Nearest(t.Context(), q, g, k, eval.RankOptions{Distance: eval.Cosine})
		if err != nil {
			t.Fatal(err)
		}
		half := c.n / 2 * c.d
		parts := []Part{{X: g.Data[:half], Codes: Encode(exact.Cosine, g.Data[:half], c.d)}, {X: g.Data[half:]}}
		var queries []*Query
		for i := range q.Rows {
			queries = append(queries, &Query{X: q.Row(i), K: k,
				Allowed: [][]uint64{allRows(c.n / 2), allRows(c.n - c.n/2)}})
		}
		if err := Search(t.Context(), exact.Cosine, c.d, parts, queries, byRow); err != nil {
			t.Fatal(err)
		}
		for i, asked := range queries {
			for e, f := range asked.Found {
				row := f.Row + f.Part*int32(c.n/2)
				if row != nb.Row[i*k+e] || f.Score != nb.Value[i*k+e] {
					t.Fatalf("%d rows of %d, query %d: place %d has row %d at %v, want %d at %v", c.n, c.d, i, e, row,
						f.Score, nb.Row[i*k+e], nb.Value[i*k+e])
				}
				if c.n == 8 && i == 0 && e < 4 && (int(row) != 2*e || f.Score != 1) {
					t.Errorf("place %d of parallel rows has row %d at %v", e, row, f.Score)
				}
			}
		}
	}
}

// A gallery that is not finite is refused by name of its row; a query that is not is
// answered from all rows one by one.
func TestSearchesOfWhatIsNotFinite(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, d := range []int{3, 49} {
		g, q := steps(rng, 60, d, 5), steps(rng, 4, d, 5)
		codes := Encode(exact.Euclidean, g.Data, d)
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			x := matrix.New(q.Rows, d)
			copy(x.Data, q.Data)
			x.Row(2)[d-1] = float32(bad)
			if _, err := eval.Nearest(context.Background(), x, g, 3, eval.RankOptions{}); err == nil ||
				!strings.Contains(err.Error(), "row 2 of the query embeddings") {
				t.Errorf("d %d, %v: error %v", d, bad, err)
			}
			query := &Query{X: x.Row(2), K: 3, Allowed: [][]uint64{allRows(60)}}
			other := &Query{X: x.Row(0), K: 3, Allowed: [][]uint64{allRows(60)}}
			parts := []Part{{X: g.Data, Codes: codes}}
			if err := Search(t.Context(), exact.Euclidean, d, parts, []*Query{query, other}, byRow); err != nil {
				t.Fatal(err)
			}
			if len(query.Found) != 3 || query.Scored.Load() != 60 {
				t.Errorf("d %d, %v: %v of %d rows", d, bad, query.Found, query.Scored.Load())
			}
			if want := byLoop(exact.Euclidean, x.Row(0), g, 3); !slices.Equal(other.Found, want) {
				t.Errorf("d %d, %v: beside it %v, want %v", d, bad, other.Found, want)
			}
		}
	}
}
