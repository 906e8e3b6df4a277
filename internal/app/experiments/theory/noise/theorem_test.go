package noise

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

func minimise(t *testing.T, classes, size int, p float64, l Loss, s Search) []Minimum {
	t.Helper()
	m, err := Balanced(classes, size, p)
	if err != nil {
		t.Fatal(err)
	}
	if s.Restarts == 0 {
		s.Restarts = 4
	}
	return must(Minimise(context.Background(), m, l, s))
}

// Theorems 1 and 2, in a space of few dimensions: every class of the best
// minimum found is one point, to 1e-3 of the margin.
func TestTheorems1And2(t *testing.T) {
	for _, c := range []struct{ t, s int }{{2, 4}, {2, 7}, {3, 4}} {
		for _, p := range []float64{0.6, 0.75, 0.9, 0.97} {
			for _, l := range []Loss{{}, {Squared: true}, {Kind: Margin}, {Kind: Contrastive}} {
				s := Search{Restarts: 3}
				r := minimise(t, c.t, c.s, p, l, s)
				widest := r[0].Widest()
				if l.Squared { // in the loss's own distance, whose slope is 0 at 0
					widest *= widest
				}
				if widest > 1e-3 {
					t.Errorf("%v, %d classes of %d, p %g: diameters %v", l, c.t, c.s, p, r[0].Diameters)
				}
			}
		}
	}
}

// The minimum is the one of the proof: classes alpha apart (2 alpha for the
// margin loss with beta = alpha), where two classes allow it.
func TestMinimumHasTheProofsDistances(t *testing.T) {
	r := minimise(t, 2, 5, 0.8, Loss{}, Search{})
	if d := r[0].Distances[5]; math.Abs(d-1) > 1e-3 {
		t.Errorf("triplet: classes %g apart", d)
	}
	r = minimise(t, 2, 5, 0.8, Loss{Kind: Margin}, Search{})
	if d := r[0].Distances[5]; math.Abs(d-2) > 1e-3 || math.Abs(r[0].Beta[0]-1) > 1e-3 {
		t.Errorf("margin: classes %g apart, beta %g", d, r[0].Beta[0])
	}
}

// Without noise the triplet and the margin loss have wide minimisers of value
// 0; the contrastive loss collapses all the same.
func TestNoNoiseAllowsWideClasses(t *testing.T) {
	for _, l := range []Loss{{}, {Kind: Margin}} {
		wide := 0.0
		for _, r := range minimise(t, 2, 6, 1, l, Search{}) {
			if r.Value < 1e-12 {
				wide = max(wide, r.Widest())
			}
		}
		if wide < 0.3 {
			t.Errorf("%v: widest class of a minimiser %g", l, wide)
		}
	}
	if r := minimise(t, 2, 6, 1, Loss{Kind: Contrastive}, Search{}); r[0].Widest() > 1e-3 {
		t.Errorf("contrastive: %v", r[0].Diameters)
	}
}

// A condition the theorems leave unstated: the space must have fewer than
// n - 1 dimensions. In n - 1 dimensions the points of a class can all be at one
// distance w from each other and at w + alpha (w + 2 alpha) from all others, and
// that costs the same for every w >= 0.
func TestTheoremsFailInManyDimensions(t *testing.T) {
	for _, l := range []Loss{{}, {Kind: Margin}} {
		m, _ := Balanced(2, 3, 0.8)
		collapsed := minimise(t, 2, 3, 0.8, l, Search{Dim: 2, Restarts: 8})[0]
		if collapsed.Widest() > 1e-3 {
			t.Fatalf("%v in 2 dimensions: %v", l, collapsed.Diameters)
		}
		wide := must(Minimise(context.Background(), m, l, Search{Dim: 5}))[0]
		if wide.Widest() < 0.5 || wide.Value > collapsed.Value+1e-6 {
			t.Errorf("%v in 5 dimensions: value %.9f (collapsed %.9f), diameters %v", l, wide.Value, collapsed.Value,
				wide.Diameters)
		}
	}
	// The same from the distances themselves, exactly: value as a function of w.
	m, _ := Balanced(2, 3, 0.8)
	for _, l := range []Loss{{}, {Kind: Margin}} {
		far := 1.0
		if l.Kind == Margin {
			far = 2
		}
		at := func(w float64) float64 {
			d, beta := make([]float64, 36), make([]float64, 6)
			for i := range 6 {
				beta[i] = w + 1
				for j := range 6 {
					if d[i*6+j] = w + far; i == j {
						d[i*6+j] = 0
					} else if m.Own[i] == m.Own[j] {
						d[i*6+j] = w
					}
				}
			}
			return NewEval(m, l).Expected(d, beta, nil, nil)
		}
		if a, b := at(0), at(1.7); math.Abs(a-b) > 1e-12 {
			t.Errorf("%v: %g for w = 0, %g for w = 1.7", l, a, b)
		}
	}
}

// A second one: with t > 2 classes p > 1/2 is not enough for the losses on
// pairs. Two points of a class must agree more often than not,
// p² + (1-p)²/(t-1) > 1/2; otherwise they are pushed apart.
func TestPairLossesNeedAgreement(t *testing.T) {
	for _, l := range []Loss{{Kind: Margin}, {Kind: Contrastive}} {
		for _, c := range []struct {
			p    float64
			wide bool
		}{{0.6, true}, {0.8, false}} {
			m, _ := Balanced(4, 3, c.p)
			if agree := m.Agree(0, 0) > 0.5; agree == c.wide {
				t.Fatalf("p %g: agreement %g", c.p, m.Agree(0, 0))
			}
			s := Search{Dim: 11, Restarts: 4, Beta: 1} // beta = alpha, so that 0 is within reach
			r := must(Minimise(context.Background(), m, l, s))[0]
			if (r.Widest() > 0.5) != c.wide {
				t.Errorf("%v, 4 classes, p %g: diameters %v", l, c.p, r.Diameters)
			}
		}
	}
	// The triplet loss needs only p != 1/t.
	if r := minimise(t, 4, 3, 0.55, Loss{}, Search{}); r[0].Widest() > 1e-3 {
		t.Errorf("triplet, 4 classes, p 0.55: %v", r[0].Diameters)
	}
}

// A third: a margin loss whose beta is held above alpha does not collapse a
// class; within it points are pushed to beta - alpha (the libraries' customary
// beta 1.2 and alpha 0.2 give 1.0).
func TestFixedBetaKeepsWidth(t *testing.T) {
	l := Loss{Kind: Margin, Alpha: 0.2}
	r := minimise(t, 2, 2, 0.8, l, Search{Dim: 3, Beta: 1.2})
	for _, w := range r[0].Diameters {
		if math.Abs(w-1) > 1e-3 {
			t.Errorf("diameter %g, want beta - alpha = 1", w)
		}
	}
}

// A fourth: the paper's sum runs over all i, j, k, and taken to the letter it
// holds the self-pairs j = i, which are certain to agree and so push all other
// points away. For few points at low p they win, and classes stay wide; for
// more points or less noise the theorem is back.
func TestSelfPairs(t *testing.T) {
	l := Loss{Self: true}
	if r := minimise(t, 2, 4, 0.6, l, Search{Restarts: 8}); r[0].Widest() < 0.5 {
		t.Errorf("8 points, p 0.6: %v", r[0].Diameters)
	}
	if r := minimise(t, 2, 8, 0.9, l, Search{}); r[0].Widest() > 1e-3 {
		t.Errorf("16 points, p 0.9: %v", r[0].Diameters)
	}
}

// With EPS the best minimum found is wide, in several groups, and costs less
// than the collapsed arrangement, for all p of the range.
func TestEasyPositivesKeepModes(t *testing.T) {
	for _, c := range []struct{ t, s int }{{2, 6}, {3, 6}} {
		for _, p := range []float64{0.55, 0.7, 0.85, 0.95} {
			m, _ := Balanced(c.t, c.s, p)
			l := Loss{Easy: true}
			r := must(Minimise(context.Background(), m, l, Search{Restarts: 3, Iterations: 800}))[0]
			groups := Modes(m, r.Distances, 0.5)
			if r.Widest() < 1 {
				t.Errorf("t %d, p %g: diameters %v, groups %v", c.t, p, r.Diameters, groups)
			}
			flat := Points{Dim: 2, X: make([]float64, 2*m.N())}
			for i, k := range m.Own { // classes alpha apart, each one point
				a := 2 * math.Pi * float64(k) / float64(m.T)
				radius := 0.5 / math.Sin(math.Pi/float64(m.T))
				flat.Row(i)[0], flat.Row(i)[1] = radius*math.Cos(a), radius*math.Sin(a)
			}
			if v := NewEval(m, l).Expected(flat.Distances(), nil, nil, nil); r.Value >= v {
				t.Errorf("t %d, p %g: %g is not below the collapsed %g", c.t, p, r.Value, v)
			}
		}
	}
}

func TestModeCostAgreesWithExpected(t *testing.T) {
	for _, k := range []Kind{Triplet, Margin, Contrastive} {
		l := Loss{Kind: k, Easy: true, Alpha: 0.7}
		for _, apart := range []float64{0.6, 1, 2} {
			for _, modes := range []int{1, 2, 3, 6} {
				m, _ := Balanced(3, 6, 0.65)
				d := make([]float64, m.N())
				for j := 6 / modes; j < len(d); j++ {
					d[j] = apart * 0.7
				}
				want := NewEval(m, l).Anchor(0, d, 0.9)
				got, err := ModeCost(l, 3, 6, modes, 0.65, apart, 0.9)
				if err != nil || math.Abs(got-want) > 1e-12*want {
					t.Errorf("%v, %d modes, apart %g: %g, want %g (%v)", l, modes, apart, got, want, err)
				}
			}
		}
	}
}

// The least beta of a piecewise linear cost is found.
func TestModeCostBeta(t *testing.T) {
	l := Loss{Kind: Margin, Easy: true}
	for _, p := range []float64{0.6, 0.9} {
		best, _ := ModeCost(l, 2, 8, 2, p, 1, 0)
		for b := -1.5; b < 3; b += 0.01 {
			if v, _ := ModeCost(l, 2, 8, 2, p, 1, b+1e-9); v < best-1e-9 {
				t.Errorf("p %g: %g at beta %g, but the least was said to be %g", p, v, b, best)
			}
		}
	}
}

// Claim 1: with EPS two modes cost less than one from some n on, and without
// EPS they never do. What the paper leaves open is how large n must be: at most
// 12 for two classes whatever p, but growing with the number of classes and
// with 1/(1-p).
func TestClaim1(t *testing.T) {
	first := func(classes int, p float64, most int) int {
		c, err := CompareModes(context.Background(), Loss{Easy: true}, classes, most, p, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return FirstPreferred(c)
	}
	for _, p := range []float64{0.51, 0.6, 0.75, 0.9, 0.99} {
		if n := first(2, p, 400); n != 12 {
			t.Errorf("2 classes, p %g: n = %d", p, n)
		}
		plain, _ := CompareModes(context.Background(), Loss{}, 2, 40, p, 0, 0)
		for _, c := range plain {
			if c.Gap() > 1e-9 {
				t.Errorf("without EPS, p %g, n %d: two modes cost less by %g", p, c.N, c.Gap())
			}
		}
	}
	for _, c := range []struct {
		t    int
		p    float64
		want int
	}{{5, 0.6, 150}, {5, 0.9, 410}, {10, 0.6, 1060}, {10, 0.95, 7560}} {
		if n := first(c.t, c.p, 2000); n != c.want {
			t.Errorf("%d classes, p %g: n = %d, want %d", c.t, c.p, n, c.want)
		}
	}
	// p = 1 is excluded for good reason: both cost nothing.
	if n := first(2, 1, 40); n != 0 {
		t.Errorf("p = 1: n = %d", n)
	}
}

// Claim 2 with beta = alpha held, and its failure with beta free: the pushing
// terms outnumber the one pulling term, so that beta is best below all
// distances, where two modes have nothing to gain.
func TestClaim2(t *testing.T) {
	l := Loss{Kind: Margin, Easy: true}
	for _, p := range []float64{0.55, 0.75, 0.9} {
		for _, apart := range []float64{1, 2} {
			c, err := CompareModes(context.Background(), l, 2, 60, p, apart, 1)
			if err != nil {
				t.Fatal(err)
			}
			if n := FirstPreferred(c); n != 8 {
				t.Errorf("p %g, apart %g: n = %d", p, apart, n)
			}
			free, _ := CompareModes(context.Background(), l, 2, 60, p, apart, 0)
			if last := free[len(free)-1]; last.Gap() > 0 {
				t.Errorf("p %g, apart %g, free beta: two modes cost less by %g", p, apart, last.Gap())
			}
		}
	}
}

// Claim 3: the settling distance is where the expected loss of the pair is
// least, and beyond MarginRank every point settles at beta + alpha.
func TestClaim3(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 8))
	const alpha, beta = 0.5, 1.25
	for range 40 {
		classes, p := 2+rng.IntN(4), 0.5+0.5*rng.Float64()
		order := make([]int, 12)
		for i := range order {
			order[i] = rng.IntN(classes)
		}
		m := MarginRank(classes, p, 1<<12)
		for _, f := range FarMargin(classes, p, alpha, beta, order) {
			cost := func(x float64) float64 {
				return f.Pull*max(0, x-beta+alpha) + f.Push*max(0, beta-x+alpha)
			}
			for x := 0.0; x < 4; x += 0.01 {
				if cost(x) < cost(f.Settle)-1e-12 {
					t.Fatalf("rank %d: %g is less at %g than at %g", f.Rank, cost(x), x, f.Settle)
				}
			}
			if f.Rank > m && f.Settle != beta+alpha {
				t.Errorf("t %d, p %g: rank %d > M = %d settles at %g", classes, p, f.Rank, m, f.Settle)
			}
		}
	}
	for _, c := range []struct {
		t    int
		p    float64
		want int
	}{{2, 0.6, 1}, {2, 0.9, 15}, {2, 0.99, 389}, {10, 0.9, 131}, {2, 1, -1}} {
		if m := MarginRank(c.t, c.p, 10000); m != c.want {
			t.Errorf("t %d, p %g: M = %d, want %d", c.t, c.p, m, c.want)
		}
	}
}

// MarginRank is sharp: some arrangement has the point of that rank pulled.
func TestMarginRankIsSharp(t *testing.T) {
	for _, c := range []struct {
		t int
		p float64
	}{{2, 0.9}, {3, 0.8}, {5, 0.75}} {
		m := MarginRank(c.t, c.p, 1000)
		pulled := false
		for class := range c.t {
			for near := range c.t {
				order := make([]int, m)
				for i := range order {
					order[i] = near
				}
				order[m-1] = class
				pulled = pulled || FarMargin(c.t, c.p, 1, 1, order)[m-1].Settle == 0
			}
		}
		if !pulled {
			t.Errorf("t %d, p %g: nobody of rank %d is pulled", c.t, c.p, m)
		}
	}
}

// farTriplet's weights are the probabilities they are said to be.
func TestClaim4Weights(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	for range 20 {
		classes, p := 2+rng.IntN(2), 0.4+0.6*rng.Float64()
		order := make([]int, 5)
		m := Model{T: classes, P: p, Own: []int{0}}
		for i := range order {
			order[i] = rng.IntN(classes)
			m.Own = append(m.Own, order[i])
		}
		a, b := 2, 4
		wantNear, wantFar := 0.0, 0.0
		enumerate(m, func(y []int, prob float64) {
			first := 0
			for k := 1; k < len(y) && first == 0; k++ {
				if y[k] == y[0] {
					first = k
				}
			}
			if first == a && y[b] != y[0] {
				wantNear += prob
			}
			if first == b && y[a] != y[0] {
				wantFar += prob
			}
		})
		near, far := farTriplet(classes, p, order, a, b)
		if math.Abs(near-wantNear) > 1e-14 || math.Abs(far-wantFar) > 1e-14 {
			t.Errorf("near %g, far %g; by enumeration %g, %g", near, far, wantNear, wantFar)
		}
	}
}

// Claim 4 holds, with an M that depends on p and on who is near.
func TestClaim4(t *testing.T) {
	order := make([]int, 400) // 5 own, 5 other, 5 own, ...
	for i := range order {
		order[i] = i / 5 % 2
	}
	for _, p := range []float64{0.6, 0.8, 0.95} {
		for _, a := range []int{1, 3, 6, 10} {
			m := TripletRank(2, p, order, a)
			if m < 0 {
				t.Errorf("p %g, rank %d: no M within 400 neighbours", p, a)
				continue
			}
			for j := m + 1; a+j <= 200; j++ {
				if near, far := farTriplet(2, p, order, a, a+j); near <= far {
					t.Errorf("p %g, rank %d, j %d > M = %d: %g <= %g", p, a, j, m, near, far)
				}
			}
		}
	}
	// M is not one number: own points behind 20 of another class stay preferred.
	behind := make([]int, 400)
	for i := range 20 {
		behind[i] = 1
	}
	if a, b := TripletRank(2, 0.95, order, 1), TripletRank(2, 0.95, behind, 1); a != 1 || b < 20 {
		t.Errorf("M = %d with own points near, %d with 20 others near", a, b)
	}
}

// must is for calls that only a cancelled context makes fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TripletRank returns the M of claim 4 for rank a: the smallest M such that
// near > far for every j > M and b = a + j, among the given neighbours. If
// that holds at none of them it returns -1.
func TripletRank(t int, p float64, order []int, a int) int {
	for j := len(order) - a; j >= 1; j-- {
		if near, far := farTriplet(t, p, order, a, a+j); near <= far {
			if j == len(order)-a {
				return -1
			}
			return j
		}
	}
	return 0
}

// farTriplet returns the two weights that decide claim 4 for the neighbours of
// ranks a < b (from 1) of an anchor of class 0, neighbours given by class in
// the order of their distances: near = P(a is the easy positive, Y_b != Y_i)
// and far = P(b is the easy positive, Y_a != Y_i). The loss of the two triplets
// is least at D_b = D_a + alpha if near > far, and at D_b = D_a if near < far
// (with the order held fixed); if both are equal any distance between does.
func farTriplet(t int, p float64, order []int, a, b int) (near, far float64) {
	m := Model{T: t, P: p}
	none := ones(t)
	for k, c := range order[:b] {
		switch k + 1 {
		case a:
			for r := range t {
				near += m.Prob(0, r) * m.Prob(c, r) * none[r] * (1 - m.Prob(order[b-1], r))
			}
		case b:
			for r := range t {
				far += m.Prob(0, r) * m.Prob(c, r) * none[r]
			}
		}
		for r := range t {
			none[r] *= 1 - m.Prob(c, r)
		}
	}
	return near, far
}
