package field

import (
	"errors"
	"math"

	"github.com/kindred-ml/kindred/internal/base/enum"
)

// Config says which step is taken.
type Config struct {
	// Rate is the step size; 0 means 0.1. The paper does not state its own.
	Rate float64
	// Gamma, in [-1, 1], is the cosine between the directions from the anchor
	// to the positive and to the negative: S_pn = S_ap S_an + Gamma
	// sqrt(1-S_ap²) sqrt(1-S_an²). At 0 they are perpendicular.
	Gamma float64
	// Entangle is the paper's p: how much the change of one similarity drags
	// the other along (they are both made by the same network weights). The
	// total changes are
	//	S_ap: change_ap + p q change_an,  S_an: change_an + p q change_ap
	Entangle float64
	// Rule is the paper's q.
	Rule Rule
	// Tangent lets the gradient flow through the normalisation to the sphere,
	// as it does where that is the network's last layer. Otherwise vectors
	// take a free step and are normalised after it, which is what the paper
	// draws.
	Tangent bool
}

func (c Config) rate() float64 {
	if c.Rate == 0 {
		return 0.1
	}
	return c.Rate
}

// Rule is how the entanglement q depends on the similarities. Where their
// product is negative, q is 0. Its text is "root" or "product".
type Rule uint8

// The rules.
const (
	Root    Rule = iota // q = sqrt(S_ap S_an), the 2019 manuscript
	Product             // q = S_ap S_an, its 2020 successor
)

var ruleNames = enum.New[Rule]("Rule", "rule of entanglement", "root", "product")

// String gives the text of r.
func (r Rule) String() string { return ruleNames.Name(r) }

// MarshalText gives the text of r.
func (r Rule) MarshalText() ([]byte, error) { return ruleNames.Marshal(r) }

// UnmarshalText reads the text of a Rule.
func (r *Rule) UnmarshalText(text []byte) error { return ruleNames.Unmarshal(r, text) }

// Q returns the entanglement factor at a point.
func (r Rule) Q(sap, san float64) float64 {
	q := max(0, sap*san)
	if r == Root {
		return math.Sqrt(q)
	}
	return q
}

// Vec is a point of R³.
type Vec [3]float64

func dot(a, b Vec) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

// add returns a + s b.
func add(a Vec, s float64, b Vec) Vec { return Vec{a[0] + s*b[0], a[1] + s*b[1], a[2] + s*b[2]} }

func unit(a Vec) Vec { return add(Vec{}, 1/math.Sqrt(dot(a, a)), a) }

// PlaceTriplet returns unit vectors with the given similarities and gamma: three
// dimensions hold any triplet.
func PlaceTriplet(sap, san, gamma float64) (a, p, n Vec) {
	tp, tn := sine(sap), sine(san)
	return Vec{1, 0, 0}, Vec{sap, tp, 0}, Vec{san, gamma * tn, math.Sqrt(max(0, 1-gamma*gamma)) * tn}
}

func sine(s float64) float64 { return math.Sqrt(max(0, 1-s*s)) }

// errGamma is the error of Gamma.
var errGamma = errors.New("the angle at the anchor is not defined: the positive or the negative lies on it or " +
	"opposite to it")

// Gamma returns the gamma of three unit vectors given their similarities. It is an
// error if it is not defined: where the positive or the negative lies on the anchor
// or opposite to it.
func Gamma(sap, san, spn float64) (float64, error) {
	t := sine(sap) * sine(san)
	if t < 1e-9 {
		return 0, errGamma
	}
	return min(1, max(-1, (spn-sap*san)/t)), nil
}

// Move takes one gradient step on unit vectors and returns them normalised.
func Move(l Loss, c Config, a, p, n Vec) (a2, p2, n2 Vec) {
	pull, push := l.Weights(dot(a, p), dot(a, n))
	// Descent directions: those of S, or those of -D²/2, which also hold the
	// parts along the vectors themselves.
	da := add(add(Vec{}, pull, p), -push, n)
	dp := add(Vec{}, pull, a)
	dn := add(Vec{}, -push, a)
	if l.Distance {
		da = add(da, push-pull, a)
		dp = add(dp, -pull, p)
		dn = add(dn, push, n)
	}
	if c.Tangent {
		da, dp, dn = add(da, -dot(da, a), a), add(dp, -dot(dp, p), p), add(dn, -dot(dn, n), n)
	}
	r := c.rate()
	return unit(add(a, r, da)), unit(add(p, r, dp)), unit(add(n, r, dn))
}

// DirectChange returns the changes of S_ap and S_an in one step without
// entanglement. The similarities are those of unit vectors, in [-1, 1].
func DirectChange(l Loss, c Config, sap, san float64) (dap, dan float64) {
	a, p, n := PlaceTriplet(sap, san, c.Gamma)
	a, p, n = Move(l, c, a, p, n)
	return dot(a, p) - sap, dot(a, n) - san
}

// Change returns the changes of S_ap and S_an in one step with entanglement.
func Change(l Loss, c Config, sap, san float64) (dap, dan float64) {
	dap, dan = DirectChange(l, c, sap, san)
	k := c.Entangle * c.Rule.Q(sap, san)
	return dap + k*dan, dan + k*dap
}
