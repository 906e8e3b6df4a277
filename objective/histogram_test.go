package objective

import (
	"math"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// TestHistogramDraws holds the draw to the definition: bands alike, and alike within a
// band.
func TestHistogramDraws(t *testing.T) {
	table, labels := newTable(t, 30, 4, 2, 11)
	for _, bands := range []int{1, 3, 0} {
		for _, positive := range []bool{true, false} {
			candidate := func(i, j int) bool { return i != j && (labels[i] == labels[j]) == positive }
			cfg, chosen := MiningConfig{Bands: bands, Seed: 5, Negatives: HistogramNegative}, negatives
			if positive {
				cfg.Positives, chosen = HistogramPositive, positives
			}
			of := bands
			if of == 0 {
				of = 100
			}
			checkFrequencies(t, table, cfg, chosen, func(i, j int) float64 {
				if !candidate(i, j) {
					return 0
				}
				nearest, farthest := math.Inf(1), 0.0
				for k := range labels {
					if candidate(i, k) {
						nearest = min(nearest, exactDistance(table, i, k))
						farthest = max(farthest, exactDistance(table, i, k))
					}
				}
				band := func(k int) int {
					return min(of-1, int((exactDistance(table, i, k)-nearest)/(farthest-nearest)*float64(of)+1e-5))
				}
				held := map[int]int{}
				for k := range labels {
					if candidate(i, k) {
						held[band(k)]++
					}
				}
				return 1 / float64(len(held)*held[band(j)])
			})
		}
	}
}

// TestAngularNegatives compares the candidates with the angle itself, over all anchors
// and positives: what is drawn is one of them, and nothing if there is none.
func TestAngularNegatives(t *testing.T) {
	table, labels := newTable(t, 36, 3, 3, 4)
	for _, degrees := range []float64{5, 20, 40, 70} {
		m := newMiner(MiningConfig{Positives: AllPositives, Negatives: AngularNegative, Angle: new(degrees)})
		angle := func(i, p, n int) float64 {
			var ap, nc float64
			for k, a := range table.A.E.Row(i) {
				x, y := float64(a), float64(table.A.E.At(p, k))
				ap += (x - y) * (x - y)
				d := float64(table.A.E.At(n, k)) - (x+y)/2
				nc += d * d
			}
			return math.Atan(math.Sqrt(ap)/(2*math.Sqrt(nc))) * 180 / math.Pi
		}
		var s minerScratch
		drawn, none := map[[3]int]bool{}, 0
		for step := range 300 {
			m.Begin(table, uint64(step))
			for i := range labels {
				sel := m.Mine(i, &s)
				if !sel.Paired || len(sel.Neg) != len(sel.Pos) {
					t.Fatalf("anchor %d: %v for %v", i, sel.Neg, sel.Pos)
				}
				for k, p := range sel.Pos {
					if sel.Neg[k] < 0 {
						none++
						continue
					}
					drawn[[3]int{i, int(p), int(sel.Neg[k])}] = true
				}
			}
		}
		candidates := 0
		for i := range labels {
			for p := range labels {
				for n := range labels {
					if p == i || labels[p] != labels[i] || labels[n] == labels[i] {
						continue
					}
					x, got := angle(i, p, n), drawn[[3]int{i, p, n}]
					if got && x < degrees-1e-4 {
						t.Fatalf("%v degrees: %d, %d, %d were drawn at %v", degrees, i, p, n, x)
					}
					if !got && x > degrees+1e-4 {
						t.Fatalf("%v degrees: %d, %d, %d at %v were never drawn", degrees, i, p, n, x)
					}
					if got {
						candidates++
					}
				}
			}
		}
		t.Logf("%v degrees: %d triplets, %d without", degrees, candidates, none)
	}
}

// TestNewPoliciesOnOddInput: equal points have no angle and one band, an anchor without
// a positive or a negative stays without, and far points do no harm.
func TestNewPoliciesOnOddInput(t *testing.T) {
	e := matrix.FromSlice(6, 2, []float32{1, 0, 1, 0, 1, 0, 1, 0, 1e9, 0, -9e8, 3})
	labels := []int64{0, 0, 1, 1, 2, 3}
	cfg := MiningConfig{Positives: HistogramPositive, Negatives: AngularNegative}
	chosen, err := SelectTuples(e, labels, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range chosen {
		if i < 4 && (len(s.Pos) != 1 || len(s.Neg) != 1 || s.Neg[0] != -1 || s.NoCandidate != 1) {
			t.Errorf("anchor %d of equal points: %+v", i, s)
		}
		if i >= 4 && len(s.Pos)+len(s.Neg) != 0 {
			t.Errorf("anchor %d without positives: %+v", i, s)
		}
	}
	cfg.Negatives = HistogramNegative
	if chosen, err = SelectTuples(e, labels, cfg); err != nil {
		t.Fatal(err)
	}
	for i, s := range chosen {
		if len(s.Neg) != 1 || labels[s.Neg[0]] == labels[i] {
			t.Errorf("anchor %d: %+v", i, s)
		}
	}
	if chosen, err = SelectTuples(matrix.New(3, 2), []int64{1, 1, 1}, cfg); err != nil || len(chosen[0].Neg) > 0 {
		t.Errorf("one class: %+v, %v", chosen, err)
	}
	for _, bad := range []MiningConfig{{Angle: new(0.0)}, {Angle: new(90.0)}, {Angle: new(math.NaN())}, {Bands: -1},
		{Bands: maxBands + 1}} {
		if _, err := SelectTuples(e, labels, bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
