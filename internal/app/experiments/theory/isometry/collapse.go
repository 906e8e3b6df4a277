package isometry

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
)

// Collapse is what became of random points in their nearest TS arrangement.
type Collapse struct {
	N, Dim, Classes int
	Error           float64 // d_iso(f, g) / diameter of f, as found
	Lower           float64 // L_HN / 2 / diameter of f: no arrangement is nearer
	Ratio           float64 // diameter of g / diameter of f
	// AtLeast bounds the ratio of every arrangement as near as g or nearer,
	// the nearest among them: 1 - Error. No diameter can shrink by more than
	// the error.
	AtLeast float64
	Own     float64 // mean distance within classes in g / the same in f
}

// CollapseOf draws n points from the normal distribution in dim dimensions,
// labels them in turn with the given number of classes, and looks for the
// nearest TS arrangement: from f, from f with classes contracted and from f
// with classes drawn apart, by Adam on a high power of the differences with a
// penalty on unseparated triplets, for the given number of iterations. With 0
// iterations classes are only contracted or drawn apart, and rescaled, which is
// quick enough for thousands of points. It looks at ctx in every iteration and
// returns ctx.Err(), wrapped, once that is done.
func CollapseOf(ctx context.Context, n, dim, classes, iterations int, seed uint64) (Collapse, error) {
	c, err := collapseOf(ctx, n, dim, classes, iterations, seed)
	if err != nil {
		return Collapse{}, fmt.Errorf("the collapse of %d points in %d dimensions: %w", n, dim, err)
	}
	return c, nil
}

// collapseOf is CollapseOf. Its only error is that of ctx.
func collapseOf(ctx context.Context, n, dim, classes, iterations int, seed uint64) (Collapse, error) {
	rng := rand.New(rand.NewPCG(seed, uint64(n)<<32|uint64(dim)))
	f := Set{Dim: dim, X: make([]float64, n*dim), Class: make([]int, n)}
	for i := range f.X {
		f.X[i] = rng.NormFloat64()
	}
	for i := range f.Class {
		f.Class[i] = i % classes
	}
	d := f.Distances()
	w := d.Diameter()
	loss, _ := Hardest(d, f.Class)
	best := f.With(dim, make([]float64, n*dim))
	least := w
	consider := func(g Set) error {
		g, err := repairAndScale(ctx, d, g)
		if err != nil {
			return err
		}
		if v, _, _ := IsometryDistance(d, g.Distances()); v < least {
			least, best = v, g
		}
		return nil
	}
	if n <= 600 { // contracting is slow for thousands, and never the best there
		if err := consider(f); err != nil {
			return Collapse{}, err
		}
	}
	apart, err := separateClasses(ctx, f, d)
	if err != nil {
		return Collapse{}, err
	}
	if err := consider(apart); err != nil {
		return Collapse{}, err
	}
	if iterations > 0 {
		for _, g := range []Set{f, Contract(f, 0.6), apart} {
			g, err := refine(ctx, d, g, w, iterations)
			if err != nil {
				return Collapse{}, err
			}
			if err := consider(g); err != nil {
				return Collapse{}, err
			}
		}
	}
	dg := best.Distances()
	own := func(d Distances) float64 {
		s, k := 0.0, 0
		for i := range n {
			for j := range i {
				if f.Class[i] == f.Class[j] {
					s += d.At(i, j)
					k++
				}
			}
		}
		return s / float64(max(k, 1))
	}
	return Collapse{N: n, Dim: dim, Classes: classes, Error: least / w, Lower: loss / 2 / w, Ratio: dg.Diameter() / w,
		AtLeast: 1 - least/w, Own: own(dg) / own(d)}, nil
}

// refine descends from g. Its only error is that of ctx.
func refine(ctx context.Context, d Distances, g Set, w float64, iterations int) (Set, error) {
	n, dim := g.N(), g.Dim
	g = g.With(dim, append([]float64(nil), g.X...))
	dg := Distances{N: n, D: make([]float64, n*n)}
	weight := make([]float64, n*n)
	grad, m1, m2 := make([]float64, n*dim), make([]float64, n*dim), make([]float64, n*dim)
	c1, c2 := 1.0, 1.0
	scale := w / math.Sqrt(float64(dim))
	for it := range iterations {
		if err := ctx.Err(); err != nil {
			return g, err
		}
		g.distances(dg)
		worst, _, _ := IsometryDistance(d, dg)
		if worst == 0 {
			break
		}
		power := 6 + 18*float64(it)/float64(iterations)
		clear(weight)
		total := 0.0
		for i := range n {
			for j := range i {
				diff := dg.At(i, j) - d.At(i, j)
				v := math.Pow(math.Abs(diff)/worst, power)
				total += v
				weight[i*n+j] = math.Copysign(v, diff)
			}
		}
		for k := range weight {
			weight[k] /= total
		}
		addPenalty(dg, g.Class, weight)
		clear(grad)
		for i := range n {
			a := g.Row(i)
			for j := range i {
				v := weight[i*n+j] + weight[j*n+i]
				if v == 0 || dg.At(i, j) == 0 {
					continue
				}
				v /= dg.At(i, j)
				b := g.Row(j)
				for k, x := range a {
					q := v * (x - b[k])
					grad[i*dim+k] += q
					grad[j*dim+k] -= q
				}
			}
		}
		c1, c2 = c1*0.9, c2*0.99
		rate := 0.03 * scale * math.Pow(0.01, float64(it)/float64(iterations))
		for k, v := range grad {
			m1[k] = 0.9*m1[k] + 0.1*v
			m2[k] = 0.99*m2[k] + 0.01*v*v
			g.X[k] -= rate * (m1[k] / (1 - c1)) / (math.Sqrt(m2[k]/(1-c2)) + 1e-12)
		}
	}
	return g, nil
}

// addPenalty adds the penalty's derivative: for each anchor whose farthest positive
// is beyond its nearest negative, those two distances.
func addPenalty(d Distances, class []int, weight []float64) {
	n := d.N
	k := 4 / float64(n)
	for a := range n {
		p, q := -1, -1
		for j := range n {
			switch {
			case j == a:
			case class[j] == class[a]:
				if p < 0 || d.At(a, j) > d.At(a, p) {
					p = j
				}
			case q < 0 || d.At(a, j) < d.At(a, q):
				q = j
			}
		}
		if p >= 0 && q >= 0 && d.At(a, p) > d.At(a, q) {
			weight[a*n+p] += k
			weight[a*n+q] -= k
		}
	}
}

// separateClasses returns keep*f plus an offset for each class, along axes that are
// perpendicular where there are enough dimensions, as small as makes the
// result TS; keep is the one of a few that ends nearest to f.
//
// With offsets m u_c the squared distances are keep² D² + 2 keep m
// (f_i - f_j).(u_c - u_d) + m² |u_c - u_d|², so trying many is cheap.
// Its only error is that of ctx.
func separateClasses(ctx context.Context, f Set, d Distances) (Set, error) {
	n, t := f.N(), f.classes()
	u := make([]float64, t*f.Dim)
	for c := range t {
		// Axes serve as well as any directions for normal points; beyond Dim
		// classes their other sides follow, then places farther out.
		sign := 1.0
		if c/f.Dim%2 == 1 {
			sign = -1
		}
		u[c*f.Dim+c%f.Dim] = sign * (1 + float64(c/(2*f.Dim)))
	}
	proj := make([]float64, n*t) // f_i . u_c
	for i := range n {
		for c := range t {
			for k, v := range f.Row(i) {
				proj[i*t+c] += v * u[c*f.Dim+k]
			}
		}
	}
	uu := make([]float64, t*t)
	for a := range t {
		for b := range t {
			for k := range f.Dim {
				x := u[a*f.Dim+k] - u[b*f.Dim+k]
				uu[a*t+b] += x * x
			}
		}
	}
	w := d.Diameter()
	dg := Distances{N: n, D: make([]float64, n*n)}
	distances := func(keep, m float64) {
		for i := range n {
			ci := f.Class[i]
			for j := range i {
				cj := f.Class[j]
				x := d.At(i, j)
				q := keep*keep*x*x + m*m*uu[ci*t+cj]
				if ci != cj {
					q += 2 * keep * m * (proj[i*t+ci] - proj[i*t+cj] - proj[j*t+ci] + proj[j*t+cj])
				}
				q = math.Sqrt(max(0, q))
				dg.D[i*n+j], dg.D[j*n+i] = q, q
			}
		}
	}
	bestKeep, bestM, best := 0.0, 0.0, math.Inf(1)
	for _, keep := range []float64{0.9, 0.8, 0.7, 0.6, 0.45, 0.3} {
		lo, hi := 0.0, 4*w
		for range 12 {
			if err := ctx.Err(); err != nil {
				return f, err
			}
			mid := (lo + hi) / 2
			if distances(keep, mid); IsSeparated(dg, f.Class, 0) {
				hi = mid
			} else {
				lo = mid
			}
		}
		distances(keep, hi)
		if e, _, _ := IsometryDistance(d, dg); e < best {
			bestKeep, bestM, best = keep, hi*(1+1e-9), e
		}
	}
	g := f.With(f.Dim, make([]float64, len(f.X)))
	for i, c := range f.Class {
		for k, v := range f.Row(i) {
			g.Row(i)[k] = bestKeep*v + bestM*u[c*f.Dim+k]
		}
	}
	return g, nil
}
