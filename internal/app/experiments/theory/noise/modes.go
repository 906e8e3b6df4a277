package noise

import (
	"cmp"
	"context"
	"fmt"
	"math"
)

// ModeCost returns the expected loss of one anchor whose class of s points is
// split into the given number of equal modes: points of a mode lie on one
// place, and different places are alpha apart, or apart x alpha if apart is
// not 0. All other classes are one place each. One mode is the collapsed
// embedding f1 of the paper's claims 1 and 2, two modes is f2; the loss of all
// other classes' anchors is the same in both.
//
// For the margin loss beta is the given one, or, if it is 0, the one that costs
// least. It is an error if s is not a multiple of modes.
//
// The paper's remark that points at distance 0 need an order, to be taken at
// random, is not needed: the expectation does not depend on it.
func ModeCost(l Loss, t, s, modes int, p, apart, beta float64) (float64, error) {
	if modes < 1 || s%modes != 0 {
		return 0, fmt.Errorf("%d points do not split into %d equal modes", s, modes)
	}
	m, err := Balanced(t, s, p)
	if err != nil {
		return 0, err
	}
	apart = cmp.Or(apart, 1)
	a := l.alpha()
	cost := func(beta float64) float64 { return easyLevels(m, l, s, s/modes-1, apart*a, beta) }
	if !l.Easy {
		d := make([]float64, m.N())
		for j := s / modes; j < len(d); j++ {
			d[j] = apart * a
		}
		e := NewEval(m, l)
		cost = func(beta float64) float64 { return e.Anchor(0, d, beta) }
	}
	if l.Kind != Margin || beta != 0 {
		return cost(beta), nil
	}
	// Convex and piecewise linear in beta: the least value is at a kink.
	best := math.Inf(1)
	for _, b := range []float64{a, -a, apart*a + a, apart*a - a} {
		best = min(best, cost(b))
	}
	return best, nil
}

// easyLevels is an anchor's expected loss with easy positives where near
// points of its class lie on it and all others at the distance far. The points
// of a level are alike, so sums over them are counts.
func easyLevels(m Model, l Loss, s, near int, far, beta float64) float64 {
	a := l.alpha()
	sum := 0.0
	for r := range m.T {
		own := m.Prob(0, r)
		other := make([]float64, m.T) // count x P(Y != r) of the far points
		points, miss := 0.0, 1.0
		for c := range m.T {
			k := float64(s)
			if c == 0 {
				k = float64(s - 1 - near)
			}
			points += k
			other[c] = k * (1 - m.Prob(c, r))
			miss *= math.Pow(1-m.Prob(c, r), k)
		}
		negFar := 0.0
		for _, x := range other {
			negFar += x
		}
		n0 := float64(near)
		none := math.Pow(1-own, n0)            // no positive on the anchor
		negNear := n0 * (1 - own)              // expected negatives on the anchor
		atNear, atFar := 1-none, none*(1-miss) // where the positive is
		v := 0.0
		switch l.Kind {
		case Triplet:
			v = a*(negNear-n0*none) + max(0, a-far)*atNear*negFar + none*(1-miss)*(far+a)*n0 +
				a*none*(negFar-points*miss)
		case Margin:
			v = atNear*max(0, a-beta) + atFar*max(0, far-beta+a) + negNear*max(0, beta+a) + negFar*max(0, beta-far+a)
		case Contrastive:
			v = atFar*far + negNear*a + negFar*max(0, a-far)
		}
		sum += m.Prob(0, r) * v
	}
	return sum
}

// TwoModes is the comparison of claims 1 and 2 at one size.
type TwoModes struct {
	N        int     // points in all
	One, Two float64 // an anchor's expected loss when collapsed and in two modes
}

// Gap returns by how much two modes cost less.
func (c TwoModes) Gap() float64 { return c.One - c.Two }

// CompareModes computes both costs for classes of 2, 4, ... up to most points
// each. It looks at ctx at every size and returns ctx.Err(), wrapped, once that is
// done.
func CompareModes(ctx context.Context, l Loss, t, most int, p, apart, beta float64) ([]TwoModes, error) {
	var out []TwoModes
	for s := 2; s <= most; s += 2 {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("one mode and two of %d points: %w", t*s, err)
		}
		one, err := ModeCost(l, t, s, 1, p, apart, beta)
		if err != nil {
			return nil, err
		}
		two, err := ModeCost(l, t, s, 2, p, apart, beta)
		if err != nil {
			return nil, err
		}
		out = append(out, TwoModes{N: t * s, One: one, Two: two})
	}
	return out, nil
}

// FirstPreferred returns the smallest n from which on, as far as was compared,
// two modes cost less by more than 1e-12; 0 if they do not at the last.
func FirstPreferred(c []TwoModes) int {
	n := 0
	for i := len(c) - 1; i >= 0 && c[i].Gap() > 1e-12; i-- {
		n = c[i].N
	}
	return n
}
