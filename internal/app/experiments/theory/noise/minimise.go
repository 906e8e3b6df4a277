package noise

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
)

// Search says how minimisers are looked for. The zero value is the default.
type Search struct {
	Dim        int     // dimension of the points; default 2
	Restarts   int     // default 8
	Iterations int     // of each restart; default 4000
	Spread     float64 // standard deviation of the start, in margins; default 1
	Seed       uint64
	// Beta, unless 0, fixes every beta of the margin loss. Otherwise each
	// point has its own, which starts at the margin and is moved along.
	Beta float64
	// Start, if given, is where the first restart begins.
	Start *Points
}

// Minimum is one local minimum that was found.
type Minimum struct {
	Points    Points
	Distances []float64
	Beta      []float64 // Margin only
	Value     float64
	// Diameters holds the diameter of each class.
	Diameters []float64
}

// Widest returns the largest class diameter.
func (m Minimum) Widest() float64 { return slices.Max(m.Diameters) }

// Minimise moves free points down the expected loss from random starts, by
// Adam with a step that shrinks from 0.1 to 1e-6 margins (the loss has kinks,
// so that steps must shrink for a point to settle on one). The minima come
// sorted by value, the best first. It looks at ctx in every iteration and
// returns ctx.Err(), wrapped, once that is done.
func Minimise(ctx context.Context, m Model, l Loss, s Search) ([]Minimum, error) {
	dim := max(s.Dim, 0)
	dim = cmp.Or(dim, 2)
	restarts, iterations, spread := s.Restarts, s.Iterations, s.Spread
	restarts = cmp.Or(restarts, 8)
	iterations = cmp.Or(iterations, 4000)
	spread = cmp.Or(spread, 1)
	out := make([]Minimum, restarts)
	failed := make([]error, restarts)
	err := par.ForContext(ctx, restarts, 1, func(lo, _ int) {
		rng := rand.New(rand.NewPCG(s.Seed, uint64(lo)))
		p := Points{Dim: dim, X: make([]float64, m.N()*dim)}
		for i := range p.X {
			p.X[i] = rng.NormFloat64() * spread * l.alpha()
		}
		if lo == 0 && s.Start != nil {
			p = Points{Dim: s.Start.Dim, X: slices.Clone(s.Start.X)}
		}
		out[lo], failed[lo] = descend(ctx, NewEval(m, l), p, s.Beta, iterations)
	})
	if err = cmp.Or(append(failed, err)...); err != nil {
		return nil, fmt.Errorf("minimising the expected loss of %d points: %w", m.N(), err)
	}
	slices.SortStableFunc(out, func(a, b Minimum) int {
		switch {
		case a.Value < b.Value:
			return -1
		case a.Value > b.Value:
			return 1
		}
		return 0
	})
	return out, nil
}

// descend runs one restart and keeps its best point. Its only error is that of
// ctx.
func descend(ctx context.Context, e *Eval, p Points, fixed float64, iterations int) (Minimum, error) {
	n, dim, a := p.N(), p.Dim, e.l.alpha()
	margin := e.l.Kind == Margin
	params := len(p.X)
	var beta, db []float64
	if margin {
		beta, db = make([]float64, n), make([]float64, n)
		for i := range beta {
			if beta[i] = a; fixed != 0 {
				beta[i] = fixed
			}
		}
		if fixed == 0 {
			params += n
		}
	}
	d, dd := make([]float64, n*n), make([]float64, n*n)
	grad, m1, m2 := make([]float64, params), make([]float64, params), make([]float64, params)
	best := math.Inf(1)
	bestX, bestBeta := slices.Clone(p.X), slices.Clone(beta)
	keep := func(v float64) {
		if v < best {
			best = v
			copy(bestX, p.X)
			copy(bestBeta, beta)
		}
	}
	c1, c2 := 1.0, 1.0
	for it := range iterations {
		if err := ctx.Err(); err != nil {
			return Minimum{}, err
		}
		p.distances(d, e.l.Squared)
		keep(e.Expected(d, beta, dd, db))
		p.gradient(d, dd, grad[:n*dim], e.l.Squared)
		if params > n*dim {
			copy(grad[n*dim:], db)
		}
		rate := 0.1 * a * math.Pow(1e-5, float64(it)/float64(iterations))
		c1, c2 = c1*0.9, c2*0.99
		for k, g := range grad {
			m1[k] = 0.9*m1[k] + 0.1*g
			m2[k] = 0.99*m2[k] + 0.01*g*g
			step := rate * (m1[k] / (1 - c1)) / (math.Sqrt(m2[k]/(1-c2)) + 1e-12)
			if k < n*dim {
				p.X[k] -= step
			} else {
				beta[k-n*dim] -= step
			}
		}
	}
	p.distances(d, e.l.Squared)
	keep(e.Expected(d, beta, nil, nil))
	p.X = bestX
	out := Minimum{Points: p, Distances: p.Distances(), Beta: bestBeta, Value: best}
	out.Diameters = Diameters(e.m, out.Distances)
	return out, nil
}

// gradient turns derivatives with respect to distances into derivatives with
// respect to points. At distance 0 the distance has derivative 0.
func (p Points) gradient(d, dd, grad []float64, squared bool) {
	n := p.N()
	clear(grad)
	for i := range n {
		for j := range i {
			w := dd[i*n+j] + dd[j*n+i]
			if x := d[i*n+j]; squared {
				w *= 2
			} else if x == 0 {
				continue
			} else {
				w /= x
			}
			a, b := p.Row(i), p.Row(j)
			for k := range p.Dim {
				g := w * (a[k] - b[k])
				grad[i*p.Dim+k] += g
				grad[j*p.Dim+k] -= g
			}
		}
	}
}
