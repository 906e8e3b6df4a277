package loss

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/compute/pair"
	"github.com/kindred-ml/kindred/matrix"
)

// VICReg pulls positives together without negatives, and keeps the batch spread out:
// every number of the embedding varies, and no two are correlated.
//
//	L = lambda mean over positive pairs of D²
//	  + mu (1/d) sum over numbers k of (gamma - sqrt(C_kk + 1e-4))_+
//	  + nu (1/d) sum over k != l of C_kl²
//
// with C the covariance of the batch's embeddings (n - 1 in the denominator). It is
// for embeddings that are not normalised; on the unit sphere the numbers of an
// embedding cannot vary by more than about gamma = 1/sqrt(d). Terms are positive
// pairs; the reduction, by default the mean, applies to them alone. A batch of one
// embedding has no covariance, and lacks the last two lines.
//
// Bardes et al. 2022, "VICReg: variance-invariance-covariance regularization for
// self-supervised learning", with the pairs that mining chose in place of two views.
//
// Use it when there are no negatives to trust, as with labels that name only some pairs. Take `network.normalize:
// off`.
//
// Inside a class: the variance term forbids the collapse of the whole batch, not of a class: with all positives the
// classes shrink, with easy ones only neighbours draw together.
type VICReg struct {
	Lambda *float64 // default 25
	Mu     *float64 // default 25
	Nu     *float64 // default 1
	Gamma  *float64 // default 1
	Reduce Reduction

	centred, covariance matrix.Dense // their storage is reused
}

// Traits implements Loss.
func (l *VICReg) Traits() Traits { return Traits{Measure: Squared, Reduction: l.Reduce} }

// Terms implements Loss.
func (l *VICReg) Terms() Terms { return SetTerms(l) }

// Set implements Sets.
func (l *VICReg) Set(s *Set) {
	lambda := option.OrDefault(l.Lambda, 25)
	for k, x := range s.Pos {
		s.Term(lambda * float64(x))
		s.DPos[k] = float32(lambda)
	}
}

// Whole implements Whole.
func (l *VICReg) Whole(e *matrix.Dense, weight float64, grad *matrix.Dense) float64 {
	n, d := e.Rows, e.Cols
	if n < 2 || d == 0 {
		return 0
	}
	l.centre(e)
	reshape(&l.covariance, d, d)
	matrix.Gemm(true, false, 1/float32(n-1), &l.centred, &l.centred, 0, &l.covariance)
	mu, nu, gamma := option.OrDefault(l.Mu, 25)/float64(d), option.OrDefault(l.Nu, 1)/float64(d),
		option.OrDefault(l.Gamma, 1)
	var value float64
	// The covariance becomes what the centred embeddings are multiplied by in the
	// gradient.
	for k := range d {
		row := l.covariance.Row(k)
		std := math.Sqrt(float64(row[k]) + 1e-4)
		own := 0.0
		if std < gamma {
			value += mu * (gamma - std)
			own = -mu / (float64(n-1) * std)
		}
		for j, c := range row {
			if j != k {
				value += nu * float64(c) * float64(c)
				row[j] = float32(4 * nu / float64(n-1) * float64(c))
			}
		}
		row[k] = float32(own)
	}
	matrix.Gemm(false, false, float32(weight), &l.centred, &l.covariance, 1, grad)
	return value
}

// centre sets centred to the embeddings less their mean.
func (l *VICReg) centre(e *matrix.Dense) {
	reshape(&l.centred, e.Rows, e.Cols)
	for k := range e.Cols {
		var sum float64
		for i := range e.Rows {
			sum += float64(e.Row(i)[k])
		}
		mean := sum / float64(e.Rows)
		for i := range e.Rows {
			l.centred.Row(i)[k] = float32(float64(e.Row(i)[k]) - mean)
		}
	}
}

// reshape makes m r x c, of arbitrary content.
func reshape(m *matrix.Dense, r, c int) {
	if cap(m.Data) < r*c {
		m.Data = make([]float32, r*c)
	}
	m.Rows, m.Cols, m.Stride, m.Data = r, c, c, m.Data[:r*c]
}

// Decorrelate makes the first part of an embedding independent of its further parts. For each
// further part two layers learn to predict the first part from it, and the network learns to
// make them fail:
//
//	C = (1/n) sum over embeddings and over further parts p of sum over numbers j of (a_j u_j)²
//	u = W2 relu(W1 p + b1) + b2
//
// where a is the first part, and a, p and u are divided by their norms. The embeddings descend
// the gradient of C, the layers ascend it: their Grad is the gradient of -C. C is between 0 and
// the number of further parts. It uses no pairs, so neither mining nor the reduction changes
// it. Added to the losses of the parts it is DiVA.
//
// Milbich et al. 2020, "DiVA: diverse visual feature aggregation for deep metric
// learning", section 3.3; the authors' program has 512 hidden numbers and, for parts of d
// numbers, the weight 1500/d.
//
// Use it in `loss.plus`, beside losses of several parts of the embedding (`loss.part`), so that the parts learn
// different things. DiVA's shared and intra-class parts are triplet losses with `triplets: shared` and `triplets:
// intra`; docs/collapse.md has the whole configuration.
//
// Inside a class: it says nothing about classes. The parts that it keeps apart from the first one may hold what tells
// the members of a class from each other.
type Decorrelate struct {
	// lengths of the parts in proportion to each other: 2, 1 and 1 for a half and two quarters
	// of the embedding; default two halves
	Parts  []int
	Hidden int      // numbers between the two layers, default 512
	Rate   *float64 // learning rate of the layers, default the network's

	lengths     []int
	adversaries []*adversary // of each further part

	first, other, guess pair.Rows // as compared, of unit length
	dFirst, dGuess      matrix.Dense
	e0, g0, ek, gk      matrix.Dense // the parts of what Whole is given
}

// adversary predicts the first part from another one.
type adversary struct {
	w1, b1, w2, b2 *Param

	hidden, out, dHidden, dPart matrix.Dense // their storage is reused
	m1, m2, g1, g2              matrix.Dense // the weights as matrices, and their gradients
}

// Traits implements Loss.
func (l *Decorrelate) Traits() Traits { return Traits{} }

// Terms implements Loss.
func (l *Decorrelate) Terms() Terms { return SetTerms(l) }

// Set implements Sets: there are no terms of pairs.
func (l *Decorrelate) Set(*Set) {}

// Learn implements Learner: weights start at N(0, 2/n) in the first layer and at N(0, 1/n) in
// the second, where n is the number of inputs, and biases at 0.
func (l *Decorrelate) Learn(_, dim int, seed uint64) error {
	l.lengths, l.adversaries = []int{dim - dim/2, dim / 2}, nil
	if l.Parts != nil {
		var err error
		if l.lengths, err = splitInProportion(l.Parts, dim); err != nil {
			return err
		}
	}
	hidden := l.Hidden
	hidden = cmp.Or(hidden, 512)
	rng := rand.New(rand.NewPCG(seed, 0x6465636f72))
	start := func(name string, k int, std float64, shape ...int) *Param {
		p := newParam(fmt.Sprintf("adversary%d.%s", k, name), option.OrDefault(l.Rate, 0), shape...)
		for i := range p.Value {
			p.Value[i] = float32(std * rng.NormFloat64())
		}
		return p
	}
	for k, n := range l.lengths[1:] {
		if n == 0 { // half of an embedding of one number
			continue
		}
		l.adversaries = append(l.adversaries, &adversary{
			w1: start("w1", k+1, math.Sqrt(2/float64(n)), hidden, n), b1: start("b1", k+1, 0, hidden),
			w2: start("w2", k+1, math.Sqrt(1/float64(hidden)), l.lengths[0], hidden),
			b2: start("b2", k+1, 0, l.lengths[0]),
		})
	}
	return nil
}

// splitInProportion cuts dim numbers in parts.
func splitInProportion(parts []int, dim int) ([]int, error) {
	sum := 0
	for _, p := range parts {
		if p < 1 || p > dim {
			sum = 0
			break
		}
		sum += p
	}
	if len(parts) < 2 || sum == 0 || dim%sum != 0 {
		return nil, fmt.Errorf("decorrelate: an embedding of %d numbers is not cut in two or more parts by %d: the "+
			"sum of parts must divide network.dim", dim, parts)
	}
	out := make([]int, len(parts))
	for k, p := range parts {
		out[k] = dim / sum * p
	}
	return out, nil
}

// Params implements Learner.
func (l *Decorrelate) Params() []*Param {
	var all []*Param
	for _, a := range l.adversaries {
		all = append(all, a.w1, a.b1, a.w2, a.b2)
	}
	return all
}

// Whole implements Whole.
func (l *Decorrelate) Whole(e *matrix.Dense, weight float64, grad *matrix.Dense) float64 {
	if e.Rows == 0 {
		return 0
	}
	l.e0, l.g0 = columnView(e, 0, l.lengths[0]), columnView(grad, 0, l.lengths[0])
	if err := l.first.Set(&l.e0, true); err != nil {
		return math.NaN()
	}
	var value float64
	at := l.lengths[0]
	for _, a := range l.adversaries {
		n := a.w1.Shape[1]
		l.ek, l.gk = columnView(e, at, n), columnView(grad, at, n)
		at += n
		if err := l.other.Set(&l.ek, true); err != nil {
			return math.NaN()
		}
		a.predict(l.other.E)
		if err := l.guess.Set(&a.out, true); err != nil {
			return math.NaN()
		}
		value += l.compare()
		l.first.Backward(&l.dFirst, weight, &l.g0, true)
		l.guess.Backward(&l.dGuess, 1, &a.out, false) // whose values are no longer needed
		a.backward(l.other.E)
		l.other.Backward(&a.dPart, weight, &l.gk, true)
	}
	return value
}

// compare returns C for one further part, and its derivatives.
func (l *Decorrelate) compare() float64 {
	n, d := l.first.E.Rows, l.first.E.Cols
	reshape(&l.dFirst, n, d)
	reshape(&l.dGuess, n, d)
	var value float64
	scale := 2 / float64(n)
	for i := range n {
		a, u, da, du := l.first.E.Row(i), l.guess.E.Row(i), l.dFirst.Row(i), l.dGuess.Row(i)
		for j, x := range a {
			x, y := float64(x), float64(u[j])
			value += x * x * y * y
			da[j], du[j] = float32(scale*x*y*y), float32(scale*x*x*y)
		}
	}
	return value / float64(n)
}

// predict computes out from the part p.
func (a *adversary) predict(p *matrix.Dense) {
	a.m1, a.m2 = paramMatrix(a.w1, a.w1.Value), paramMatrix(a.w2, a.w2.Value)
	reshape(&a.hidden, p.Rows, a.m1.Rows)
	reshape(&a.out, p.Rows, a.m2.Rows)
	matrix.Gemm(false, true, 1, p, &a.m1, 0, &a.hidden)
	for i := range p.Rows {
		row := a.hidden.Row(i)
		for k, b := range a.b1.Value {
			row[k] = max(0, row[k]+b)
		}
	}
	matrix.Gemm(false, true, 1, &a.hidden, &a.m2, 0, &a.out)
	for i := range p.Rows {
		row := a.out.Row(i)
		for k, b := range a.b2.Value {
			row[k] += b
		}
	}
}

// backward takes in out the derivatives of C with respect to it. It leaves those with
// respect to the part p in dPart, and those of -C with respect to the layers in Grad.
func (a *adversary) backward(p *matrix.Dense) {
	a.g1, a.g2 = paramMatrix(a.w1, a.w1.Grad), paramMatrix(a.w2, a.w2.Grad)
	reshape(&a.dHidden, p.Rows, a.m1.Rows)
	reshape(&a.dPart, p.Rows, p.Cols)
	matrix.Gemm(true, false, -1, &a.out, &a.hidden, 0, &a.g2)
	negateColumnSums(&a.out, a.b2.Grad)
	matrix.Gemm(false, false, 1, &a.out, &a.m2, 0, &a.dHidden)
	for i := range p.Rows {
		h := a.hidden.Row(i)
		for k := range h {
			if h[k] == 0 {
				a.dHidden.Row(i)[k] = 0
			}
		}
	}
	matrix.Gemm(true, false, -1, &a.dHidden, p, 0, &a.g1)
	negateColumnSums(&a.dHidden, a.b1.Grad)
	matrix.Gemm(false, false, 1, &a.dHidden, &a.m1, 0, &a.dPart)
}

// negateColumnSums sets sums to those of m's columns, negated.
func negateColumnSums(m *matrix.Dense, sums []float32) {
	clear(sums)
	for i := range m.Rows {
		for k, v := range m.Row(i) {
			sums[k] -= v
		}
	}
}

// paramMatrix is a parameter's values or gradient as a matrix.
func paramMatrix(p *Param, data []float32) matrix.Dense {
	return matrix.Dense{Rows: p.Shape[0], Cols: p.Shape[1], Stride: p.Shape[1], Data: data}
}

// columnView is the part of m with n columns from the given one.
func columnView(m *matrix.Dense, from, n int) matrix.Dense {
	return matrix.Dense{Rows: m.Rows, Cols: n, Stride: m.Stride, Data: m.Data[from:]}
}
