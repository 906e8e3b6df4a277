package isometry

import (
	"maps"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Certificate turns multipliers into a lower bound of d_iso(f, TS) that holds
// for g in any number of dimensions. In squared distances the problem with a
// given error e is convex: Gram matrices are a convex cone, and
//
//	(D_ij - e)_+² <= d_ij² <= (D_ij + e)²,  d_ap² <= d_an²
//
// are linear. If far, near, order >= 0 are weights of those constraints and W
// their sum as weights of squared distances, then sum W_ij d_ij² >= 0 for every
// arrangement as long as the Laplacian of W is positive semidefinite. So e is
// impossible if sum near (D-e)_+² > sum far (D+e)². A Laplacian that is not
// quite semidefinite is mended by raising all far weights equally. The bound is
// at least 0 and depends on nothing but that inequality: however the weights
// were found, it is valid (up to the rounding of an eigenvalue, for which
// 1e-12 of the largest is added).
func Certificate(d Distances, m Multipliers) float64 {
	n := d.N
	lap := mat.NewSymDense(n, nil)
	add := func(i, j int, w float64) {
		lap.SetSym(i, i, lap.At(i, i)+w)
		lap.SetSym(j, j, lap.At(j, j)+w)
		lap.SetSym(i, j, lap.At(i, j)-w)
	}
	far, near := sortWeights(m.Far), sortWeights(m.Near)
	for _, w := range far {
		add(w.i, w.j, w.w)
	}
	for _, w := range near {
		add(w.i, w.j, -w.w)
	}
	for _, t := range slices.SortedFunc(maps.Keys(m.Order), compareTriplets) {
		w := m.Order[t]
		add(t.Anchor, t.Positive, w)
		add(t.Anchor, t.Negative, -w)
	}
	var eig mat.EigenSym
	if len(near) == 0 || !eig.Factorize(lap, false) {
		return 0
	}
	values := eig.Values(nil)
	lift := max(0, -slices.Min(values))/float64(n) + 1e-12*max(slices.Max(values), 0)
	gain := func(e float64) float64 {
		s := 0.0
		for _, w := range near {
			if x := d.At(w.i, w.j) - e; x > 0 {
				s += w.w * x * x
			}
		}
		for _, w := range far {
			x := d.At(w.i, w.j) + e
			s -= w.w * x * x
		}
		for i := range n {
			for j := range i {
				x := d.At(i, j) + e
				s -= lift * x * x
			}
		}
		return s
	}
	if gain(0) <= 0 {
		return 0
	}
	lo, hi := 0.0, d.Diameter()
	for range 60 {
		if mid := (lo + hi) / 2; gain(mid) > 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

type weightedPair struct {
	i, j int
	w    float64
}

// sortWeights lists weights in a fixed order, so that sums have the same bits.
func sortWeights(m map[[2]int]float64) []weightedPair {
	var out []weightedPair
	for k, w := range m {
		out = append(out, weightedPair{k[0], k[1], w})
	}
	slices.SortFunc(out, func(a, b weightedPair) int {
		if a.i != b.i {
			return a.i - b.i
		}
		return a.j - b.j
	})
	return out
}

func compareTriplets(a, b Triplet) int {
	switch {
	case a.Anchor != b.Anchor:
		return a.Anchor - b.Anchor
	case a.Positive != b.Positive:
		return a.Positive - b.Positive
	}
	return a.Negative - b.Negative
}
