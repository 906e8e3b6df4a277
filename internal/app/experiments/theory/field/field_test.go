package field

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
)

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s: got %.15g, want %.15g", what, got, want)
	}
}

// points calls f on random points of the square, gammas and rates, and on its
// corners and edges.
func points(f func(sap, san, gamma, rate float64)) {
	rng := rand.New(rand.NewPCG(7, 1))
	for range 3000 {
		f(2*rng.Float64()-1, 2*rng.Float64()-1, 2*rng.Float64()-1, rng.Float64())
	}
	for _, a := range []float64{-1, 0, 1} {
		for _, b := range []float64{-1, 0, 1} {
			for _, g := range []float64{-1, 0, 1} {
				f(a, b, g, 0.1)
			}
		}
	}
}

func TestPlaceHasItsSimilarities(t *testing.T) {
	points(func(sap, san, gamma, _ float64) {
		a, p, n := PlaceTriplet(sap, san, gamma)
		for _, v := range []Vec{a, p, n} {
			near(t, "norm", dot(v, v), 1, 1e-12)
		}
		near(t, "S_ap", dot(a, p), sap, 1e-12)
		near(t, "S_an", dot(a, n), san, 1e-12)
		if g, err := Gamma(sap, san, dot(p, n)); err == nil {
			near(t, "gamma", g, gamma, 1e-6)
		}
	})
}

func TestClosedFormsAgreeWithVectors(t *testing.T) {
	for _, l := range []Loss{FirstOrder(), SecondOrder(), Vanilla()} {
		points(func(sap, san, gamma, rate float64) {
			c := Config{Rate: rate, Gamma: gamma}
			pull, push := l.Weights(sap, san)
			ap, an := ClosedChange(rate*pull, rate*push, gamma, sap, san)
			if l.Distance {
				ap, an = ClosedVanilla(rate*pull, gamma, sap, san)
				if 1-rate*pull < 0.1 { // the positive may be thrown through the origin
					return
				}
			}
			gap, gan := DirectChange(l, c, sap, san)
			near(t, l.Name+" S_ap", gap, ap, 1e-10)
			near(t, l.Name+" S_an", gan, an, 1e-10)
		})
	}
}

// The printed equations 23 and 24 for the second order are misprints: they
// miss the exact change by far more than rounding.
func TestPrintedSecondOrderEquationsAreWrong(t *testing.T) {
	const sap, san, gamma, rate = 0.6, 0.5, 0.5, 0.5
	w, v := 1-sap, san
	b := rate * sigmoid(san*san/2-sap+sap*sap/2)
	spn := sap*san + gamma*sine(sap)*sine(san)
	a, p, n := PlaceTriplet(sap, san, gamma)
	a = add(add(a, b*w, p), -b*v, n)
	p, n = add(p, b*w, Vec{1, 0, 0}), add(n, -b*v, Vec{1, 0, 0})
	near(t, "corrected 23", dot(a, p), (1+w*w*b*b)*sap+2*w*b-v*b*spn-w*v*b*b*san, 1e-12)
	near(t, "corrected 24", dot(a, n), (1+v*v*b*b)*san-2*v*b+w*b*spn-w*v*b*b*sap, 1e-12)
	printed23 := (1+w*b)*sap + 2*w*b - v*b*spn - w*v*b*san
	printed24 := (1+v*b)*sap - 2*v*b + w*b*spn - w*v*b*sap
	if math.Abs(printed23-dot(a, p)) < 0.01 || math.Abs(printed24-dot(a, n)) < 0.01 {
		t.Errorf("printed %g, %g against %g, %g", printed23, printed24, dot(a, p), dot(a, n))
	}
}

// Weights are the derivatives of the losses they are named after.
func TestWeightsAreDerivatives(t *testing.T) {
	values := map[string]func(sap, san float64) float64{
		"first order":     func(p, n float64) float64 { return math.Log1p(math.Exp(n - p)) },
		"second order":    func(p, n float64) float64 { return math.Log1p(math.Exp(n*n/2 - p + p*p/2)) },
		"vanilla triplet": func(p, n float64) float64 { return (2 - 2*p) - (2 - 2*n) },
	}
	const h = 1e-5
	for _, l := range []Loss{FirstOrder(), SecondOrder(), Vanilla()} {
		f := values[l.Name]
		points(func(sap, san, _, _ float64) {
			pull, push := l.Weights(sap, san)
			near(t, l.Name+" pull", pull, -(f(sap+h, san)-f(sap-h, san))/(2*h), 1e-8)
			near(t, l.Name+" push", push, (f(sap, san+h)-f(sap, san-h))/(2*h), 1e-8)
		})
	}
}

// A step with the gradient taken through the normalisation, of a small size,
// lowers the loss: it is a gradient step of it.
func TestTangentStepIsGradientDescent(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 500 {
		sap, san, g := 2*rng.Float64()-1, 2*rng.Float64()-1, 2*rng.Float64()-1
		c := Config{Rate: 1e-5, Gamma: g, Tangent: true}
		dp, dn := DirectChange(FirstOrder(), c, sap, san)
		if dp-dn < -1e-15 {
			t.Fatalf("at (%g, %g), gamma %g: S_ap - S_an fell by %g", sap, san, g, dn-dp)
		}
	}
}

// On the sphere the free and the tangent step agree to first order in the rate.
func TestFreeAndTangentStepsAgreeForSmallRates(t *testing.T) {
	for _, l := range []Loss{FirstOrder(), SecondOrder(), Vanilla()} {
		points(func(sap, san, gamma, _ float64) {
			const r = 1e-5
			a, b := DirectChange(l, Config{Rate: r, Gamma: gamma}, sap, san)
			c, d := DirectChange(l, Config{Rate: r, Gamma: gamma, Tangent: true}, sap, san)
			near(t, l.Name, a, c, 100*r*r)
			near(t, l.Name, b, d, 100*r*r)
		})
	}
}

func TestEntanglement(t *testing.T) {
	c := Config{Gamma: 0.5}
	dp, dn := DirectChange(FirstOrder(), c, 0.6, 0.3)
	c.Entangle = 0.4
	tp, tn := Change(FirstOrder(), c, 0.6, 0.3)
	q := math.Sqrt(0.18)
	near(t, "root ap", tp, dp+0.4*q*dn, 1e-15)
	near(t, "root an", tn, dn+0.4*q*dp, 1e-15)
	c.Rule = Product
	tp, tn = Change(FirstOrder(), c, 0.6, 0.3)
	near(t, "product ap", tp, dp+0.4*0.18*dn, 1e-15)
	near(t, "product an", tn, dn+0.4*0.18*dp, 1e-15)
	c.Rule = Root
	if a, b := Change(FirstOrder(), c, -0.5, 0.5); math.IsNaN(a) || math.IsNaN(b) {
		t.Error("NaN where the similarities differ in sign")
	}
}

// What the paper shows in its figures 2 and 5, as figures: near (1, 1) the
// entangled first order pulls the negative nearer on a good part of the corner,
// and the second order on almost none of it. What it does not say: the second
// order pays with S_ap, which falls on most of the corner.
func TestSecondOrderFreesTheCorner(t *testing.T) {
	for _, gamma := range []float64{0.2, 0.5, 0.8} {
		for _, p := range []float64{0.4, 0.8} {
			c := Config{Gamma: gamma, Entangle: p}
			first, second := must(Map(context.Background(), FirstOrder(), c, 0, 200)),
				must(Map(context.Background(), SecondOrder(), c, 0, 200))
			f, s := first.Shares(0.8), second.Shares(0.8)
			if f.ToCorner < 0.15 || f.NegativeNear < 0.15 {
				t.Errorf("gamma %g, p %g: the first order moves only %.3f towards (1, 1)", gamma, p, f.ToCorner)
			}
			if s.ToCorner > 0.04 || s.NegativeNear > 0.04 {
				t.Errorf("gamma %g, p %g: the second order still moves %.3f towards (1, 1)", gamma, p, s.ToCorner)
			}
			if f.PositiveAway > s.PositiveAway || s.PositiveAway < 0.85 {
				t.Errorf("gamma %g, p %g: S_ap falls on %.3f (first) and %.3f (second) of the corner", gamma, p,
					f.PositiveAway, s.PositiveAway)
			}
			// §6.1: no movement up and to the left in any model.
			for _, g := range []Grid{first, second, must(Map(context.Background(), Vanilla(), c, 0, 200))} {
				if b := g.Shares(0).Both; b != 0 {
					t.Errorf("gamma %g, p %g: S_ap falls and S_an rises on %.4f", gamma, p, b)
				}
			}
		}
	}
}

// Over the whole square the second order is not the safer one at large gamma.
func TestSecondOrderAwayFromTheCorner(t *testing.T) {
	c := Config{Gamma: 0.8, Entangle: 0.8}
	f, s := must(Map(context.Background(), FirstOrder(), c, 0, 200)).Shares(0),
		must(Map(context.Background(), SecondOrder(), c, 0, 200)).Shares(0)
	if s.NegativeNear < 2*f.NegativeNear {
		t.Errorf("S_an rises on %.3f (second) and %.3f (first)", s.NegativeNear, f.NegativeNear)
	}
}

func TestSharesOfKnownGrid(t *testing.T) {
	g := Grid{N: 2, AP: [][]float64{{1, -1}, {-1, 0}}, AN: [][]float64{{1, 1}, {-2, 0}}}
	got := g.Shares(0)
	want := Shares{PositiveAway: 0.5, NegativeNear: 0.5, Both: 0.25, ToCorner: 0.25, Worse: 0.25}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if g.Shares(0.5) != (Shares{}) {
		t.Error("the corner cell does not move")
	}
	if g.Shares(2) != (Shares{}) {
		t.Error("an empty part has no shares")
	}
}

func TestOfLibraryLoss(t *testing.T) {
	for _, euclid := range []bool{false, true} {
		l, err := FromLoss("triplet", loss.Triplet{Euclidean: euclid})
		if err != nil {
			t.Fatal(err)
		}
		// Active: D_ap > D_an - 0.2.
		pull, push := l.Weights(0.2, 0.7)
		wantPull, wantPush := 2.0, 2.0
		if euclid {
			wantPull, wantPush = 1/math.Sqrt(1.6), 1/math.Sqrt(0.6)
		}
		near(t, "pull", pull, wantPull, 1e-6)
		near(t, "push", push, wantPush, 1e-6)
		if a, b := l.Weights(0.9, 0); a != 0 || b != 0 {
			t.Errorf("inactive triplet: %g, %g", a, b)
		}
		if a, b := l.Weights(1, 1); math.IsInf(a, 0) || math.IsNaN(b) {
			t.Errorf("at (1, 1): %g, %g", a, b)
		}
		if !l.Distance {
			t.Error("the triplet loss reads distances")
		}
	}
}

func TestNearest(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const n, d = 40, 6
	e := matrix.New(n, d)
	labels := make([]int64, n)
	for i := range n {
		labels[i] = int64(i % 5)
		for j := range d {
			e.Row(i)[j] = float32(rng.NormFloat64())
		}
	}
	labels[39] = 99 // a singleton: no positive
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	s, err := Nearest(context.Background(), e, labels, all)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Anchor) != n-1 {
		t.Fatalf("%d triplets", len(s.Anchor))
	}
	cos := func(i, j int) float64 {
		var ab, aa, bb float64
		for k := range d {
			x, y := float64(e.At(i, k)), float64(e.At(j, k))
			ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
		}
		return ab / math.Sqrt(aa*bb)
	}
	for k, a := range s.Anchor {
		bestP, bestN := -2.0, -2.0
		for j := range n {
			if j == a {
				continue
			}
			if c := cos(a, j); labels[j] == labels[a] {
				bestP = max(bestP, c)
			} else {
				bestN = max(bestN, c)
			}
		}
		near(t, "S_ap", s.AP[k], bestP, 1e-12)
		near(t, "S_an", s.AN[k], bestN, 1e-12)
	}
	moved, err := s.At(e)
	if err != nil || moved.AP[0] != s.AP[0] {
		t.Error("At on the same embeddings must change nothing")
	}
	e.Row(3)[2] = float32(math.NaN())
	if _, err := Nearest(context.Background(), e, labels, all); err == nil {
		t.Error("NaN accepted")
	}
}

// Triplets moved by the field itself agree with it.
func TestAgreementWithItself(t *testing.T) {
	c := Config{Gamma: 0.5, Entangle: 0.3}
	var a, b, back Scatter
	for k := range 50 {
		x, y := 0.1+0.015*float64(k), 0.9-0.012*float64(k)
		u, v := Change(FirstOrder(), c, x, y)
		a.AP, a.AN, a.Gamma = append(a.AP, x), append(a.AN, y), append(a.Gamma, 0.5)
		b.AP, b.AN = append(b.AP, x+u), append(b.AN, y+v)
		back.AP, back.AN = append(back.AP, x-u), append(back.AN, y-v)
	}
	if g, n := Agreement(a, b, FirstOrder(), c); g < 1-1e-12 || n != 50 {
		t.Errorf("agreement %g over %d", g, n)
	}
	if g, _ := Agreement(a, back, FirstOrder(), c); g > -1+1e-12 {
		t.Errorf("agreement with the reverse %g", g)
	}
}

// must is for calls that only a cancelled context makes fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
