package objective

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/compute/pair"
	"github.com/kindred-ml/kindred/matrix"
)

// drawnPositives and drawnNegatives must name every policy: whether its choice is random, and so depends on
// the order of the batch.
var drawnPositives = map[string]bool{"easy": false, "random": true, "hard": false, "all": false, "ms": false,
	"histogram": true, "semihard": false}

var drawnNegatives = map[string]bool{"facenet": true, "random": true, "hard": false, "easy": false,
	"semihard": false, "all": false, "distance": true, "ms": false,
	"angular": true, "histogram": true}

// TestDeterministicPolicies compares the choices of all policies that do not
// draw with plain loops over distances, on the sphere and off it.
func TestDeterministicPolicies(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	for trial := range 60 {
		n, d := 2+rng.IntN(70), 1+rng.IntN(9)
		normalize := trial%2 == 0
		e, labels := matrix.New(n, d), make([]int64, n)
		for i := range labels {
			labels[i] = int64(rng.IntN(1 + rng.IntN(6)))
			for k := range d {
				e.Row(i)[k] = float32(rng.NormFloat64())
			}
		}
		var rows pair.Rows
		if err := rows.Set(e, normalize); err != nil {
			t.Fatal(err)
		}
		table := &pair.Table{A: &rows, R: &rows}
		table.Groups.Build(labels, labels, true)
		table.Load(0, n)
		var ranges [2]DistanceRange
		for k := range ranges {
			if from := 2 * rng.Float64(); trial>>(k+1)&1 > 0 {
				ranges[k] = newRange(from, from+2*rng.Float64())
			}
		}
		for p := range positivePolicies {
			for q := range negativePolicies {
				cfg := MiningConfig{Positives: PositivePolicy(p), Negatives: NegativePolicy(q),
					HardFallback:  trial%3 == 0,
					PositiveRange: ranges[0], NegativeRange: ranges[1]}
				if cfg.Check() != nil {
					continue // TestPoliciesThatWaitForEachOther
				}
				m := newMiner(cfg)
				m.Begin(table, 0)
				var s minerScratch
				for i := range n {
					checkChoice(t, table, labels, cfg, i, m.Mine(i, &s))
				}
			}
		}
	}
}

// checkChoice compares a selection with the policies' definitions.
//
// Long: one case for each policy.
func checkChoice(t *testing.T, table *pair.Table, labels []int64, cfg MiningConfig, i int, sel *Selection) {
	t.Helper()
	var pos, neg []int32
	others := 0
	d := func(j int32) float64 { return exactDistance(table, i, int(j)) }
	in := func(r DistanceRange, j int32) bool {
		return d(j) >= option.OrDefault(r.From, 0) && d(j) <= option.OrDefault(r.To, math.Inf(1))
	}
	for j, y := range labels {
		k := int32(j)
		if j != i && y == labels[i] && in(cfg.PositiveRange, k) {
			pos = append(pos, k)
		} else if y != labels[i] {
			others++
			if in(cfg.NegativeRange, k) {
				neg = append(neg, k)
			}
		}
	}
	s := func(j int32) float64 {
		var v float64
		for k, x := range table.A.E.Row(i) {
			v += float64(x) * float64(table.A.E.At(int(j), k))
		}
		return v
	}
	extreme := func(of []int32, f func(int32) float64, sign float64) int32 {
		best := of[0]
		for _, j := range of {
			if sign*f(j) > sign*f(best) {
				best = j
			}
		}
		return best
	}
	const slack = 1e-5 // a choice may differ from ours by rounding
	within := func(what string, got []int32, of []int32, want float64, f func(int32) float64) {
		if len(got) != 1 || !slices.Contains(of, got[0]) || math.Abs(f(got[0])-want) > slack {
			t.Fatalf("%v + %v, anchor %d: %s %v, want one at %v", cfg.Positives, cfg.Negatives, i, what, got, want)
		}
	}
	looks := cfg.Positives == MultiSimilarityPositives || cfg.Positives == SemiHardPositive
	if len(pos) == 0 || looks && len(neg) == 0 {
		if len(sel.Pos) > 0 {
			t.Fatalf("anchor %d has positives %v of none", i, sel.Pos)
		}
	} else {
		switch cfg.Positives {
		case EasyPositive:
			within("positive", sel.Pos, pos, d(extreme(pos, d, -1)), d)
		case HardPositive:
			within("positive", sel.Pos, pos, d(extreme(pos, d, 1)), d)
		case SemiHardPositive:
			limit := math.Inf(-1) // of an anchor without a negative
			for _, j := range neg {
				if (sel.All || slices.Contains(sel.Neg, j)) && (math.IsInf(limit, -1) || d(j) < limit) {
					limit = d(j)
				}
			}
			want, none := 0.0, true
			for _, j := range pos {
				if d(j) < limit-1e-6 {
					want, none = max(want, d(j)), false
				}
			}
			if none && len(sel.Pos) == 0 {
				break
			}
			if len(sel.Pos) == 1 && math.Abs(d(sel.Pos[0])-limit) <= slack {
				break // as far as the negative but for rounding
			}
			within("positive", sel.Pos, pos, want, d)
		case AllPositives:
			if !slices.Equal(sel.Pos, pos) {
				t.Fatalf("anchor %d: positives %v, want %v", i, sel.Pos, pos)
			}
		case RandomPositive:
			if len(sel.Pos) != 1 || !slices.Contains(pos, sel.Pos[0]) {
				t.Fatalf("anchor %d: positive %v of %v", i, sel.Pos, pos)
			}
		case MultiSimilarityPositives:
			for _, j := range sel.Pos {
				if !slices.Contains(pos, j) {
					t.Fatalf("anchor %d: positive %d", i, j)
				}
			}
			limit := s(extreme(neg, s, 1)) + 0.1
			for _, j := range pos {
				if got := slices.Contains(sel.Pos, j); got != (s(j) < limit) && math.Abs(s(j)-limit) > slack {
					t.Fatalf("anchor %d: positive %d kept: %v, S %v, limit %v", i, j, got, s(j), limit)
				}
			}
		}
	}
	if len(neg) == 0 {
		if len(sel.Neg) > 0 || sel.All {
			t.Fatalf("anchor %d has negatives of none", i)
		}
		return
	}
	switch cfg.Negatives {
	case HardNegative:
		within("negative", sel.Neg, neg, d(extreme(neg, d, -1)), d)
	case EasyNegative:
		within("negative", sel.Neg, neg, d(extreme(neg, d, 1)), d)
	case AllNegatives:
		if sel.All != (len(neg) == others) || !sel.All && !slices.Equal(sel.Neg, neg) {
			t.Fatalf("anchor %d: all %v, or %v of %d negatives, want %v", i, sel.All, sel.Neg, others, neg)
		}
	case SemiHardNegative, FaceNetNegative:
		if !sel.Paired || len(sel.Neg) != len(sel.Pos) {
			t.Fatalf("anchor %d: negatives %v for positives %v", i, sel.Neg, sel.Pos)
		}
		for k, p := range sel.Pos {
			want, candidates := math.Inf(1), 0
			for _, j := range neg {
				if d(j) > d(p)+1e-6 {
					want = math.Min(want, d(j))
					candidates++
				}
			}
			got := sel.Neg[k]
			if cfg.Negatives == FaceNetNegative {
				if !slices.Contains(neg, got) {
					t.Fatalf("anchor %d: negative %d", i, got)
				}
				continue
			}
			if candidates == 0 && cfg.HardFallback {
				want = d(extreme(neg, d, -1))
			} else if candidates == 0 {
				if got >= 0 && d(got) < d(p)-slack {
					t.Fatalf("anchor %d: negative %d where there is no candidate", i, got)
				}
				continue
			}
			if got < 0 || math.Abs(d(got)-want) > slack && math.Abs(d(got)-d(p)) > slack {
				t.Fatalf("anchor %d: semi-hard negative %d, want one at %v", i, got, want)
			}
		}
	case MultiSimilarityNegatives:
		if len(pos) == 0 {
			if len(sel.Neg) > 0 || sel.All {
				t.Fatalf("anchor %d without positives has negatives", i)
			}
			return
		}
		limit := s(extreme(pos, s, -1)) - 0.1
		for _, j := range sel.Neg {
			if !slices.Contains(neg, j) {
				t.Fatalf("anchor %d: negative %d", i, j)
			}
		}
		for _, j := range neg {
			got := sel.All || slices.Contains(sel.Neg, j)
			if got != (s(j) > limit) && math.Abs(s(j)-limit) > slack {
				t.Fatalf("anchor %d: negative %d kept: %v, S %v, limit %v", i, j, got, s(j), limit)
			}
		}
	default:
		for _, j := range sel.Neg {
			if !slices.Contains(neg, j) && (j >= 0 || cfg.Negatives != AngularNegative) {
				t.Fatalf("anchor %d: negative %d", i, j)
			}
		}
	}
}

// TestTiesGoToTheLowestIndex: with all points of a class equal, and all points
// of the other equal too, first ones are chosen.
func TestTiesGoToTheLowestIndex(t *testing.T) {
	for _, scale := range []float32{1, 3, 1e-3} {
		labels := make([]int64, 40)
		e := matrix.New(40, 3)
		for i := range labels {
			labels[i] = int64(i / 20)
			e.Row(i)[0], e.Row(i)[1] = scale, scale*float32(labels[i])
		}
		var rows pair.Rows
		if err := rows.Set(e, scale == 1); err != nil {
			t.Fatal(err)
		}
		table := &pair.Table{A: &rows, R: &rows}
		table.Groups.Build(labels, labels, true)
		table.Load(0, 40)
		for _, p := range []PositivePolicy{EasyPositive, HardPositive} {
			for _, n := range []NegativePolicy{HardNegative, EasyNegative, SemiHardNegative} {
				m := newMiner(MiningConfig{Positives: p, Negatives: n})
				m.Begin(table, 0)
				var s minerScratch
				for i := range labels {
					sel := m.Mine(i, &s)
					wantP, wantN := int32(20*(i/20)), int32(20*(1-i/20))
					if int(wantP) == i {
						wantP++
					}
					if len(sel.Pos) != 1 || sel.Pos[0] != wantP || len(sel.Neg) != 1 || sel.Neg[0] != wantN {
						t.Fatalf("%v + %v, anchor %d: %v and %v, want %d and %d", p, n, i, sel.Pos, sel.Neg, wantP,
							wantN)
					}
				}
			}
		}
	}
}

// TestSemiHardAmongNearPoints: distances too small for similarities to tell
// apart are told apart all the same.
func TestSemiHardAmongNearPoints(t *testing.T) {
	// Anchor at (1, 0); the positive 3e-4 away, negatives at 1e-4, 2e-4,
	// 3e-4, which is not farther, 4e-4, 5e-4.
	offsets := []float32{0, 3e-4, 1e-4, 5e-4, 4e-4, 2e-4, 3e-4}
	labels := []int64{0, 0, 1, 1, 1, 1, 1}
	e := matrix.New(len(offsets), 2)
	for i, o := range offsets {
		e.Row(i)[0], e.Row(i)[1] = 1, o
	}
	var rows pair.Rows
	if err := rows.Set(e, true); err != nil {
		t.Fatal(err)
	}
	table := &pair.Table{A: &rows, R: &rows}
	table.Groups.Build(labels, labels, true)
	table.Load(0, len(labels))
	for want, n := range map[int32]NegativePolicy{4: SemiHardNegative, 2: HardNegative} {
		m := newMiner(MiningConfig{Negatives: n})
		m.Begin(table, 0)
		var s minerScratch
		if sel := m.Mine(0, &s); sel.Neg[0] != want {
			t.Errorf("%v chose %d, want %d", n, sel.Neg[0], want)
		}
	}
}

// TestSemiHardPositives: what is chosen of points on a line, by each negative policy
// that chooses first. The anchor is at 0, its positives at 1, 2, 3, 4 and 4, its
// negatives at 3, 6 and 8.
func TestSemiHardPositives(t *testing.T) {
	e := matrix.FromSlice(9, 1, []float32{0, 4, 1, 3, 2, 4, 8, 3, 6})
	labels := []int64{0, 0, 0, 0, 0, 0, 1, 1, 1}
	for _, tc := range []struct {
		negatives NegativePolicy
		neg       []int32 // nil for one that is drawn
		pos       int32
	}{
		{HardNegative, []int32{7}, 4},       // nearer than 3: the one at 3 is not
		{EasyNegative, []int32{6}, 1},       // nearer than 8: the first of two at 4
		{AllNegatives, []int32{6, 7, 8}, 4}, // nearer than all of them
		{RandomNegative, nil, -1},
		{DistanceNegative, nil, -1},
		{HistogramNegative, nil, -1},
	} {
		for seed := range uint64(20) {
			chosen, err := SelectTuples(e, labels, MiningConfig{Positives: SemiHardPositive,
				Negatives: tc.negatives, Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			s := chosen[0]
			want := tc.pos
			if tc.neg == nil && len(s.Neg) == 1 {
				want = map[int32]int32{7: 4, 6: 1, 8: 1}[s.Neg[0]]
			} else if !slices.Equal(s.Neg, tc.neg) {
				t.Errorf("%v: negatives %v, want %v", tc.negatives, s.Neg, tc.neg)
			}
			if len(s.Pos) != 1 || s.Pos[0] != want || s.NoCandidate != 0 {
				t.Errorf("%v: positives %v of negatives %v, want %d", tc.negatives, s.Pos, s.Neg, want)
			}
			// The one at 4 has no positive nearer than the negative at 3, but for another at 4.
			if tc.negatives == HardNegative && !slices.Equal(chosen[1].Pos, []int32{5}) {
				t.Errorf("anchor 1: %+v", chosen[1])
			}
		}
	}
}

// TestNoSemiHardPositive: an anchor whose positives are as far as its negative or
// farther yields no triplet and is counted; one without positives, or without negatives,
// is not.
func TestNoSemiHardPositive(t *testing.T) {
	for name, tc := range map[string]struct {
		x      []float32
		labels []int64
		none   int
	}{
		"farther":      {[]float32{0, 5, 4}, []int64{0, 0, 1}, 1},
		"far away":     {[]float32{1e9, -1e9, 0}, []int64{0, 0, 1}, 1},
		"equal points": {[]float32{2, 2, 2, 2}, []int64{0, 0, 1, 1}, 1},
		"singletons":   {[]float32{0, 1, 2}, []int64{0, 1, 2}, 0},
		"one class":    {[]float32{0, 1, 2}, []int64{0, 0, 0}, 0},
		"one row":      {[]float32{3}, []int64{0}, 0},
	} {
		chosen, err := SelectTuples(matrix.FromSlice(len(tc.x), 1, tc.x), tc.labels,
			MiningConfig{Positives: SemiHardPositive,
				Negatives: HardNegative})
		if err != nil {
			t.Fatal(err)
		}
		if s := chosen[0]; len(s.Pos) != 0 || s.NoCandidate != tc.none {
			t.Errorf("%s: %+v, want no positive, counted %d times", name, s, tc.none)
		}
		for p, n := range chosen[0].Tuples() {
			t.Errorf("%s: triplet of %d and %d", name, p, n)
		}
	}
}

// TestPoliciesThatWaitForEachOther: semi-hard positives do not go with negatives that
// are chosen by the positive, and with all others they do.
func TestPoliciesThatWaitForEachOther(t *testing.T) {
	waits := []NegativePolicy{FaceNetNegative, SemiHardNegative, AngularNegative}
	for q := range negativePolicies {
		for p := range positivePolicies {
			c := MiningConfig{Positives: PositivePolicy(p), Negatives: NegativePolicy(q)}
			err := c.Check()
			if (err != nil) != (c.Positives == SemiHardPositive && slices.Contains(waits, c.Negatives)) {
				t.Errorf("%v with %v: %v", c.Positives, c.Negatives, err)
			}
			if err != nil && (!strings.Contains(err.Error(), "positives is semihard") ||
				!strings.Contains(err.Error(), "negatives is "+c.Negatives.String())) {
				t.Errorf("the error does not name the two: %v", err)
			}
		}
	}
}

// TestMultiSimilarityBorders: a positive at the limit, and a negative at its
// own, are not chosen.
func TestMultiSimilarityBorders(t *testing.T) {
	// Similarities to the anchor, (1, 0), are the first numbers.
	at := []float32{1, 0.5, 0.75, 0.875, 0.5, 0.25, 0.375, 0.625}
	labels := []int64{0, 0, 0, 0, 1, 1, 1, 1}
	e := matrix.New(len(at), 2)
	for i, x := range at {
		e.Row(i)[0] = x
	}
	var rows pair.Rows
	if err := rows.Set(e, false); err != nil {
		t.Fatal(err)
	}
	table := &pair.Table{A: &rows, R: &rows}
	table.Groups.Build(labels, labels, true)
	table.Load(0, len(at))
	for _, tc := range []struct {
		epsilon  float64
		pos, neg []int32
	}{
		{0.125, []int32{1}, []int32{4, 7}}, // S < 0.75, S > 0.375
		{0.25, []int32{1, 2}, []int32{4, 6, 7}},
		{0.5, []int32{1, 2, 3}, nil}, // all
		{0, []int32{1}, []int32{7}},
	} {
		m := newMiner(MiningConfig{Positives: MultiSimilarityPositives, Negatives: MultiSimilarityNegatives,
			Epsilon: new(tc.epsilon)})
		m.Begin(table, 0)
		var s minerScratch
		if sel := m.Mine(0, &s); !slices.Equal(sel.Pos, tc.pos) || !slices.Equal(sel.Neg, tc.neg) ||
			sel.All != (tc.neg == nil) {
			t.Errorf("epsilon %v: %v and %v, all %v; want %v and %v", tc.epsilon, sel.Pos, sel.Neg, sel.All, tc.pos,
				tc.neg)
		}
	}
}

func TestNamesRoundTrip(t *testing.T) {
	for k, name := range PositivePolicyNames() {
		p, back := PositivePolicy(k), HardPositive
		text, err := p.MarshalText()
		if parsed, err := ParsePositivePolicy(name); err != nil || parsed != p || p.String() != name {
			t.Errorf("%s reads as %v, %v, want %v", name, parsed, err, p)
		}
		if err != nil || string(text) != name || back.UnmarshalText(text) != nil || back != p {
			t.Errorf("%v is written as %s, %v and reads as %v", p, text, err, back)
		}
	}
	for k, name := range NegativePolicyNames() {
		n, back := NegativePolicy(k), HardNegative
		text, err := n.MarshalText()
		if parsed, err := ParseNegativePolicy(name); err != nil || parsed != n || n.String() != name {
			t.Errorf("%s reads as %v, %v, want %v", name, parsed, err, n)
		}
		if err != nil || string(text) != name || back.UnmarshalText(text) != nil || back != n {
			t.Errorf("%v is written as %s, %v and reads as %v", n, text, err, back)
		}
	}
	p := HardPositive
	if err := p.UnmarshalText([]byte("facenet")); err == nil || p != HardPositive {
		t.Errorf("facenet is read as the positive policy %v", p)
	}
	if _, err := ParseNegativePolicy("semihrd"); err == nil || !strings.Contains(err.Error(), `mean "semihard"?`) {
		t.Errorf("semihrd: %v", err)
	}
	if text, err := NegativePolicy(99).MarshalText(); err == nil {
		t.Errorf("policy 99 is written as %s", text)
	}
}

// Every policy has words of its own.
func TestWords(t *testing.T) {
	seen := map[string]bool{}
	take := func(name, words string) {
		if words == name || len(words) < 10 || seen[words] {
			t.Errorf("%s: %q", name, words)
		}
		seen[words] = true
	}
	for i, name := range PositivePolicyNames() {
		take(name, PositivePolicy(i).Words())
	}
	for i, name := range NegativePolicyNames() {
		take(name, NegativePolicy(i).Words())
	}
}
