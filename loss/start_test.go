package loss

import (
	"math"
	"testing"
)

// TestStart: proxies, centres and class weights start at N(0, 1) times the
// scale that each loss states, one row of dim numbers for each class or centre,
// and Rate is theirs.
func TestStart(t *testing.T) {
	const classes, dim = 100, 50
	for name, tc := range map[string]struct {
		loss Learner
		rows int
		std  float64
	}{
		"ProxyNCA":            {&ProxyNCA{Rate: new(0.3)}, classes, 1.0 / 8},
		"ProxyAnchor":         {&ProxyAnchor{Rate: new(0.3)}, classes, math.Sqrt(2.0 / classes)},
		"SoftTriple":          {&SoftTriple{Rate: new(0.3)}, 10 * classes, 1},
		"SoftTriple, centres": {&SoftTriple{Rate: new(0.3), Centers: 3}, 3 * classes, 1},
		"NormSoftmax":         {&NormSoftmax{Rate: new(0.3)}, classes, 1},
		"CosFace":             {&CosFace{Rate: new(0.3)}, classes, 1},
		"ArcFace":             {&ArcFace{Rate: new(0.3)}, classes, 1},
	} {
		for _, bad := range [][2]int{{0, dim}, {classes, 0}, {-1, -1}} {
			if tc.loss.Learn(bad[0], bad[1], 1) == nil {
				t.Errorf("%s learned %d classes of %d numbers", name, bad[0], bad[1])
			}
		}
		if err := tc.loss.Learn(1, 1, 1); err != nil {
			t.Errorf("%s of one class and one number: %v", name, err)
		}
		if err := tc.loss.Learn(classes, dim, 7); err != nil {
			t.Fatal(err)
		}
		p := tc.loss.Params()[0]
		if p.Rate != 0.3 || len(p.Shape) != 2 || p.Shape[0] != tc.rows || p.Shape[1] != dim ||
			len(p.Value) != tc.rows*dim || len(p.Grad) != len(p.Value) {
			t.Errorf("%s: %v numbers of shape %v, rate %v", name, len(p.Value), p.Shape, p.Rate)
		}
		var mean, sq float64
		for _, v := range p.Value {
			mean += float64(v) / float64(len(p.Value))
			sq += float64(v) * float64(v) / float64(len(p.Value))
		}
		if std := math.Sqrt(sq); math.Abs(std/tc.std-1) > 0.05 || math.Abs(mean) > 0.1*tc.std {
			t.Errorf("%s starts at mean %.3g and deviation %.3g, want 0 and %.3g", name, mean, std, tc.std)
		}
	}
}

// TestMarginStart: one beta a class at 1.2, or one for all.
func TestMarginStart(t *testing.T) {
	for _, tc := range []struct {
		loss    Margin
		classes int
		betas   int
		beta    float32
		rate    float64
	}{
		{Margin{}, 4, 4, 1.2, 5e-4},
		{Margin{}, 1, 1, 1.2, 5e-4},
		{Margin{}, 0, 1, 1.2, 5e-4},
		{Margin{Single: true, Beta: new(0.6), Rate: new(0.1)}, 4, 1, 0.6, 0.1},
	} {
		if err := tc.loss.Learn(tc.classes, 3, 1); err != nil {
			t.Fatal(err)
		}
		p := tc.loss.Params()[0]
		if len(p.Value) != tc.betas || p.Value[0] != tc.beta || p.Value[tc.betas-1] != tc.beta || p.Rate != tc.rate {
			t.Errorf("%d classes: %+v", tc.classes, p)
		}
	}
	if (&Margin{}).Learn(-1, 3, 1) == nil {
		t.Error("learned -1 classes")
	}
}
