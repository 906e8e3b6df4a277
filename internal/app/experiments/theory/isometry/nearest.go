package isometry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/internal/app/experiments/theory/lp"
)

// Options say how the nearest TS arrangement is looked for. The zero value is
// the default.
type Options struct {
	Dim    int // of g; default that of f
	Starts int // default 5: f contracted, f itself, then random ones
	Steps  int // per start; default 60
	Seed   uint64
}

// Nearest is a TS arrangement near f with what is known about how near one can
// be: Lower <= d_iso(f, TS) <= Found.
type Nearest struct {
	G     Set
	Found float64 // d_iso(f, G); G is TS exactly
	// Lower is a bound that holds in every dimension: see Certificate. In one
	// dimension, and up to eight points, it is exact.
	Lower float64
	// Loss is L_HN of f, and Hard the triplet that attains it.
	Loss float64
	Hard Triplet
}

// NearestTS looks for the TS arrangement nearest to f in the isometric error,
// by sequential linear programming from several starts: the constraints are
// linearised, the step is bounded by a trust region, and a step is taken if it
// lowers the error plus a penalty for triplets that are not separated. What is
// found is made exactly TS by contraction, so Found is an upper bound whatever
// the search did. It looks at ctx in every step and returns ctx.Err(), wrapped,
// once that is done.
func NearestTS(ctx context.Context, f Set, o Options) (Nearest, error) {
	out, err := nearestTS(ctx, f, o)
	if err != nil {
		return Nearest{}, fmt.Errorf("the nearest separated arrangement of %d points: %w", f.N(), err)
	}
	return out, nil
}

// nearestTS is NearestTS. Its only error is that of ctx.
func nearestTS(ctx context.Context, f Set, o Options) (Nearest, error) {
	d := f.Distances()
	loss, hard := Hardest(d, f.Class)
	out := Nearest{G: f, Loss: loss, Hard: hard}
	if loss == 0 {
		return out, nil
	}
	dim := o.Dim
	dim = cmp.Or(dim, f.Dim)
	out.Lower = loss / 2
	if dim == 1 && f.Dim == 1 && f.N() <= 6 {
		v, g, err := Line(ctx, f)
		out.Found, out.Lower, out.G = v, v, g
		return out, err
	}
	starts, steps := o.Starts, o.Steps
	starts = cmp.Or(starts, 5)
	steps = cmp.Or(steps, 60)
	rng := rand.New(rand.NewPCG(o.Seed, 77))
	w := d.Diameter()
	out.Found = w
	out.G = f.With(dim, make([]float64, f.N()*dim)) // all in one place
	base := setDim(f, dim)
	for k := range starts {
		g := base.With(dim, append([]float64(nil), base.X...))
		var err error
		switch {
		case k == 0:
			g, err = repairAndScale(ctx, d, g)
		case k > 1:
			// Classes drawn apart in random directions, with a smaller or
			// larger disturbance: many sets have no good arrangement nearby.
			noise := 0.1 * w * float64(1+(k-2)/2%6)
			shift := make([]float64, f.classes()*dim)
			for i := range shift {
				shift[i] = 0.5 * w * rng.NormFloat64() * float64(k%2)
			}
			for i, c := range f.Class {
				for j := range dim {
					g.Row(i)[j] += shift[c*dim+j] + noise*rng.NormFloat64()
				}
			}
			g, err = repairAndScale(ctx, d, g)
		}
		if err != nil {
			return out, err
		}
		if dim > f.Dim { // out of the flat, where gradients do not see the new axes
			for i := range g.X {
				g.X[i] += 1e-3 * w * rng.NormFloat64()
			}
		}
		c := &climb{d: d, class: f.Class, w: w}
		g, mult, err := c.run(ctx, g, steps)
		if err != nil {
			return out, err
		}
		if l := Certificate(d, mult); l > out.Lower {
			out.Lower = l
		}
		if g, err = repairAndScale(ctx, d, g); err != nil {
			return out, err
		}
		if v, _, _ := IsometryDistance(d, g.Distances()); v < out.Found {
			out.Found, out.G = v, g
		}
	}
	return out, nil
}

// repairAndScale is g made TS and then scaled to f's distances d.
func repairAndScale(ctx context.Context, d Distances, g Set) (Set, error) {
	g, err := Repair(ctx, g)
	if err != nil {
		return g, err
	}
	return rescale(d, g), nil
}

// setDim appends zero coordinates, or drops those beyond dim.
func setDim(f Set, dim int) Set {
	x := make([]float64, f.N()*dim)
	for i := range f.N() {
		copy(x[i*dim:(i+1)*dim], f.Row(i))
	}
	return f.With(dim, x)
}

// Multipliers are weights on the constraints at a local minimum, with respect
// to squared distances: Far on d_ij <= D_ij + e, Near on d_ij >= D_ij - e,
// and Order on d_ap <= d_an.
type Multipliers struct {
	Far, Near map[[2]int]float64
	Order     map[Triplet]float64
}

// climb is one local search.
type climb struct {
	d     Distances
	class []int
	w     float64 // diameter of f
}

// penalty weighs violations against the error. One of 1 is enough to make
// L_HN > 0 not pay, as contracting by v removes at least half of v.
const penalty = 8

func (c *climb) merit(g Set) float64 {
	d := g.Distances()
	e, _, _ := IsometryDistance(c.d, d)
	v, _ := Hardest(d, c.class)
	return e + penalty*v
}

// run climbs from g. Its only error is that of ctx.
func (c *climb) run(ctx context.Context, g Set, steps int) (Set, Multipliers, error) {
	radius := 0.2 * c.w
	cur := c.merit(g)
	var mult Multipliers
	for range steps {
		next, m, err := c.step(ctx, g, radius)
		if errors.Is(err, lp.ErrStuck) || errors.Is(err, lp.ErrInfeasible) { // rounding
			break
		}
		if err != nil {
			return g, mult, err
		}
		mult = m
		if v := c.merit(next); v < cur-1e-13*c.w {
			if cur-v < 1e-9*c.w && radius < 1e-6*c.w {
				g = next
				break
			}
			g, cur = next, v
			radius = min(2*radius, c.w)
		} else if radius /= 4; radius < 1e-9*c.w {
			break
		}
	}
	return g, mult, nil
}

// linear is the problem linearised around an arrangement. Variables are the moves of
// all coordinates, the error e, and the violation t >= 0 of the order constraints.
type linear struct {
	c     *climb
	g     Set
	dg    Distances
	reach float64 // what the radius allows two distances to change
	lp    lp.Problem
	// pairs and order are what the rows of lp are about: first pairs, then order.
	pairs []farPair
	order []Triplet
}

// farPair is a pair of points whose distance differs much from what it should be, by
// side times more.
type farPair struct{ i, j, side int }

// step solves the linearised problem around g.
func (c *climb) step(ctx context.Context, g Set, radius float64) (Set, Multipliers, error) {
	n, dim := g.N(), g.Dim
	vars := n*dim + 2
	l := linear{c: c, g: g, dg: g.Distances(), reach: 4 * radius * math.Sqrt(float64(dim)),
		lp: lp.Problem{C: make([]float64, vars), Lo: make([]float64, vars), Hi: make([]float64, vars)}}
	for i := range n * dim {
		l.lp.Lo[i], l.lp.Hi[i] = -radius, radius
	}
	ve, vt := vars-2, vars-1
	l.lp.C[ve], l.lp.C[vt] = 1, penalty
	l.lp.Hi[ve], l.lp.Hi[vt] = 4*c.w, 4*c.w
	l.boundError(ve)
	l.keepOrder(vt)
	s, err := l.lp.Solve(ctx, math.Inf(1))
	if err != nil {
		return g, Multipliers{}, err
	}
	x := make([]float64, n*dim)
	for i := range x {
		x[i] = g.X[i] + s.X[i]
	}
	return g.With(dim, x), l.multipliers(s.Y), nil
}

// grad appends s times the gradient of d_ij.
func (l *linear) grad(r *lp.Row, i, j int, s float64) {
	d := l.dg.At(i, j)
	if d < 1e-12*l.c.w {
		return
	}
	a, b := l.g.Row(i), l.g.Row(j)
	dim := l.g.Dim
	for k := range dim {
		v := s * (a[k] - b[k]) / d
		r.Idx = append(r.Idx, i*dim+k, j*dim+k)
		r.Val = append(r.Val, v, -v)
	}
}

// boundError adds rows by which the change of no distance exceeds variable ve, for
// those that may come near the largest.
func (l *linear) boundError(ve int) {
	worst, _, _ := IsometryDistance(l.c.d, l.dg)
	for i := range l.g.N() {
		for j := range i {
			diff := l.dg.At(i, j) - l.c.d.At(i, j)
			for _, side := range []int{1, -1} { // side*diff + ... <= e
				if float64(side)*diff < worst-2*l.reach {
					continue
				}
				r := lp.Row{Idx: []int{ve}, Val: []float64{1}, B: float64(side) * diff}
				l.grad(&r, i, j, -float64(side))
				l.lp.Rows = append(l.lp.Rows, r)
				l.pairs = append(l.pairs, farPair{i, j, side})
			}
		}
	}
}

// keepOrder adds rows by which no point of another class comes nearer to an anchor
// than one of its own, but by variable vt, for those that may.
func (l *linear) keepOrder(vt int) {
	c := l.c
	n := l.g.N()
	for a := range n {
		for q := range n {
			if q == a || c.class[q] != c.class[a] {
				continue
			}
			for m := range n {
				if c.class[m] == c.class[a] {
					continue
				}
				gap := l.dg.At(a, m) - l.dg.At(a, q)
				if gap > l.reach {
					continue
				}
				r := lp.Row{Idx: []int{vt}, Val: []float64{1}, B: -gap}
				l.grad(&r, a, m, 1)
				l.grad(&r, a, q, -1)
				l.lp.Rows = append(l.lp.Rows, r)
				l.order = append(l.order, Triplet{a, q, m})
			}
		}
	}
}

// multipliers are those of the squared distances, from the rows' prices.
func (l *linear) multipliers(prices []float64) Multipliers {
	mult := Multipliers{Far: map[[2]int]float64{}, Near: map[[2]int]float64{}, Order: map[Triplet]float64{}}
	for k, y := range prices {
		if y <= 0 {
			continue
		}
		if k < len(l.pairs) {
			q := l.pairs[k]
			if d := l.dg.At(q.i, q.j); d > 1e-9*l.c.w {
				if q.side > 0 {
					mult.Far[[2]int{q.j, q.i}] += y / (2 * d)
				} else {
					mult.Near[[2]int{q.j, q.i}] += y / (2 * d)
				}
			}
			continue
		}
		t := l.order[k-len(l.pairs)]
		if d := (l.dg.At(t.Anchor, t.Positive) + l.dg.At(t.Anchor, t.Negative)) / 2; d > 1e-9*l.c.w {
			mult.Order[t] += y / (2 * d)
		}
	}
	return mult
}
