package objective

import (
	"math"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/option"
)

// TestDraw: the first whose cumulative weight exceeds x, never one of weight 0.
func TestDraw(t *testing.T) {
	for _, tc := range []struct {
		weight []float32
		x      float64
		want   int
	}{
		{[]float32{1, 2, 1}, 0, 0},
		{[]float32{1, 2, 1}, 0.99, 0},
		{[]float32{1, 2, 1}, 1, 1},
		{[]float32{1, 2, 1}, 2.9, 1},
		{[]float32{1, 2, 1}, 3, 2},
		{[]float32{0, 0, 1, 0}, 0, 2},
		{[]float32{1, 0, 2, 0}, 1, 2},
		// Rounding took x to the sum or beyond: the last that has a weight.
		{[]float32{1, 2, 0, 0}, 3, 1},
		{[]float32{0, 1, 2, 0}, 3.5, 2},
		{[]float32{1, 0}, 1, 0},
	} {
		if got := drawIndex(tc.weight, tc.x); got != tc.want {
			t.Errorf("%v at %v: %d, want %d", tc.weight, tc.x, got, tc.want)
		}
	}
}

// TestDensity compares the weights with log(1/q), from the table and without
// it, at both clamps and at their ends.
func TestDensity(t *testing.T) {
	for _, cfg := range []MiningConfig{
		{},
		{MaxWeight: new(2.0)},
		{Nearest: new(0.9), Cutoff: new(0.9)},
		{Nearest: new(0.0), Cutoff: new(1.5)},
		{Nearest: new(0.2), Cutoff: new(1.9)},
		{Nearest: new(0.3), Cutoff: new(2.0)},
	} {
		for _, dim := range []int{2, 3, 16, 512} {
			nearest, cutoff := cfg.Reach()
			var d density
			d.prepare(cfg, dim)
			c := 2 + float64(dim)/512
			var v, w []float32
			var idx []int32
			for k := range 301 {
				x := cutoff * float64(k) / 300
				v = append(v, float32((c-x*x)/2))
			}
			// As far as a draw looks, which rounding may take beyond the cutoff.
			v = append(v, float32((c-cutoff*cutoff)/2))
			for k := range v { // not in order
				idx = append(idx, int32(k*5%len(v)))
			}
			w = make([]float32, len(v)+3)
			largest := d.logWeights(v, float32(c), idx, w)
			top := math.Inf(-1)
			for k, j := range idx {
				d2 := max(nearest*nearest, c-2*float64(v[j]))
				formula := func(d2 float64) float64 {
					if d2 >= 4 {
						return math.Inf(-1)
					}
					w := (2-float64(dim))*math.Log(max(d2, 1e-12))/2 - (float64(dim)-3)/2*math.Log(1-d2/4)
					return min(w, math.Log(option.OrDefault(cfg.MaxWeight, math.Inf(1))))
				}
				want := formula(d2)
				top = max(top, want)
				// The last points before the pole are steep, and so are those at 0.
				slack := 2e-4 + 1e-5*math.Abs(want)
				step := (cutoff*cutoff - nearest*nearest) / densityPoints
				if d2 > cutoff*cutoff-step { // the table's last step is level
					slack += math.Abs(formula(d2-step) - want)
				}
				if got := float64(w[k]); math.Abs(got-want) > slack && !(d2 > 3.99) {
					t.Fatalf("%+v, dimension %d: log weight at D² %v is %v, want %v", cfg, dim, d2, got, want)
				}
			}
			if dim != 2 && math.Abs(float64(largest)-top) > 2e-4+1e-2*math.Abs(top) {
				t.Errorf("%+v, dimension %d: the largest is %v, want %v", cfg, dim, largest, top)
			}
			for _, x := range w[:len(v)] {
				if x > largest {
					t.Errorf("%+v, dimension %d: %v is larger than the largest, %v", cfg, dim, x, largest)
				}
			}
		}
	}
}

// TestPrepareFollowsTheConfiguration: other settings, or dimensions, are other
// weights.
func TestPrepareFollowsTheConfiguration(t *testing.T) {
	var d density
	v, idx := []float32{0.6}, []int32{0} // D² = 0.8
	at := func(cfg MiningConfig, dim int) float32 {
		d.prepare(cfg, dim)
		w := make([]float32, 1)
		return d.logWeights(v, 2, idx, w)
	}
	first := at(MiningConfig{}, 8)
	if at(MiningConfig{}, 16) == first || at(MiningConfig{Nearest: new(1.0)}, 8) == first ||
		at(MiningConfig{MaxWeight: new(1.01)}, 8) == first {
		t.Error("a setting was not heeded")
	}
	if got := at(MiningConfig{}, 8); got != first {
		t.Errorf("back at the first settings: %v, was %v", got, first)
	}
}

func TestConfigCheck(t *testing.T) {
	inf, nan := new(math.Inf(1)), new(math.NaN())
	for name, tc := range map[string]struct {
		cfg MiningConfig
		ok  bool
	}{
		"defaults": {MiningConfig{}, true},
		"zeros":    {MiningConfig{Margin: new(0.0), Epsilon: new(0.0), Nearest: new(0.0)}, true},
		"large": {MiningConfig{Margin: new(1e9), Epsilon: new(1e9), Cutoff: new(1e9),
			MaxWeight: new(math.MaxFloat64)}, true},
		"nearest at the cutoff":              {MiningConfig{Nearest: new(1.4)}, true},
		"both given and equal":               {MiningConfig{Nearest: new(0.7), Cutoff: new(0.7)}, true},
		"a cutoff below the default nearest": {MiningConfig{Cutoff: new(0.3)}, true},
		"nearest beyond":                     {MiningConfig{Nearest: new(1.41)}, false},
		"nearest beyond given":               {MiningConfig{Nearest: new(0.71), Cutoff: new(0.7)}, false},
		"cutoff 0":                           {MiningConfig{Cutoff: new(0.0)}, false},
		"max_weight 0":                       {MiningConfig{MaxWeight: new(0.0)}, false},
		"negative margin":                    {MiningConfig{Margin: new(-1e-9)}, false},
		"negative epsilon":                   {MiningConfig{Epsilon: new(-1e-9)}, false},
		"negative nearest":                   {MiningConfig{Nearest: new(-1e-9)}, false},
		"infinite margin":                    {MiningConfig{Margin: inf}, false},
		"infinite cutoff":                    {MiningConfig{Cutoff: inf}, false},
		"infinite max_weight":                {MiningConfig{MaxWeight: inf}, false},
		"max_weight NaN":                     {MiningConfig{MaxWeight: nan}, false},
		"cutoff NaN":                         {MiningConfig{Cutoff: nan}, false},
		"epsilon NaN":                        {MiningConfig{Epsilon: nan}, false},
	} {
		if err := tc.cfg.Check(); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDrawnNegatives: one for each positive, one for an anchor without any.
func TestDrawnNegatives(t *testing.T) {
	table, labels := newTable(t, 25, 4, 4, 11)
	labels[24] = 9 // alone
	table.Groups.Build(labels, labels, true)
	for _, n := range []NegativePolicy{RandomNegative, DistanceNegative} {
		for p, count := range map[PositivePolicy]func(i int) int{
			AllPositives: func(i int) int { return len(table.Groups.Positives(i, nil)) },
			EasyPositive: func(i int) int { return min(1, len(table.Groups.Positives(i, nil))) },
		} {
			m := newMiner(MiningConfig{Positives: p, Negatives: n, Seed: 2})
			m.Begin(table, 0)
			var s minerScratch
			for i := range labels {
				sel := m.Mine(i, &s)
				if want := count(i); len(sel.Pos) != want || len(sel.Neg) != max(want, 1) || sel.Paired != (want > 0) {
					t.Errorf("%v + %v, anchor %d: %d positives, %d negatives, paired %v", p, n, i, len(sel.Pos),
						len(sel.Neg), sel.Paired)
				}
			}
		}
	}
}

// TestFaceNetAmongNearPoints: the margin also bounds distances too small for
// similarities to tell apart.
func TestFaceNetAmongNearPoints(t *testing.T) {
	// Anchor at (1, 0); the positive 3e-4 away, negatives at 1e-4, 2e-4,
	// 3e-4, 4e-4, 5e-4, 7e-4.
	offsets := []float32{0, 3e-4, 1e-4, 5e-4, 4e-4, 2e-4, 7e-4, 3e-4}
	table, _ := newTable(t, len(offsets), 2, 2, 1)
	for i, o := range offsets {
		table.A.E.Row(i)[0], table.A.E.Row(i)[1] = 1, o
	}
	labels := []int64{0, 0, 1, 1, 1, 1, 1, 1}
	table.Groups.Build(labels, labels, true)
	table.Load(0, len(labels))
	for _, cfg := range []MiningConfig{
		{Negatives: FaceNetNegative, Euclidean: true, Margin: new(3e-4)},
		{Negatives: FaceNetNegative, Margin: new(36e-8 - 9e-8)}, // to 6e-4
	} {
		seen := map[int32]bool{}
		m := newMiner(cfg)
		var s minerScratch
		for step := range 100 {
			m.Begin(table, uint64(step))
			sel := m.Mine(0, &s)
			seen[sel.Neg[0]] = true
			if sel.Fallback > 0 {
				t.Errorf("%+v: fell back", cfg)
			}
		}
		if len(seen) != 2 || !seen[3] || !seen[4] {
			t.Errorf("%+v: drew %v, want 3 and 4", cfg, seen)
		}
	}
}
