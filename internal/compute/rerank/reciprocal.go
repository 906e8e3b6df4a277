package rerank

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/mat"
)

// Defaults of KReciprocal, those of the paper.
const (
	K1     = 20  // neighbours that must be mutual
	K2     = 6   // neighbours whose vectors of weights are averaged
	Lambda = 0.3 // weight of the first distance
)

// rowGrain is the number of rows that a core takes at a time.
const rowGrain = 8

// KReciprocal returns the k-reciprocal distance of each candidate from the query (Zhong, Zheng, Cao and Li, Re-ranking
// Person Re-identification with k-reciprocal Encoding, CVPR 2017), computed exactly, with the query and the candidates
// as the whole gallery. With N(i, k) the k nearest of i, i itself first and not counted in k:
//
//	d(i, j)  = (s(i, j) - min of s(i, .)) / (max of s(i, .) - min of s(i, .))
//	R(i, k)  = the j of N(i, k) with i in N(j, k)
//	R*(i)    = R(i, k1) and every R(j, k1/2), j in R(i, k1), with more than 2/3 of its members in R(i, k1)
//	V_i(j)   = exp(-d(i, j)) for j in R*(i), else 0, divided by its sum
//	W_i      = mean of V_j over j in N(i, k2 - 1)
//	distance = (1-lambda) (1 - sum min(W_q, W_i) / sum max(W_q, W_i)) + lambda d(q, i)
//
// s is the squared Euclidean distance, 1 - cosine (half of that of unit vectors), or minus the product. d is 0
// where all s(i, .) are equal. k1/2 is rounded, halves to the even number. More than 2/3 is the condition of the
// authors' program, whose results the paper prints; the paper writes at least 2/3. Duplicates are ordinary members.
// The result is in 0..1.
//
// It takes 8 (m + 1)^2 bytes for m candidates, and (m + 1)^2 / 2 distances. It returns an error if k1 or k2 is below 1,
// if lambda is outside 0..1, if that memory is above the limit, or the error of ctx, wrapped. A k1 or k2 above m
// means m.
func (c *Candidates) KReciprocal(ctx context.Context, k1, k2 int, lambda float64) ([]float64, error) {
	switch {
	case k1 < 1:
		return nil, fmt.Errorf("k1 is %d: must be at least 1", k1)
	case k2 < 1:
		return nil, fmt.Errorf("k2 is %d: must be at least 1", k2)
	case !(lambda >= 0 && lambda <= 1):
		return nil, fmt.Errorf("lambda is %v: must be 0 to 1", lambda)
	}
	m := c.rows()
	if m == 0 {
		return nil, nil
	}
	what := fmt.Sprintf("k-reciprocal re-ranking of %d candidates", m)
	if err := budget.Check(what, budget.Product(int64(m+1), int64(m+1), 8)); err != nil {
		return nil, err
	}
	g, err := c.neighbourhoods(ctx, min(max(k1+1, k2), m+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	out, err := g.distances(ctx, min(k1, m), min(k2, m+1), lambda)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return out, nil
}

// neighbourhoods has the distances among the query, node 0, and the candidates, nodes 1..n-1.
type neighbourhoods struct {
	n        int
	far      []float64 // n x n
	low, top []float64 // of each row of far
	nearest  [][]int32 // of each node: itself, then by distance and number
}

// neighbourhoods computes the distances, and the first nearest of each node, itself included.
func (c *Candidates) neighbourhoods(ctx context.Context, first int) (*neighbourhoods, error) {
	n := c.X.Rows + 1
	x := mat.New(n, len(c.Query))
	copy(x.Row(0), c.Query)
	for i := 1; i < n; i++ {
		copy(x.Row(i), c.X.Row(i-1))
	}
	between := rank.Between(x, x, c.By)
	g := &neighbourhoods{n: n, far: make([]float64, n*n), low: make([]float64, n), top: make([]float64, n),
		nearest: make([][]int32, n)}
	// A row fills its part right of the diagonal, and the column below it, so that both agree in every bit.
	if err := par.ForContext(ctx, n, rowGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			for j := i; j < n; j++ {
				v := between(i, j)
				if c.By == rank.Euclidean {
					v *= v
				}
				g.far[i*n+j], g.far[j*n+i] = v, v
			}
		}
	}); err != nil {
		return nil, err
	}
	err := par.ForContext(ctx, n, rowGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := g.row(i)
			g.low[i], g.top[i] = slices.Min(row), slices.Max(row)
			g.nearest[i] = g.nearestOf(int32(i), first)
		}
	})
	return g, err
}

func (g *neighbourhoods) row(i int) []float64 { return g.far[i*g.n : (i+1)*g.n] }

// before reports whether j is nearer to i than k is, by number if they are as near. Nothing is before i itself.
func (g *neighbourhoods) before(i, j, k int32) bool {
	if j == i || k == i {
		return j == i && k != i
	}
	row := g.row(int(i))
	return row[j] < row[k] || row[j] == row[k] && j < k
}

// nearestOf returns the first nearest nodes of i.
func (g *neighbourhoods) nearestOf(i int32, first int) []int32 {
	out := make([]int32, 0, first+1)
	for j := range int32(g.n) {
		if len(out) == first && !g.before(i, j, out[first-1]) {
			continue
		}
		at := len(out)
		for at > 0 && g.before(i, j, out[at-1]) {
			at--
		}
		if out = slices.Insert(out, at, j); len(out) > first {
			out = out[:first]
		}
	}
	return out
}

// reciprocal appends R(i, k) to dst.
func (g *neighbourhoods) reciprocal(dst []int32, i int32, k int) []int32 {
	for _, j := range g.nearest[i][:k+1] {
		if last := g.nearest[j][k]; last == i || g.before(j, i, last) {
			dst = append(dst, j)
		}
	}
	return dst
}

// weights are the entries of a V that are not 0.
type weights struct {
	node  []int32
	value []float64
}

// encode returns V_i. mark has an entry for each node, of which none is i+1 at the call.
func (g *neighbourhoods) encode(i int32, k1 int, mark []int32) weights {
	set := g.reciprocal(nil, i, k1)
	for _, j := range set {
		mark[j] = i + 1
	}
	half := int(math.RoundToEven(float64(k1) / 2))
	var further, all []int32
	for _, j := range set {
		further = g.reciprocal(further[:0], j, half)
		common := 0
		for _, h := range further {
			if mark[h] == i+1 {
				common++
			}
		}
		if 3*common > 2*len(further) {
			all = append(all, further...)
		}
	}
	all = append(all, set...)
	slices.Sort(all)
	all = slices.Compact(all)
	v := weights{all, make([]float64, len(all))}
	row, low, span, sum := g.row(int(i)), g.low[i], g.top[i]-g.low[i], 0.0
	for e, j := range all {
		v.value[e] = math.Exp(-relative(row[j], low, span))
		sum += v.value[e]
	}
	for e := range v.value {
		v.value[e] /= sum
	}
	return v
}

// relative returns d for an s.
func relative(s, low, span float64) float64 {
	if span == 0 {
		return 0
	}
	return (s - low) / span
}

// distances returns the distance of each node but the query.
func (g *neighbourhoods) distances(ctx context.Context, k1, k2 int, lambda float64) ([]float64, error) {
	v := make([]weights, g.n)
	if err := par.ForContext(ctx, g.n, rowGrain, func(lo, hi int) {
		mark := make([]int32, g.n)
		for i := lo; i < hi; i++ {
			v[i] = g.encode(int32(i), k1, mark)
		}
	}); err != nil {
		return nil, err
	}
	// expand adds W_i to sum.
	expand := func(i int, sum []float64) {
		for _, j := range g.nearest[i][:k2] {
			for e, h := range v[j].node {
				sum[h] += v[j].value[e] / float64(k2)
			}
		}
	}
	query := make([]float64, g.n)
	expand(0, query)
	out := make([]float64, g.n-1)
	row, low, span := g.row(0), g.low[0], g.top[0]-g.low[0]
	err := par.ForContext(ctx, len(out), rowGrain, func(lo, hi int) {
		sum := make([]float64, g.n)
		for p := lo; p < hi; p++ {
			clear(sum)
			expand(p+1, sum)
			common := 0.0
			for h, w := range query {
				common += min(w, sum[h])
			}
			// Both sums of weights are 1, so that the maxima add up to 2 - common.
			jaccard := max(0, 1-common/(2-common))
			out[p] = (1-lambda)*jaccard + lambda*relative(row[p+1], low, span)
		}
	})
	return out, err
}
