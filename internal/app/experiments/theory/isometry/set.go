package isometry

import (
	"fmt"
	"math"
)

// Set is an arrangement f of labelled points: n x Dim coordinates, row-major,
// and a class 0, 1, ... for each.
type Set struct {
	Dim   int
	X     []float64
	Class []int
}

// N returns the number of points.
func (s Set) N() int { return len(s.Class) }

// Row returns point i, sharing storage.
func (s Set) Row(i int) []float64 { return s.X[i*s.Dim : (i+1)*s.Dim] }

// With returns the same points' classes with other coordinates.
func (s Set) With(dim int, x []float64) Set { return Set{Dim: dim, X: x, Class: s.Class} }

// Check returns an error if the set is not well formed: lengths that do not
// match, a negative class, a coordinate that is not finite.
func (s Set) Check() error {
	if s.Dim < 1 || len(s.X) != s.Dim*len(s.Class) || len(s.Class) == 0 {
		return fmt.Errorf("%d coordinates for %d points of dimension %d", len(s.X), len(s.Class), s.Dim)
	}
	for i, c := range s.Class {
		if c < 0 {
			return fmt.Errorf("point %d has class %d", i, c)
		}
	}
	for k, v := range s.X {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("point %d is not finite", k/s.Dim)
		}
	}
	return nil
}

// classes returns the number of classes.
func (s Set) classes() int {
	t := 0
	for _, c := range s.Class {
		t = max(t, c+1)
	}
	return t
}

// Distances is the n x n matrix of Euclidean distances.
type Distances struct {
	N int
	D []float64
}

// At returns the distance of points i and j.
func (d Distances) At(i, j int) float64 { return d.D[i*d.N+j] }

// Distances returns the set's distances.
func (s Set) Distances() Distances {
	d := Distances{N: s.N(), D: make([]float64, s.N()*s.N())}
	s.distances(d)
	return d
}

func (s Set) distances(d Distances) {
	for i := range d.N {
		a := s.Row(i)
		for j := range i {
			b := s.Row(j)
			q := 0.0
			for k, v := range a {
				q += (v - b[k]) * (v - b[k])
			}
			q = math.Sqrt(q)
			d.D[i*d.N+j], d.D[j*d.N+i] = q, q
		}
	}
}

// Diameter returns the largest distance.
func (d Distances) Diameter() float64 {
	w := 0.0
	for _, v := range d.D {
		w = max(w, v)
	}
	return w
}

// Triplet names an anchor, its positive and its negative.
type Triplet struct{ Anchor, Positive, Negative int }

// Hardest returns L_HN, the triplet loss without margin of the hardest
// triplet:
//
//	L_HN = max over a, p of its class, n of another, of (D_ap - D_an)_+
//
// and that triplet. Without a triplet it is 0 and the triplet's anchor is -1.
func Hardest(d Distances, class []int) (float64, Triplet) {
	worst, at := math.Inf(-1), Triplet{-1, -1, -1}
	for a := range d.N {
		p, n := -1, -1
		for j := range d.N {
			switch {
			case j == a:
			case class[j] == class[a]:
				if p < 0 || d.At(a, j) > d.At(a, p) {
					p = j
				}
			case n < 0 || d.At(a, j) < d.At(a, n):
				n = j
			}
		}
		if p >= 0 && n >= 0 {
			if v := d.At(a, p) - d.At(a, n); v > worst {
				worst, at = v, Triplet{a, p, n}
			}
		}
	}
	return max(0, worst), at
}

// IsometryDistance returns d_iso(f, g), the largest difference of a distance in f and the
// same in g, and the pair where it is.
func IsometryDistance(f, g Distances) (worst float64, i, j int) {
	for a := range f.N {
		for b := range a {
			if v := math.Abs(f.At(a, b) - g.At(a, b)); v > worst {
				worst, i, j = v, b, a
			}
		}
	}
	return worst, i, j
}

// HausdorffDistance returns d_haus(f, g): the Hausdorff distance between the images of a
// class, the largest over the classes. f and g have the same classes and
// dimension. at and to are the points that attain it, at in f if inF.
func HausdorffDistance(f, g Set) (worst float64, at, to int, inF bool) {
	side := func(u, v Set, first bool) {
		for i := range u.N() {
			near, best := -1, math.Inf(1)
			for j := range v.N() {
				if u.Class[i] == v.Class[j] {
					if d := distance(u.Row(i), v.Row(j)); d < best {
						near, best = j, d
					}
				}
			}
			if best > worst {
				worst, at, to, inF = best, i, near, first
			}
		}
	}
	side(f, g, true)
	side(g, f, false)
	return worst, at, to, inF
}

func distance(a, b []float64) float64 {
	q := 0.0
	for k, v := range a {
		q += (v - b[k]) * (v - b[k])
	}
	return math.Sqrt(q)
}
