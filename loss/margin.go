package loss

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/option"
)

// Margin keeps positives inside and negatives outside a learned distance beta,
// each by alpha:
//
//	L = (D_ap - beta_y + alpha)_+ for positives, (beta_y - D_an + alpha)_+ for negatives
//
// with D Euclidean (or squared by choice) and y the anchor's label. Terms are
// pairs; the default reduction divides by the number of terms that are not 0. The loss
// learns a beta for each class, or one for all if the number of classes is not known,
// with a separate learning rate.
//
// Wu et al. 2017, "Sampling matters in deep embedding learning".
//
// Use it with distance-weighted negatives, for large numbers of classes. beta adapts the radius of each class.
//
// Inside a class: positives count only beyond beta - alpha, so a class may keep that radius; far positives are still
// pulled in unless positives are easy.
type Margin struct {
	Alpha   *float64 // margin, default 0.2
	Beta    *float64 // start of beta, default 1.2
	Rate    *float64 // learning rate of beta, default 5e-4
	Single  bool     // one beta for all classes
	Squared bool     // default Euclidean
	Reduce  Reduction

	beta *Param
}

// Traits implements Loss.
func (l *Margin) Traits() Traits {
	return Traits{Measure: measureOf(!l.Squared), Reduction: l.Reduce.Or(MeanActive)}
}

// Terms implements Loss.
func (l *Margin) Terms() Terms { return PairTerms(l) }

// Learn implements Learner. Without classes there is a single beta.
func (l *Margin) Learn(classes, _ int, _ uint64) error {
	if classes < 0 {
		return fmt.Errorf("margin loss: %d classes", classes)
	}
	if l.Single || classes == 0 {
		classes = 1
	}
	l.beta = newParam("beta", option.OrDefault(l.Rate, 5e-4), classes)
	for k := range l.beta.Value {
		l.beta.Value[k] = float32(option.OrDefault(l.Beta, 1.2))
	}
	return nil
}

// Params implements Learner.
func (l *Margin) Params() []*Param { return []*Param{l.beta} }

func (l *Margin) index(label int64) int {
	if len(l.beta.Value) == 1 {
		return 0
	}
	return int(label)
}

// Pairs implements Pairs.
func (l *Margin) Pairs(label int64, positive bool, x, val, dx []float32) float64 {
	beta, alpha := l.beta.Value[l.index(label)], float32(option.OrDefault(l.Alpha, 0.2))
	sign := float32(1)
	if !positive {
		sign = -1
	}
	active := 0
	for k, d := range x {
		v := sign*(d-beta) + alpha
		if v > 0 {
			val[k], dx[k] = v, sign
			active++
		} else {
			val[k], dx[k] = 0, 0
		}
	}
	return -float64(sign) * float64(active)
}

// Learned implements PerLabel.
func (l *Margin) Learned(labels []int64, d []float64, scale float64) {
	clear(l.beta.Grad)
	for i, v := range d {
		l.beta.Grad[l.index(labels[i])] += float32(v * scale)
	}
}
