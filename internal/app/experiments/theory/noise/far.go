package noise

import "math"

// FarPoint is what claim 3 says of one point j of an anchor's neighbours.
type FarPoint struct {
	Rank   int     // 1 is the nearest
	Class  int     // its own class; the anchor has class 0
	Pull   float64 // P(j is the easy positive of the anchor)
	Push   float64 // P(Y_j != Y_i)
	Settle float64 // the distance at which its expected margin loss is least
}

// FarMargin walks an anchor's neighbours, given by class in the order of their
// distances, and returns for each the distance D at which
//
//	pull (D - beta + alpha)_+ + push (beta - D + alpha)_+
//
// is least with the order held fixed: beta + alpha where push > pull, and
// beta - alpha, or 0 if that is negative, where pull > push. The anchor has
// class 0.
func FarMargin(t int, p, alpha, beta float64, order []int) []FarPoint {
	m := Model{T: t, P: p}
	none := ones(t)
	out := make([]FarPoint, len(order))
	for k, c := range order {
		f := FarPoint{Rank: k + 1, Class: c, Push: 1 - m.Agree(0, c)}
		for r := range t {
			f.Pull += m.Prob(0, r) * m.Prob(c, r) * none[r]
			none[r] *= 1 - m.Prob(c, r)
		}
		if f.Push > f.Pull {
			f.Settle = beta + alpha
		} else {
			f.Settle = max(0, beta-alpha)
		}
		out[k] = f
	}
	return out
}

func ones(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

// MarginRank returns the M of claim 3: the smallest M such that every point of
// rank above M is pushed away, to beta + alpha, whatever the classes of the
// nearer points; 0 means all points are. With t classes the probability that no
// nearer point shares the anchor's label is, given the label, a product of
// convex exponentials in the number of nearer points of each class, so it is
// largest when they are all of one class. It returns -1 if M exceeds limit: at
// p = 1 no M is large enough, as then a positive whose nearer points are all of other
// classes is never pushed away.
func MarginRank(t int, p float64, limit int) int {
	m := Model{T: t, P: p}
	for rank := limit + 1; rank >= 1; rank-- {
		for c := range min(t, 2) { // class of the point: the anchor's, or another
			push := 1 - m.Agree(0, c)
			for _, b := range []int{0, 1, t - 1} { // class of all nearer ones
				pull := 0.0
				for r := range t {
					pull += m.Prob(0, r) * m.Prob(c, r) * math.Pow(1-m.Prob(b, r), float64(rank-1))
				}
				if pull >= push {
					if rank > limit {
						return -1
					}
					return rank
				}
			}
		}
	}
	return 0
}
