package loss

import (
	"math"

	"github.com/kindred-ml/kindred/internal/base/option"
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
