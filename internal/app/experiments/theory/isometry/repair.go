package isometry

import (
	"context"
	"fmt"
	"math"
)

// IsSeparated says whether distances d are triplet-separated, allowing a
// violation of slack.
func IsSeparated(d Distances, class []int, slack float64) bool {
	v, _ := Hardest(d, class)
	return v <= slack
}

// Contract moves every point towards its class's centroid, to the fraction
// keep of its distance.
func Contract(f Set, keep float64) Set {
	t := f.classes()
	sum, count := make([]float64, t*f.Dim), make([]float64, t)
	for i, c := range f.Class {
		count[c]++
		for k, v := range f.Row(i) {
			sum[c*f.Dim+k] += v
		}
	}
	x := make([]float64, len(f.X))
	for i, c := range f.Class {
		for k, v := range f.Row(i) {
			m := sum[c*f.Dim+k] / count[c]
			x[i*f.Dim+k] = m + keep*(v-m)
		}
	}
	return f.With(f.Dim, x)
}

// Repair returns f with its classes contracted as little as makes it exactly
// TS. With each class at its centroid every set is TS, so there is always an
// answer; it is found by bisection, to 1e-12 of the contraction. It looks at ctx
// in each of the 40 steps and returns ctx.Err(), wrapped, once that is done.
func Repair(ctx context.Context, f Set) (Set, error) {
	if IsSeparated(f.Distances(), f.Class, 0) {
		return f, nil
	}
	lo, hi := 0.0, 1.0
	for hi-lo > 1e-12 {
		if err := ctx.Err(); err != nil {
			return f, fmt.Errorf("contracting the classes of %d points: %w", f.N(), err)
		}
		mid := (lo + hi) / 2
		if IsSeparated(Contract(f, mid).Distances(), f.Class, 0) {
			lo = mid
		} else {
			hi = mid
		}
	}
	g := Contract(f, lo)
	if lo == 0 { // centroids computed to the same bits for all points of a class
		centroid := make(map[int][]float64)
		for i, c := range g.Class {
			if m, ok := centroid[c]; ok {
				copy(g.Row(i), m)
			} else {
				centroid[c] = g.Row(i)
			}
		}
	}
	return g, nil
}

// rescale returns g scaled so that its largest difference of distances to f is
// least: a convex function of the factor, searched by golden section.
func rescale(f Distances, g Set) Set {
	d := g.Distances()
	cost := func(k float64) float64 {
		w := 0.0
		for i, v := range f.D {
			w = max(w, math.Abs(v-k*d.D[i]))
		}
		return w
	}
	const phi = 0.6180339887498949
	lo, hi := 0.0, 2.0
	a, b := hi-phi*(hi-lo), lo+phi*(hi-lo)
	ca, cb := cost(a), cost(b)
	for range 60 {
		if ca < cb {
			hi, b, cb = b, a, ca
			a = hi - phi*(hi-lo)
			ca = cost(a)
		} else {
			lo, a, ca = a, b, cb
			b = lo + phi*(hi-lo)
			cb = cost(b)
		}
	}
	k := (lo + hi) / 2
	if cost(k) >= cost(1) {
		return g
	}
	x := make([]float64, len(g.X))
	for i, v := range g.X {
		x[i] = k * v
	}
	return g.With(g.Dim, x)
}
