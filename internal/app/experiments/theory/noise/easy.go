package noise

import "slices"

// ranks is the memory of expectations with easy positives. The positive of i
// is j iff Y_j = Y_i and Y_t != Y_i for every t nearer than j, so with Y_i = r
// fixed its probability is a product over the nearer points.
type ranks struct {
	m     Model
	order []int
	none  []float64 // per r: P(no nearer point has label r)
	prob  []float64
	coef  []float64
}

func newRanks(m Model) *ranks {
	return &ranks{m: m, order: make([]int, m.N()), none: make([]float64, m.T), prob: make([]float64, m.N()),
		coef: make([]float64, m.T)}
}

// sort orders the points other than i by distance, ties by index.
func (s *ranks) sort(i int, d []float64) []int {
	o := s.order[:0]
	for j := range d {
		if j != i {
			o = append(o, j)
		}
	}
	slices.SortFunc(o, func(a, b int) int {
		switch {
		case d[a] < d[b]:
			return -1
		case d[a] > d[b]:
			return 1
		}
		return a - b
	})
	for r := range s.none {
		s.none[r] = 1
	}
	return o
}

// pass multiplies a nearer point into none.
func (s *ranks) pass(j int) {
	for r := range s.none {
		s.none[r] *= 1 - s.m.Prob(s.m.Own[j], r)
	}
}

// chosen returns, for each j, the probability that j is the positive of i.
func (s *ranks) chosen(i int, d []float64) []float64 {
	for _, j := range s.sort(i, d) {
		p := 0.0
		for r, q := range s.none {
			p += s.m.Prob(s.m.Own[i], r) * s.m.Prob(s.m.Own[j], r) * q
		}
		s.prob[j] = p
		s.pass(j)
	}
	return s.prob
}

// easyTriplet is the triplet loss with easy positives: the sum over j and k of
// P(j is the positive, Y_k != Y_i) (D_ij - D_ik + alpha)_+. A nearer k differs
// from Y_i already if j is the positive; a farther one does so independently.
func (e *Eval) easyTriplet(i int, d, dd []float64) float64 {
	s, a := e.easy, e.l.alpha()
	own := e.m.Own
	order := s.sort(i, d)
	v := 0.0
	for at, j := range order {
		chosen := 0.0
		clear(s.coef)
		for r, q := range s.none {
			w := e.m.Prob(own[i], r) * e.m.Prob(own[j], r) * q
			chosen += w
			for c := range s.coef {
				s.coef[c] += w * (1 - e.m.Prob(c, r))
			}
		}
		g := 0.0
		for rank, k := range order {
			h := d[j] - d[k] + a
			if k == j || h <= 0 {
				continue
			}
			w := chosen
			if rank > at {
				w = s.coef[own[k]]
			}
			v += w * h
			g += w
			if dd != nil {
				dd[k] -= w
			}
		}
		if dd != nil {
			dd[j] += g
		}
		s.pass(j)
	}
	return v
}
