package objective

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/matrix"
)

// newRange is the range of the two distances.
func newRange(from, to float64) DistanceRange { return DistanceRange{From: new(from), To: new(to)} }

// TestRangesOnALine: the ends belong to a range, and what is outside is not chosen from.
// The anchor is at 0, its positives at 1, 2, 3, 4 and 5, its negatives at 1, 2, 4, 6
// and 8.
func TestRangesOnALine(t *testing.T) {
	e := matrix.FromSlice(11, 1, []float32{0, 1, 2, 3, 4, 5, 1, 2, 4, 6, 8})
	labels := []int64{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1}
	for _, tc := range []struct {
		p        PositivePolicy
		n        NegativePolicy
		pos, neg DistanceRange
		wantPos  []int32
		wantNeg  []int32
		none     int
	}{
		{EasyPositive, HardNegative, newRange(2, 4), newRange(2, 6), []int32{2}, []int32{7}, 0},
		{HardPositive, EasyNegative, newRange(2, 4), newRange(2, 6), []int32{4}, []int32{9}, 0},
		{AllPositives, AllNegatives, newRange(2, 4), newRange(2, 6), []int32{2, 3, 4}, []int32{7, 8, 9}, 0},
		{AllPositives, AllNegatives, DistanceRange{}, newRange(1, 8), []int32{1, 2, 3, 4, 5},
			[]int32{6, 7, 8, 9, 10}, 0},
		{HardPositive, HardNegative, DistanceRange{To: new(3.0)}, DistanceRange{From: new(3.0)}, []int32{3},
			[]int32{8}, 0},
		{EasyPositive, SemiHardNegative, newRange(2, 2), DistanceRange{From: new(4.0)}, []int32{2}, []int32{8}, 0},
		{HardPositive, SemiHardNegative, DistanceRange{}, DistanceRange{To: new(5.0)}, []int32{5}, []int32{-1}, 1},
		{SemiHardPositive, HardNegative, DistanceRange{}, DistanceRange{From: new(3.0)}, []int32{3}, []int32{8}, 0},
		{SemiHardPositive, EasyNegative, DistanceRange{To: new(2.5)}, DistanceRange{}, []int32{2}, []int32{10}, 0},
		{SemiHardPositive, AllNegatives, DistanceRange{}, DistanceRange{From: new(2.0)}, []int32{1},
			[]int32{7, 8, 9, 10}, 0},
		{SemiHardPositive, HardNegative, DistanceRange{From: new(4.0)}, newRange(4, 4), nil, []int32{8}, 1},
		// Ranges that hold nothing, or no distance that there is.
		{EasyPositive, HardNegative, newRange(5.5, 9), DistanceRange{}, nil, []int32{6}, 1},
		{EasyPositive, HardNegative, DistanceRange{}, newRange(0, 0.5), []int32{1}, nil, 1},
		{AllPositives, AllNegatives, newRange(1.5, 1.5), newRange(9, 9), nil, nil, 2},
		{EasyPositive, RandomNegative, DistanceRange{}, DistanceRange{To: new(0.0)}, []int32{1}, nil, 1},
		{EasyPositive, FaceNetNegative, DistanceRange{}, newRange(2.5, 3.5), []int32{1}, nil, 1},
		{EasyPositive, DistanceNegative, DistanceRange{}, newRange(2.5, 3.5), []int32{1}, nil, 1},
		{EasyPositive, HistogramNegative, newRange(6, 7), newRange(2.5, 3.5), nil, nil, 2},
		{EasyPositive, AngularNegative, DistanceRange{}, newRange(2.5, 3.5), []int32{1}, nil, 1},
		{MultiSimilarityPositives, MultiSimilarityNegatives, DistanceRange{}, newRange(2.5, 3.5), nil, nil, 1},
		{SemiHardPositive, HardNegative, DistanceRange{}, newRange(2.5, 3.5), nil, nil, 1},
	} {
		cfg := MiningConfig{Positives: tc.p, Negatives: tc.n, PositiveRange: tc.pos, NegativeRange: tc.neg}
		chosen, err := SelectTuples(e, labels, cfg)
		if err != nil {
			t.Fatal(err)
		}
		s := chosen[0]
		if !slices.Equal(s.Pos, tc.wantPos) || !slices.Equal(s.Neg, tc.wantNeg) || s.NoCandidate != tc.none {
			t.Errorf("%+v: %+v, want %v and %v, %d without", cfg, s, tc.wantPos, tc.wantNeg, tc.none)
		}
	}
}

// TestRangesOfEqualPoints: a range from above 0 leaves them out, and one that ends at 0
// has nothing else.
func TestRangesOfEqualPoints(t *testing.T) {
	e := matrix.FromSlice(6, 2, []float32{1, 2, 1, 2, 0, 0, 1, 2, 4, 4, 7, 7})
	labels := []int64{0, 0, 0, 1, 1, 2} // the last is alone
	for _, tc := range []struct {
		r        DistanceRange
		pos, neg []int32
	}{
		{newRange(0, 0), []int32{1}, []int32{3}},
		{DistanceRange{From: new(1e-6)}, []int32{2}, []int32{4, 5}},
	} {
		chosen, err := SelectTuples(e, labels, MiningConfig{Positives: AllPositives, Negatives: AllNegatives,
			PositiveRange: tc.r,
			NegativeRange: tc.r})
		if err != nil {
			t.Fatal(err)
		}
		if s := chosen[0]; !slices.Equal(s.Pos, tc.pos) || !slices.Equal(s.Neg, tc.neg) {
			t.Errorf("%+v: %+v, want %v and %v", tc.r, s, tc.pos, tc.neg)
		}
		if s := chosen[5]; len(s.Pos) > 0 {
			t.Errorf("%+v: one alone has %+v", tc.r, s)
		}
	}
	one, err := SelectTuples(e, make([]int64, 6), MiningConfig{NegativeRange: newRange(1, 2)})
	if err != nil || len(one[0].Neg) > 0 || one[0].NoCandidate > 0 {
		t.Errorf("one class: %+v, %v", one, err)
	}
}

// TestRangeOfEverything: a range that holds all there is changes no choice and no draw.
func TestRangeOfEverything(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 8))
	e, labels := matrix.New(60, 5), make([]int64, 60)
	for i := range labels {
		labels[i] = int64(rng.IntN(7))
		for k := range 5 {
			e.Row(i)[k] = float32(rng.NormFloat64())
		}
	}
	copy(e.Row(1), e.Row(0))
	for p := range positivePolicies {
		for q := range negativePolicies {
			for _, fallback := range []bool{false, true} {
				cfg := MiningConfig{Positives: PositivePolicy(p), Negatives: NegativePolicy(q),
					HardFallback: fallback, Seed: 4,
					Margin: new(0.01)}
				want, err := SelectTuples(e, labels, cfg)
				if err != nil {
					continue // TestPoliciesThatWaitForEachOther
				}
				cfg.PositiveRange, cfg.NegativeRange = newRange(0, 1e9), newRange(0, 1e9)
				got, err := SelectTuples(e, labels, cfg)
				if err != nil {
					t.Fatal(err)
				}
				for i, w := range want {
					g := got[i]
					if !slices.Equal(g.Pos, w.Pos) || !slices.Equal(g.Neg, w.Neg) || g.Paired != w.Paired ||
						g.NoCandidate != w.NoCandidate || g.Fallback != w.Fallback {
						t.Errorf("%v + %v, anchor %d: %+v, without a range %+v", cfg.Positives, cfg.Negatives, i, g, w)
					}
				}
			}
		}
	}
}

// TestOutsideIsAsIfNotThere: for each anchor, the choice within ranges is the choice from
// a batch that lacks the rows outside.
func TestOutsideIsAsIfNotThere(t *testing.T) {
	table, labels := newTable(t, 48, 4, 4, 21)
	e := table.A.E
	pos, neg := newRange(0.5, 1.3), newRange(0.9, 1.6)
	for p := range positivePolicies {
		for q := range negativePolicies {
			cfg := MiningConfig{Positives: PositivePolicy(p), Negatives: NegativePolicy(q)}
			if cfg.Check() != nil || cfg.Positives == RandomPositive || cfg.Positives == HistogramPositive ||
				cfg.Negatives == RandomNegative || cfg.Negatives == HistogramNegative ||
				cfg.Negatives == DistanceNegative || cfg.Negatives == FaceNetNegative ||
				cfg.Negatives == AngularNegative {
				continue // draws go by the anchor's place in the batch
			}
			within := cfg
			within.PositiveRange, within.NegativeRange = pos, neg
			chosen, err := SelectTuples(e, labels, within)
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range chosen {
				rows := []int32{int32(i)}
				for j := range labels {
					r := neg
					if labels[j] == labels[i] {
						r = pos
					}
					if d := exactDistance(table, i, j); j != i && d >= option.OrDefault(r.From, 0) &&
						d <= option.OrDefault(r.To, 0) {
						rows = append(rows, int32(j))
					}
				}
				some, someLabels := matrix.New(len(rows), e.Cols), make([]int64, len(rows))
				for k, j := range rows {
					copy(some.Row(k), e.Row(int(j)))
					someLabels[k] = labels[j]
				}
				alone, err := SelectTuples(some, someLabels, cfg)
				if err != nil {
					t.Fatal(err)
				}
				want := alone[0]
				for _, list := range [][]int32{want.Pos, want.Neg} {
					for k, j := range list {
						if j >= 0 {
							list[k] = rows[j]
						}
					}
				}
				if !slices.Equal(got.Pos, want.Pos) || !slices.Equal(got.Neg, want.Neg) {
					t.Errorf("%v + %v, anchor %d: %v and %v, without what is outside %v and %v", cfg.Positives,
						cfg.Negatives, i, got.Pos, got.Neg, want.Pos, want.Neg)
				}
			}
		}
	}
}

// TestDrawsStayWithinRanges: whatever is drawn, in many steps, is in its range, and all
// that is comes up.
func TestDrawsStayWithinRanges(t *testing.T) {
	table, labels := newTable(t, 40, 3, 3, 2)
	r := newRange(0.6, 1.2)
	inside := func(i, j int) bool {
		d := exactDistance(table, i, j)
		return d >= 0.6 && d <= 1.2
	}
	for _, q := range []NegativePolicy{RandomNegative, DistanceNegative, HistogramNegative, FaceNetNegative,
		AngularNegative} {
		for _, p := range []PositivePolicy{RandomPositive, HistogramPositive} {
			m := newMiner(MiningConfig{Positives: p, Negatives: q, PositiveRange: r, NegativeRange: r, Margin: new(4.0),
				Angle: new(1.0)})
			var s minerScratch
			drawn := map[[2]int]bool{}
			for step := range 400 {
				m.Begin(table, uint64(step))
				for i := range labels {
					sel := m.Mine(i, &s)
					for _, j := range append(slices.Clone(sel.Pos), sel.Neg...) {
						if j >= 0 {
							drawn[[2]int{i, int(j)}] = true
						}
					}
				}
			}
			for i := range labels {
				for j := range labels {
					got := drawn[[2]int{i, j}]
					if got && !inside(i, j) {
						t.Fatalf("%v + %v: %d was drawn for %d at %v", p, q, j, i, exactDistance(table, i, j))
					}
					// Policies that look at the positive leave out some.
					if !got && i != j && inside(i, j) && (labels[i] == labels[j] || !q.FollowsPositive()) {
						t.Errorf("%v + %v: %d was never drawn for %d", p, q, j, i)
					}
				}
			}
		}
	}
}

// TestRangeMistakes: ends that make no sense are named as in a configuration.
func TestRangeMistakes(t *testing.T) {
	for says, r := range map[string]DistanceRange{
		"_from is 0.5, beyond ":                            newRange(0.5, 0.4),
		"_from is -0.1: it must be a number of at least 0": {From: new(-0.1)},
		"_to is -0.1: it must be a number of at least 0":   {To: new(-0.1)},
		"_from is NaN: it must be a number of at least 0":  {From: new(math.NaN())},
		"_to is NaN: it must be a number of at least 0":    {To: new(math.NaN())},
		"_to is +Inf: it must be a number of at least 0":   {To: new(math.Inf(1))},
		"_from is +Inf: it must be a number of at least 0": {From: new(math.Inf(1))},
		"_from is 1, beyond ":                              newRange(1, 0),
	} {
		for side, cfg := range map[string]MiningConfig{"positives": {PositiveRange: r},
			"negatives": {NegativeRange: r}} {
			err := cfg.Check()
			if err == nil || !strings.Contains(err.Error(), side+says) {
				t.Errorf("%+v: %v, want %s%s", cfg, err, side, says)
			}
		}
	}
	for _, r := range []DistanceRange{{}, newRange(0, 0), newRange(0.3, 0.3), {From: new(9.0)}, {To: new(0.0)}} {
		if err := (MiningConfig{PositiveRange: r, NegativeRange: r}).Check(); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
	_, err := SelectTuples(matrix.FromSlice(2, 1, []float32{1, float32(math.NaN())}), []int64{0, 0},
		MiningConfig{PositiveRange: newRange(0, 1)})
	if err == nil || !strings.Contains(err.Error(), "embedding 1 is not finite") {
		t.Errorf("NaN within a range: %v", err)
	}
}
