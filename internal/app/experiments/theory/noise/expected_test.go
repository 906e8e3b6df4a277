package noise

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// allLosses lists every combination that means something.
func allLosses() []Loss {
	var out []Loss
	for _, k := range []Kind{Triplet, Margin, Contrastive} {
		for _, easy := range []bool{false, true} {
			for _, alpha := range []float64{0, 0.3} {
				out = append(out, Loss{Kind: k, Easy: easy, Alpha: alpha})
			}
		}
	}
	return append(out, Loss{Self: true}, Loss{Self: true, Alpha: 0.3})
}

func randomPoints(rng *rand.Rand, n, dim int) Points {
	p := Points{Dim: dim, X: make([]float64, n*dim)}
	for i := range p.X {
		p.X[i] = rng.NormFloat64()
	}
	return p
}

func randomBeta(rng *rand.Rand, n int) []float64 {
	b := make([]float64, n)
	for i := range b {
		b[i] = 0.5 + rng.Float64()
	}
	return b
}

// enumerate calls f with every labelling and its probability.
func enumerate(m Model, f func(y []int, prob float64)) {
	y := make([]int, m.N())
	var fill func(i int, prob float64)
	fill = func(i int, prob float64) {
		if i == len(y) {
			f(y, prob)
			return
		}
		for r := range m.T {
			y[i] = r
			q := m.P
			if r != m.Own[i] {
				q = (1 - m.P) / float64(m.T-1)
			}
			fill(i+1, prob*q)
		}
	}
	fill(0, 1)
}

func TestExpectedIsTheMeanOverAllLabellings(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ t, s int }{{2, 3}, {2, 4}, {3, 2}, {4, 1}} {
		for _, p := range []float64{0.3, 0.6, 0.85, 1} {
			m, err := Balanced(c.t, c.s, p)
			if err != nil {
				t.Fatal(err)
			}
			pts := randomPoints(rng, m.N(), 2)
			copy(pts.Row(1), pts.Row(0)) // a pair at distance 0 ties all its distances
			d, beta := pts.Distances(), randomBeta(rng, m.N())
			for _, l := range allLosses() {
				want, total := 0.0, 0.0
				enumerate(m, func(y []int, prob float64) {
					want += prob * Observed(l, y, d, beta)
					total += prob
				})
				if math.Abs(total-1) > 1e-12 {
					t.Fatalf("probabilities add up to %g", total)
				}
				got := NewEval(m, l).Expected(d, beta, nil, nil)
				if math.Abs(got-want) > 1e-12*max(1, want) {
					t.Errorf("%v, alpha %g, t %d, s %d, p %g: %.15g, by enumeration %.15g", l, l.alpha(), c.t, c.s, p,
						got, want)
				}
			}
		}
	}
}

// Observed against values worked by hand: points 0, 1, 3 on the line with
// labels a, a, b, and alpha 1, beta 1.
func TestObservedByHand(t *testing.T) {
	d := Points{Dim: 1, X: []float64{0, 1, 3}}.Distances()
	beta := []float64{1, 1, 1}
	for _, c := range []struct {
		l    Loss
		want float64
	}{
		{Loss{}, 0},                                 // (1-3+1)+ = 0, (1-2+1)+ = 0
		{Loss{Alpha: 2}, (0 + 1) / 27.0},            // (1-2+2)+ = 1
		{Loss{Alpha: 4, Self: true}, 12 / 27.0},     // 2 + 3, and self (4-3)+ + (4-2)+ + (4-3)+ + (4-2)+
		{Loss{Kind: Margin}, 2 / 9.0},               // (1-1+1) twice; negatives 3, 2: (1-3+1)+ = (1-2+1)+ = 0
		{Loss{Kind: Contrastive, Alpha: 3}, 4 / 9.}, // 1 + 1 and (3-3)+ + (3-2)+ twice
		{Loss{Alpha: 4, Easy: true}, 5 / 3.0},
	} {
		want := c.want
		if c.l.Self { // positive terms 1-3+4 = 2 and 1-2+4 = 3, self terms 1, 2 and for the third point 1, 2
			want = (2 + 3 + 1 + 2 + 1 + 2) / 27.0
		}
		if got := Observed(c.l, []int{0, 0, 1}, d, beta); math.Abs(got-want) > 1e-15 {
			t.Errorf("%v, alpha %g: %g, want %g", c.l, c.l.alpha(), got, want)
		}
	}
}

func TestGradientsByFiniteDifferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	const h = 1e-6
	for _, c := range []struct{ t, s int }{{2, 4}, {3, 3}} {
		m, _ := Balanced(c.t, c.s, 0.7)
		n := m.N()
		for _, l := range allLosses() {
			e := NewEval(m, l)
			d, beta := randomPoints(rng, n, 3).Distances(), randomBeta(rng, n)
			dd, db := make([]float64, n*n), make([]float64, n)
			e.Expected(d, beta, dd, db)
			diff := func(x *float64) float64 {
				old := *x
				*x = old + h
				up := e.Expected(d, beta, nil, nil)
				*x = old - h
				down := e.Expected(d, beta, nil, nil)
				*x = old
				return (up - down) / (2 * h)
			}
			for i := range n {
				for j := range n {
					if i == j {
						continue
					}
					if num := diff(&d[i*n+j]); math.Abs(num-dd[i*n+j]) > 1e-7 {
						t.Fatalf("%v, t %d: d/dD[%d,%d] = %g, by differences %g", l, c.t, i, j, dd[i*n+j], num)
					}
				}
				if l.Kind == Margin {
					if num := diff(&beta[i]); math.Abs(num-db[i]) > 1e-7 {
						t.Fatalf("%v: d/dbeta[%d] = %g, by differences %g", l, i, db[i], num)
					}
				}
			}
		}
	}
}

// The chain from distances to points, plain and squared.
func TestPointGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 3))
	m, _ := Balanced(2, 3, 0.8)
	for _, squared := range []bool{false, true} {
		e := NewEval(m, Loss{Squared: squared})
		p := randomPoints(rng, m.N(), 2)
		n := m.N()
		d, dd, g := make([]float64, n*n), make([]float64, n*n), make([]float64, len(p.X))
		value := func() float64 {
			p.distances(d, squared)
			return e.Expected(d, nil, dd, nil)
		}
		value()
		p.gradient(d, dd, g, squared)
		want := slices.Clone(g)
		for k := range p.X {
			const h = 1e-6
			old := p.X[k]
			p.X[k] = old + h
			up := value()
			p.X[k] = old - h
			down := value()
			p.X[k] = old
			if num := (up - down) / (2 * h); math.Abs(num-want[k]) > 1e-7 {
				t.Errorf("squared %v, coordinate %d: %g, by differences %g", squared, k, want[k], num)
			}
		}
	}
}

// With Easy the loss is continuous where two neighbours swap places: it does
// not matter how ties are broken.
func TestEasyIsContinuousAtTies(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	m, _ := Balanced(3, 3, 0.7)
	n := m.N()
	for _, k := range []Kind{Triplet, Margin, Contrastive} {
		e := NewEval(m, Loss{Kind: k, Easy: true})
		for range 50 {
			d := make([]float64, n)
			for j := range d {
				d[j] = rng.Float64() * 2
			}
			a, b := 1+rng.IntN(n-1), 1+rng.IntN(n-1)
			if a == b {
				continue
			}
			d[a] = d[b]
			tied := e.Anchor(0, d, 1)
			for _, eps := range []float64{1e-9, -1e-9} {
				d[b] = d[a] + eps
				if v := e.Anchor(0, d, 1); math.Abs(v-tied) > 1e-7 {
					t.Fatalf("%v: %g at the tie, %g beside it", k, tied, v)
				}
			}
		}
	}
}

func TestMonteCarloAgrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 2))
	m, _ := Balanced(3, 4, 0.7)
	d, beta := randomPoints(rng, m.N(), 2).Distances(), randomBeta(rng, m.N())
	for _, l := range allLosses() {
		exact := NewEval(m, l).Expected(d, beta, nil, nil)
		mean, se, err := MonteCarlo(context.Background(), m, l, d, beta, 4000, 3)
		if err != nil {
			t.Fatal(err)
		}
		if !(se > 0) || math.Abs(mean-exact) > 4.5*se {
			t.Errorf("%v: exact %g, drawn %g ± %g", l, exact, mean, se)
		}
	}
}

func TestSameBitsOnAnyNumberOfCores(t *testing.T) {
	m, _ := Balanced(2, 4, 0.8)
	run := func(procs int) string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		r := must(Minimise(context.Background(), m, Loss{Easy: true}, Search{Iterations: 60, Restarts: 5, Seed: 9}))
		d := r[0].Distances
		mean, se, err := MonteCarlo(context.Background(), m, Loss{}, d, nil, 3000, 5)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%b %b %b %b", r[0].Points.X, r[4].Value, mean, se)
	}
	if a, b := run(1), run(4); a != b {
		t.Error("results differ with GOMAXPROCS")
	}
}

func TestDegenerateModels(t *testing.T) {
	for _, c := range []struct {
		t, s int
		p    float64
	}{{1, 3, 0.8}, {2, 0, 0.8}, {2, 3, 1.1}, {2, 3, math.NaN()}, {2, 3, -0.1}} {
		if _, err := Balanced(c.t, c.s, c.p); err == nil {
			t.Errorf("accepted %+v", c)
		}
	}
	// Singleton classes and all points in one place.
	m, _ := Balanced(2, 1, 0.9)
	d := make([]float64, 4)
	for _, l := range allLosses() {
		if v := NewEval(m, l).Expected(d, []float64{1, 1}, make([]float64, 4), make([]float64, 2)); math.IsNaN(v) ||
			v < 0 {
			t.Errorf("%v of two equal points: %g", l, v)
		}
	}
	if _, err := ModeCost(Loss{}, 2, 5, 2, 0.8, 0, 0); err == nil {
		t.Error("5 points in 2 equal modes")
	}
}

func TestModes(t *testing.T) {
	m, _ := Balanced(2, 3, 0.8)
	d := Points{Dim: 1, X: []float64{0, 0.4, 0.8, 5, 7, 7.1}}.Distances()
	if g := Modes(m, d, 0.5); !slices.Equal(g, []int{1, 2}) {
		t.Errorf("modes %v", g)
	}
	if w := Diameters(m, d); math.Abs(w[0]-0.8) > 1e-12 || math.Abs(w[1]-2.1) > 1e-12 {
		t.Errorf("diameters %v", w)
	}
}
