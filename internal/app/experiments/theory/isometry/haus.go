package isometry

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
)

// NearestHaus looks for the TS arrangement nearest to f in d_haus, in f's own
// dimension: Lower <= d_haus(f, TS) <= Found.
//
// The bound is L_HN / 4: if the images are within h, the four points of a hard
// triplet's two distances move by at most h each. The search is a descent on
// the largest distance of a point to the nearest of its class in the other set,
// with a penalty on unseparated triplets, from several starts; what it finds is
// made TS by contraction. It looks at ctx in every step and returns ctx.Err(),
// wrapped, once that is done.
func NearestHaus(ctx context.Context, f Set, o Options) (Nearest, error) {
	d := f.Distances()
	loss, hard := Hardest(d, f.Class)
	out := Nearest{G: f, Loss: loss, Hard: hard, Lower: loss / 4}
	if loss == 0 {
		return out, nil
	}
	starts, steps := o.Starts, o.Steps
	starts = cmp.Or(starts, 6)
	steps = cmp.Or(steps, 1500)
	rng := rand.New(rand.NewPCG(o.Seed, 78))
	w := d.Diameter()
	out.Found = math.Inf(1)
	for k := range starts {
		g := f.With(f.Dim, append([]float64(nil), f.X...))
		if k%2 == 0 {
			near, err := NearestTS(ctx, f, Options{Starts: 2 + k/2, Steps: 30, Seed: o.Seed + uint64(k)})
			if err != nil {
				return Nearest{}, err
			}
			g = align(f, near.G.With(near.G.Dim, append([]float64(nil), near.G.X...)))
		}
		if k > 1 {
			for i := range g.X {
				g.X[i] += 0.15 * w * rng.NormFloat64()
			}
		}
		g, err := descendHaus(ctx, f, g, w, steps)
		if err != nil {
			return Nearest{}, err
		}
		if g, err = Repair(ctx, g); err != nil {
			return Nearest{}, err
		}
		if v, _, _, _ := HausdorffDistance(f, g); v < out.Found {
			out.Found, out.G = v, g
		}
	}
	return out, nil
}

// align moves g so that its centroid is f's.
func align(f, g Set) Set {
	for k := range f.Dim {
		s := 0.0
		for i := range f.N() {
			s += f.Row(i)[k] - g.Row(i)[k]
		}
		for i := range f.N() {
			g.Row(i)[k] += s / float64(f.N())
		}
	}
	return g
}

func descendHaus(ctx context.Context, f, g Set, w float64, steps int) (Set, error) {
	n, dim := g.N(), g.Dim
	dg := Distances{N: n, D: make([]float64, n*n)}
	grad, m1, m2 := make([]float64, n*dim), make([]float64, n*dim), make([]float64, n*dim)
	weight := make([]float64, n*n)
	c1, c2 := 1.0, 1.0
	best, bestX := math.Inf(1), append([]float64(nil), g.X...)
	for it := range steps {
		if err := ctx.Err(); err != nil {
			return g, fmt.Errorf("step %d of %d towards the nearest arrangement of %d points in d_haus: %w",
				it+1, steps, n, err)
		}
		g.distances(dg)
		clear(grad)
		v, at, to, inF := HausdorffDistance(f, g)
		l, _ := Hardest(dg, g.Class)
		if m := v + 4*l; m < best {
			best = m
			copy(bestX, g.X)
		}
		if v > 0 {
			a, b := f.Row(at), g.Row(to)
			row := to
			if !inF {
				a, b, row = f.Row(to), g.Row(at), at
			}
			for k := range dim {
				grad[row*dim+k] += (b[k] - a[k]) / v
			}
		}
		clear(weight)
		addPenalty(dg, g.Class, weight)
		for i := range n {
			for j := range n {
				q := weight[i*n+j] * float64(n) // push divides by n
				if q == 0 || dg.At(i, j) == 0 {
					continue
				}
				for k := range dim {
					x := q * (g.Row(i)[k] - g.Row(j)[k]) / dg.At(i, j)
					grad[i*dim+k] += x
					grad[j*dim+k] -= x
				}
			}
		}
		c1, c2 = c1*0.9, c2*0.99
		rate := 0.03 * w * math.Pow(1e-5, float64(it)/float64(steps))
		for k, v := range grad {
			m1[k] = 0.9*m1[k] + 0.1*v
			m2[k] = 0.99*m2[k] + 0.01*v*v
			g.X[k] -= rate * (m1[k] / (1 - c1)) / (math.Sqrt(m2[k]/(1-c2)) + 1e-9)
		}
	}
	return g.With(dim, bestX), nil
}
