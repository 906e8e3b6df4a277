package projection

import (
	"context"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
)

// affinities is the symmetric matrix p_ij = (p_j|i + p_i|j) / 2n of t-SNE in compressed rows. The entries of row
// i are at start[i]..start[i+1], by ascending column. All entries sum to 1.
type affinities struct {
	start []int
	col   []int32
	p     []float32
}

// bandwidth finds beta such that p_j proportional to exp(-beta d_j) over the squared distances d has the given
// perplexity, exp(-sum p log p), and writes p. It solves H(beta) = log(perplexity) for log beta by Newton steps
// within a bracket. H falls from log(len(d)) at beta 0 to the log of the number of nearest ties at infinity. A
// perplexity outside that range gives the nearer end. It returns beta and the log of the sum of exp(-beta d_j).
func bandwidth(d []float64, perplexity float64, p []float64) (beta, logZ float64) {
	least, mean := math.Inf(1), 0.0
	for _, v := range d {
		least = min(least, v)
	}
	for _, v := range d {
		mean += v - least
	}
	mean /= float64(len(d))
	if mean == 0 { // all at the same distance: nothing to choose
		for j := range p {
			p[j] = 1 / float64(len(d))
		}
		return 0, math.Log(float64(len(d)))
	}
	target := math.Log(perplexity)
	lo, hi := math.Inf(-1), math.Inf(1)
	t := -math.Log(mean) // log beta
	for range 100 {
		beta = math.Exp(t)
		var z, m1, m2 float64
		for j, v := range d {
			u := beta * (v - least)
			e := math.Exp(-u)
			p[j] = e
			z += e
			m1 += e * u
			m2 += e * u * u
		}
		m1, m2, logZ = m1/z, m2/z, math.Log(z)
		h := logZ + m1
		for j := range p {
			p[j] /= z
		}
		if math.Abs(h-target) < 1e-9 {
			break
		}
		if h > target {
			lo = t
		} else {
			hi = t
		}
		step := (h - target) / (m2 - m1*m1) // dH/dt = -var(u)
		next := t + step
		if !(next > lo && next < hi) || math.Abs(step) > 3 {
			switch {
			case math.IsInf(hi, 1):
				next = t + 2
			case math.IsInf(lo, -1):
				next = t - 2
			default:
				next = (lo + hi) / 2
			}
		}
		if next == t || math.Abs(next) > 600 {
			break
		}
		t = next
	}
	return beta, logZ - beta*least
}

// computeAffinities turns neighbours into affinities of the given perplexity. Its only
// error is that of ctx.
func computeAffinities(ctx context.Context, nb *neighbours, n int, perplexity float64) (*affinities, error) {
	k := nb.k
	p := make([]float64, n*k)
	err := par.ForContext(ctx, n, rowGrain, func(lo, hi int) {
		order := make([]int, k)
		index, dist := make([]int32, k), make([]float64, k)
		for i := lo; i < hi; i++ {
			row, ds := nb.index[i*k:(i+1)*k], nb.dist[i*k:(i+1)*k]
			for e := range order {
				order[e] = e
			}
			slices.SortFunc(order, func(a, b int) int { return int(row[a] - row[b]) })
			for e, o := range order {
				index[e], dist[e] = row[o], ds[o]
			}
			copy(row, index)
			copy(ds, dist)
			bandwidth(ds, perplexity, p[i*k:(i+1)*k])
		}
	})
	if err != nil {
		return nil, err
	}
	return symmetrize(ctx, nb.index, p, n, k)
}

// symmetrize adds the n x n matrix with k entries a row, columns ascending, to
// its transpose and divides by 2n.
func symmetrize(ctx context.Context, index []int32, p []float64, n, k int) (*affinities, error) {
	// Transposing by counting gives rows with ascending columns.
	tStart := make([]int, n+1)
	for _, j := range index {
		tStart[j+1]++
	}
	for i := range n {
		tStart[i+1] += tStart[i]
	}
	tCol, tVal := make([]int32, len(index)), make([]float64, len(index))
	next := slices.Clone(tStart[:n])
	for i := range n {
		for e := i * k; e < (i+1)*k; e++ {
			at := next[index[e]]
			next[index[e]]++
			tCol[at], tVal[at] = int32(i), p[e]
		}
	}
	a := &affinities{start: make([]int, n+1)}
	scale := 1 / (2 * float64(n))
	for i := range n {
		if i%rowGrain == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		e, f := i*k, tStart[i]
		for e < (i+1)*k || f < tStart[i+1] {
			c, v := int32(math.MaxInt32), 0.0
			if e < (i+1)*k {
				c = index[e]
			}
			if f < tStart[i+1] {
				c = min(c, tCol[f])
			}
			if e < (i+1)*k && index[e] == c {
				v += p[e]
				e++
			}
			if f < tStart[i+1] && tCol[f] == c {
				v += tVal[f]
				f++
			}
			a.col, a.p = append(a.col, c), append(a.p, float32(v*scale))
		}
		a.start[i+1] = len(a.col)
	}
	return a, nil
}
