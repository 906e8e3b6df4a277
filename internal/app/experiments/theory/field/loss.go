package field

import (
	"errors"
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/loss"
)

// Loss is a triplet loss as seen from the scatter diagram.
type Loss struct {
	Name string
	// Weights returns pull = -dL/dS_ap and push = dL/dS_an at similarities
	// (S_ap, S_an). Both are >= 0 for a loss that wants S_ap up and S_an down.
	Weights func(sap, san float64) (pull, push float64)
	// Distance says that the loss reads ||x - y||² rather than x.y. On the
	// sphere 2 - 2 x.y is the same number, but the gradients with respect to
	// free vectors differ: that of the distance points along x - y.
	Distance bool
}

// FirstOrder is log(1 + exp(S_an - S_ap)), equation 1 of the paper:
// pull = push = exp(S_an) / (exp(S_ap) + exp(S_an)).
func FirstOrder() Loss {
	return Loss{Name: "first order", Weights: func(sap, san float64) (float64, float64) {
		w := sigmoid(san - sap)
		return w, w
	}}
}

// SecondOrder is log(1 + exp(S_an²/2 - S_ap + S_ap²/2)), equation 16: with w
// the sigmoid of that exponent, pull = (1 - S_ap) w and push = S_an w.
func SecondOrder() Loss {
	return Loss{Name: "second order", Weights: func(sap, san float64) (float64, float64) {
		w := sigmoid(san*san/2 - sap + sap*sap/2)
		return (1 - sap) * w, san * w
	}}
}

// Vanilla is (||a-p||² - ||a-n||² + m)_+ where it is active, as the paper
// draws it: pull = push = 2 everywhere, through distances.
func Vanilla() Loss {
	return Loss{Name: "vanilla triplet", Distance: true, Weights: func(_, _ float64) (float64, float64) {
		return 2, 2
	}}
}

func sigmoid(z float64) float64 {
	if z < 0 {
		e := math.Exp(z)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-z))
}

// FromLoss makes a Loss of one of package loss, by evaluating its derivatives for one
// anchor with one positive and one negative. Losses that read Euclidean
// distances have no derivative at S = 1; they are taken at a distance of at
// least 1e-6. A learned number, such as the margin loss's beta, has its starting
// value; a loss given by pointer is made ready for use by this.
//
// It is an error if the loss compares samples with proxies or class weights, or
// needs more of a batch than an anchor with its positive and negative.
func FromLoss(name string, l loss.Loss) (Loss, error) {
	m := l.Traits().Measure
	f, err := derivatives(l)
	if err != nil {
		return Loss{}, fmt.Errorf("loss %s: %w", name, err)
	}
	return Loss{
		Name:     name,
		Distance: m != loss.Similarity,
		Weights: func(sap, san float64) (float64, float64) {
			xp, sp := measure(m, sap)
			xn, sn := measure(m, san)
			dp, dn := f(float32(xp), float32(xn))
			return -dp * sp, dn * sn
		},
	}, nil
}

// derivatives returns dL/dx of the positive's and the negative's measure.
func derivatives(l loss.Loss) (func(xp, xn float32) (float64, float64), error) {
	traits := l.Traits()
	if _, whole := l.(loss.Whole); whole || traits.Passes > 0 || traits.CrossRows {
		return nil, errors.New("it is not defined by one triplet: it needs the whole batch")
	}
	if learner, ok := l.(loss.Learner); ok {
		if _, ok := l.(loss.PerLabel); !ok {
			return nil, errors.New("it compares samples with learned class representatives, not with samples")
		}
		if err := learner.Learn(0, 0, 0); err != nil {
			return nil, err
		}
	}
	terms := l.Terms()
	if l := terms.Tuples(); l != nil {
		return func(xp, xn float32) (float64, float64) {
			var val, dp, dn [1]float32
			l.Tuples([]float32{xp}, []float32{xn}, val[:], dp[:], dn[:])
			return float64(dp[0]), float64(dn[0])
		}, nil
	}
	if l := terms.Pairs(); l != nil {
		return func(xp, xn float32) (float64, float64) {
			var val, dp, dn [1]float32
			l.Pairs(0, true, []float32{xp}, val[:], dp[:])
			l.Pairs(0, false, []float32{xn}, val[:], dn[:])
			return float64(dp[0]), float64(dn[0])
		}, nil
	}
	if l := terms.Sets(); l != nil {
		return func(xp, xn float32) (float64, float64) {
			s := loss.Set{Pos: []float32{xp}, Neg: []float32{xn}, DPos: make([]float32, 1), DNeg: make([]float32, 1),
				Sq: 1, Anchors: 1, WithPositives: 1}
			l.Set(&s)
			return float64(s.DPos[0]), float64(s.DNeg[0])
		}, nil
	}
	return nil, fmt.Errorf("%T does not read triplets of samples", l)
}

// measure returns the value of m at similarity s and its derivative there.
func measure(m loss.Measure, s float64) (x, dx float64) {
	switch m {
	case loss.Similarity:
		return s, 1
	case loss.Squared:
		return 2 - 2*s, -2
	}
	d := max(math.Sqrt(max(0, 2-2*s)), 1e-6)
	return d, -1 / d
}
