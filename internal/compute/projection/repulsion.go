package projection

import (
	"context"
	"math"

	"github.com/kindred-ml/kindred/internal/base/par"
)

// points are positions in the plane, interleaved: x of point i at 2i, y at 2i+1.
type points []float64

func (y points) len() int { return len(y) / 2 }

// attract writes sum_j p_ij q_ij (y_i - y_j), with q = 1/(1 + |y_i - y_j|^2),
// for every point.
func (a *affinities) attract(y, out points) {
	par.For(y.len(), 256, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			xi, yi := y[2*i], y[2*i+1]
			var fx, fy float64
			cols := a.col[a.start[i]:a.start[i+1]]
			ps := a.p[a.start[i]:a.start[i+1]]
			for e, j := range cols {
				dx, dy := xi-y[2*j], yi-y[2*j+1]
				w := float64(ps[e]) / (1 + dx*dx + dy*dy)
				fx += w * dx
				fy += w * dy
			}
			out[2*i], out[2*i+1] = fx, fy
		}
	})
}

// repulsion computes, for every point, the sum over j != i of
// q_ij^2 (y_i - y_j), and returns Z, the sum of q over all ordered pairs. The only
// error is that of ctx.
type repulsion interface {
	repel(ctx context.Context, y, out points) (z float64, err error)
}

// exactRepulsion computes the repulsion pair by pair.
type exactRepulsion struct{ partial []float64 }

const pairGrain = 32

func (r *exactRepulsion) repel(ctx context.Context, y, out points) (float64, error) {
	n := y.len()
	if r.partial == nil {
		r.partial = make([]float64, n)
	}
	err := par.ForContext(ctx, n, pairGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			xi, yi := y[2*i], y[2*i+1]
			var fx, fy, z float64
			for j := 0; j < len(y)-1; j += 2 {
				dx, dy := xi-y[j], yi-y[j+1]
				q := 1 / (1 + dx*dx + dy*dy)
				z += q
				q *= q
				fx += q * dx
				fy += q * dy
			}
			out[2*i], out[2*i+1] = fx, fy
			r.partial[i] = z - 1 // the point itself
		}
	})
	return sum(r.partial), err
}

// normaliser returns the Z of repulsion from all pairs. Its only error is that of ctx.
func normaliser(ctx context.Context, y points) (float64, error) {
	partial := make([]float64, y.len())
	err := par.ForContext(ctx, y.len(), pairGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			xi, yi := y[2*i], y[2*i+1]
			z := 0.0
			for j := 2 * (i + 1); j < len(y)-1; j += 2 {
				dx, dy := xi-y[j], yi-y[j+1]
				z += 1 / (1 + dx*dx + dy*dy)
			}
			partial[i] = 2 * z
		}
	})
	return sum(partial), err
}

func sum(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s
}

// divergence returns KL(P || Q) = sum p log(p/q) with the given Z.
func (a *affinities) divergence(y points, z float64) float64 {
	n := y.len()
	partial := make([]float64, n)
	par.For(n, 256, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			s := 0.0
			for e := a.start[i]; e < a.start[i+1]; e++ {
				p, j := float64(a.p[e]), a.col[e]
				if p > 0 {
					dx, dy := y[2*i]-y[2*j], y[2*i+1]-y[2*j+1]
					s += p * math.Log(p*z*(1+dx*dx+dy*dy))
				}
			}
			partial[i] = s
		}
	})
	return sum(partial)
}
