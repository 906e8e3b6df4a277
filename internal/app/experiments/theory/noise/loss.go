package noise

import "fmt"

// Kind is a loss of the paper's section 3, on distances D = ||f(x) - f(y)||.
type Kind uint8

// The losses. With labels y, P(i) = {j != i: y_j = y_i} and N(i) = {j: y_j != y_i}:
const (
	// Triplet: sum over i, j in P(i), k in N(i) of (D_ij - D_ik + alpha)_+.
	Triplet Kind = iota
	// Margin: sum over i of sum over P(i) of (D_ij - beta_i + alpha)_+ and
	// over N(i) of (beta_i - D_ij + alpha)_+.
	Margin
	// Contrastive: sum over i of sum over P(i) of D_ij and over N(i) of
	// (alpha - D_ij)_+.
	Contrastive
)

func (k Kind) String() string { return [...]string{"triplet", "margin", "contrastive"}[min(k, 2)] }

// Loss says which expectation is taken. The zero value is the triplet loss over
// all positives with alpha = 1: distances are then in units of the margin.
type Loss struct {
	Kind Kind
	// Easy replaces P(i) by its nearest point (EPS); ties go to the lowest
	// index, but no loss here depends on how they are broken.
	Easy bool
	// Alpha is the margin; 0 means 1.
	Alpha float64
	// Squared takes squared distances: ||f(x) - f(y)||², the library's default
	// for the triplet loss. alpha is then a squared distance too.
	Squared bool
	// Self also counts the point itself as a positive of the triplet loss
	// without Easy, as the paper's sum over all i, j, k does to the letter.
	// No batch has such a pair, so the default is not to.
	Self bool
}

func (l Loss) String() string {
	s := l.Kind.String()
	if l.Easy {
		s += " + EPS"
	}
	if l.Squared {
		s += " on squared distances"
	}
	if l.Self {
		s += " with self-pairs"
	}
	return s
}

func (l Loss) alpha() float64 {
	if l.Alpha == 0 {
		return 1
	}
	return l.Alpha
}

// norm is what sums are divided by: n³ for triplets and n² for pairs, as in the
// paper's O, and n with Easy, as in its appendix B.
func (l Loss) norm(n int) float64 {
	f := float64(n)
	switch {
	case l.Easy:
		return f
	case l.Kind == Triplet:
		return f * f * f
	}
	return f * f
}

// Eval computes expectations for one model and loss. It holds scratch memory
// and is not for use by several goroutines at a time.
type Eval struct {
	m    Model
	l    Loss
	w    []float64 // triple weights by classes
	easy *ranks
}

// NewEval prepares a computation.
func NewEval(m Model, l Loss) *Eval {
	e := &Eval{m: m, l: l}
	if l.Easy {
		e.easy = newRanks(m)
	} else if l.Kind == Triplet {
		e.w = m.weights()
	}
	return e
}

// Expected returns the expectation of the loss over all labellings. d is the
// n x n matrix of distances, row-major (squared ones, if the loss is Squared); beta has n values for Margin and is
// ignored otherwise. If dd is not nil, the derivative with respect to d[i*n+j],
// as read from anchor i, is written to it, and that with respect to beta to
// db. On kinks the derivative is the one of the flatter side; with Easy the
// loss is continuous where two distances are equal, but its derivative is not.
//
// It panics if a length does not match.
func (e *Eval) Expected(d, beta, dd, db []float64) float64 {
	n := e.m.N()
	if len(d) != n*n || (e.l.Kind == Margin && len(beta) != n) || (dd != nil && len(dd) != n*n) ||
		(db != nil && e.l.Kind == Margin && len(db) != n) {
		panic(fmt.Sprintf("noise: %d distances, %d beta, %d and %d derivatives for %d points", len(d), len(beta),
			len(dd), len(db), n))
	}
	clear(dd)
	clear(db)
	sum := 0.0
	for i := range n {
		var row []float64
		if dd != nil {
			row = dd[i*n : (i+1)*n]
		}
		b := 0.0
		if e.l.Kind == Margin {
			b = beta[i]
		}
		v, g := e.anchor(i, d[i*n:(i+1)*n], b, row)
		sum += v
		if db != nil && e.l.Kind == Margin {
			db[i] = g
		}
	}
	k := 1 / e.l.norm(n)
	for i := range dd {
		dd[i] *= k
	}
	for i := range db {
		db[i] *= k
	}
	return sum * k
}

// Anchor returns the expectation of anchor i's terms, not divided by anything,
// given its distances to all points.
func (e *Eval) Anchor(i int, d []float64, beta float64) float64 {
	v, _ := e.anchor(i, d, beta, nil)
	return v
}

// anchor adds the derivatives with respect to d to dd and returns the value and
// the derivative with respect to beta.
func (e *Eval) anchor(i int, d []float64, beta float64, dd []float64) (v, db float64) {
	switch {
	case e.l.Kind == Triplet && e.l.Easy:
		return e.easyTriplet(i, d, dd), 0
	case e.l.Kind == Triplet:
		return e.triplet(i, d, dd), 0
	}
	a := e.l.alpha()
	var pos []float64
	if e.l.Easy {
		pos = e.easy.chosen(i, d)
	}
	for j, x := range d {
		if j == i {
			continue
		}
		same := e.m.Agree(e.m.Own[i], e.m.Own[j])
		near, far := same, 1-same // probabilities of the pulling and the pushing term
		if e.l.Easy {
			near = pos[j]
		}
		g := 0.0
		if e.l.Kind == Contrastive {
			v += near * x
			g += near
			if a-x > 0 {
				v += far * (a - x)
				g -= far
			}
		} else {
			if h := x - beta + a; h > 0 {
				v += near * h
				g += near
				db -= near
			}
			if h := beta - x + a; h > 0 {
				v += far * h
				g -= far
				db += far
			}
		}
		if dd != nil {
			dd[j] += g
		}
	}
	return v, db
}

// triplet is the triplet loss over all positives.
func (e *Eval) triplet(i int, d, dd []float64) float64 {
	a, t := e.l.alpha(), e.m.T
	own := e.m.Own
	v := 0.0
	for j, x := range d {
		if j == i {
			if e.l.Self {
				for k, y := range d {
					if h := a - y; k != i && h > 0 {
						w := 1 - e.m.Agree(own[i], own[k])
						v += w * h
						if dd != nil {
							dd[k] -= w
						}
					}
				}
			}
			continue
		}
		w := e.w[(own[i]*t+own[j])*t : (own[i]*t+own[j]+1)*t]
		g := 0.0
		for k, y := range d {
			if h := x - y + a; h > 0 && k != j && k != i {
				c := w[own[k]]
				v += c * h
				g += c
				if dd != nil {
					dd[k] -= c
				}
			}
		}
		if dd != nil {
			dd[j] += g
		}
	}
	return v
}
