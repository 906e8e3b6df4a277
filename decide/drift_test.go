package decide

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// TestDrift: the test keeps its level on classes drawn like those of the calibration, finds
// photos that lie nearer together, and is given the largest p by the calibration's own.
func TestDrift(t *testing.T) {
	rejected, sum := 0, 0.0
	for seed := range uint64(20) {
		x, labels := drawClusters(seed, 120, 6, 8)
		c, err := Calibrate(t.Context(), x.RowRange(0, 480), labels[:480], Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.Drift(t.Context(), x.RowRange(0, 480), labels[:480], x.RowRange(480, 600), []float64{1e-2, 1e-9})
		if err != nil {
			t.Fatal(err)
		}
		if d.P <= 0.05 {
			rejected++
		}
		sum += d.P / 20
		if d.Classes != 13 || d.ReferencePhotos != 79 || d.KnownClasses != 80 || d.DetectableStatistic <= 0 ||
			d.DetectableStatistic >= 1 ||
			d.Photos != 120 || d.Matches[0].NewRate > 0.05 ||
			!strings.Contains(d.Matches[1].RefusalReason, "cannot be promised") {
			t.Fatalf("%+v", d)
		}
		near := matrix.New(120, 8)
		for i := range near.Data {
			near.Data[i] = 0.5 * x.RowRange(480, 600).Data[i]
		}
		if d, err = c.Drift(t.Context(), x.RowRange(0, 480), labels[:480], near, nil); err != nil || d.P > 0.01 ||
			d.MedianNearest >= d.KnownMedianNearest {
			t.Errorf("photos at half of the distances: %+v, %v", d, err)
		}
	}
	if rejected > 4 || sum < 0.3 {
		t.Errorf("%d of 20 sets of the same kind are rejected, mean p %g", rejected, sum)
	}
	x, labels := drawClusters(1, 12, 6, 8)
	c, err := Calibrate(t.Context(), x, labels, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Drift(t.Context(), x, labels, x, nil); err == nil || !strings.Contains(err.Error(), "20 classes") {
		t.Errorf("of twelve classes: %v", err)
	}
}

// TestApart compares the statistic with its definition.
func TestApart(t *testing.T) {
	for _, e := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1, 2, 3}, []float64{1, 2, 3}, 0}, {[]float64{1, 2}, []float64{3, 4}, 1},
		{[]float64{1, 1, 2, 5}, []float64{1, 2, 2, 3}, 0.25}, {[]float64{2}, []float64{1, 2, 3, 4}, 0.5},
	} {
		want := 0.0
		for _, v := range slices.Concat(e.a, e.b) {
			upTo := func(l []float64) (n float64) {
				for _, x := range l {
					if x <= v {
						n++
					}
				}
				return n / float64(len(l))
			}
			want = max(want, math.Abs(upTo(e.a)-upTo(e.b)))
		}
		if have := ksStatistic(e.a, e.b); have != want || have != e.want {
			t.Errorf("%v and %v: %g, want %g", e.a, e.b, have, e.want)
		}
	}
}

// TestPlatt: where log-odds are straight in the distance, Platt scaling finds them, and so
// does the curve; where they are not, it is off and the curve is not.
func TestPlatt(t *testing.T) {
	c := &Calibration{}
	for k := range 400 {
		d := float64(k) / 100
		c.Distances = append(c.Distances, d)
	}
	mass := func(odds func(d float64) float64) {
		c.TrueMatch, c.FalseMatch = nil, nil
		var s, n float64
		for _, d := range c.Distances {
			p := logistic(odds(d))
			s, n = s+p, n+1-p
			c.TrueMatch, c.FalseMatch = append(c.TrueMatch, s), append(c.FalseMatch, n)
		}
		for k := range c.TrueMatch { // both kinds at equal weight: symmetric odds
			c.TrueMatch[k], c.FalseMatch[k] = c.TrueMatch[k]/s, c.FalseMatch[k]/n
		}
	}
	mass(func(d float64) float64 { return 3 * (2 - d) })
	for _, d := range []float64{0.5, 1.5, 2.5} {
		if have, want := c.fitPlatt()(d), logistic(3*(2-d)); math.Abs(have-want) > 0.01 {
			t.Errorf("at %g: %g, want %g", d, have, want)
		}
	}
	mass(func(d float64) float64 { return 12 * math.Pow(2-d, 3) })
	if have, want := c.fitPlatt()(1), logistic(12); want-have < 0.005 {
		t.Errorf("bent odds are found by a straight line: %g, %g", have, want)
	}
}

// TestPooled: errors of opposite signs cancel, and one that all trials have stays.
func TestPooled(t *testing.T) {
	bins := func(share float64) Reliability {
		return Reliability{Bins: []Bin{{Probability: 0.5, Share: share, Weight: 0.5}, {0.9, 0.8, 0.5}}}
	}
	if have := PooledECE([]Reliability{bins(0.4), bins(0.6)}); math.Abs(have-0.05) > 1e-12 {
		t.Errorf("%g, want 0.05", have)
	}
}
