package noise

import "fmt"

// Model is points with noisy labels: the label Y_i of point i is its own class
// with probability P and each other class with probability (1-P)/(T-1),
// independently of all others.
type Model struct {
	Own []int   // the class of each point, 0..T-1
	T   int     // number of classes, at least 2
	P   float64 // in [0, 1]; the paper has 1/2 < P < 1
}

// Balanced returns a model of t classes with s points each; points of a class
// follow each other. It is an error if t < 2, s < 1 or p is outside [0, 1].
func Balanced(t, s int, p float64) (Model, error) {
	if t < 2 || s < 1 || !(p >= 0 && p <= 1) {
		return Model{}, fmt.Errorf("%d classes of %d points with p = %g: need at least 2 classes of 1 point "+
			"and 0 <= p <= 1", t, s, p)
	}
	m := Model{T: t, P: p, Own: make([]int, t*s)}
	for i := range m.Own {
		m.Own[i] = i / s
	}
	return m, nil
}

// N returns the number of points.
func (m Model) N() int { return len(m.Own) }

// Prob returns P(Y = r) for a point of class c.
func (m Model) Prob(c, r int) float64 {
	if c == r {
		return m.P
	}
	return (1 - m.P) / float64(m.T-1)
}

// Agree returns P(Y_i = Y_j) for two points of classes b and c.
func (m Model) Agree(b, c int) float64 {
	q := (1 - m.P) / float64(m.T-1)
	if b == c {
		return m.P*m.P + float64(m.T-1)*q*q
	}
	return 2*m.P*q + float64(m.T-2)*q*q
}

// triple returns P(Y_i = Y_j, Y_k != Y_i) for points of classes a, b, c.
func (m Model) triple(a, b, c int) float64 {
	s := 0.0
	for r := range m.T {
		s += m.Prob(a, r) * m.Prob(b, r) * (1 - m.Prob(c, r))
	}
	return s
}

// weights tabulates triple for all classes.
func (m Model) weights() []float64 {
	w := make([]float64, m.T*m.T*m.T)
	for a := range m.T {
		for b := range m.T {
			for c := range m.T {
				w[(a*m.T+b)*m.T+c] = m.triple(a, b, c)
			}
		}
	}
	return w
}
