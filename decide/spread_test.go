package decide

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// drawUnevenClasses are photos of classes around places of their own, one class in four four times as wide
// as the others.
func drawUnevenClasses(rng *rand.Rand, from, to, each int) (*matrix.Dense, []string, []int64) {
	x := matrix.New((to-from)*each, 6)
	var labels []string
	var numbers []int64
	for c := from; c < to; c++ {
		place := rand.New(rand.NewPCG(uint64(c), 9))
		var at [6]float64
		for k := range at {
			at[k] = 4 * place.NormFloat64()
		}
		scale := 0.2
		if isWide(c) == 1 {
			scale = 0.8
		}
		for range each {
			for k := range at {
				x.Row(len(labels))[k] = float32(at[k] + scale*rng.NormFloat64())
			}
			labels, numbers = append(labels, fmt.Sprint(c)), append(numbers, int64(c))
		}
	}
	return x, labels, numbers
}

func isWide(class int) int {
	if class%4 == 3 {
		return 1
	}
	return 0
}

// compareSpread compares the spread of a class with a loop over its items.
func compareSpread(t *testing.T, got []float64, class *matrix.Dense) {
	t.Helper()
	between := eval.DistanceFunc(class, class, eval.Euclidean)
	var want []float64
	for i := range class.Rows {
		least := math.Inf(1)
		for j := range class.Rows {
			if i != j {
				least = min(least, between(i, j))
			}
		}
		want = append(want, least)
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("a spread of %v, want %v", got, want)
	}
}

// TestSpreadCovers: where classes differ in width, one distance for all covers the tight ones
// too often and the wide ones not often enough, and the spread of each class covers both as
// promised, within the binomial interval. A class with too few items uses the calibration.
func TestSpreadCovers(t *testing.T) {
	const coverage, each, probes, classes = 0.8, 19, 2, 240
	rng := rand.New(rand.NewPCG(1, 2))
	cx, _, cl := drawUnevenClasses(rng, 0, 80, each+1)
	c, err := Calibrate(t.Context(), cx, cl, Options{})
	if err != nil {
		t.Fatal(err)
	}
	gx, labels, _ := drawUnevenClasses(rng, 100, 100+classes, each)
	g := NewGallery(labels)
	spread, err := NewSpread(t.Context(), gx, labels, eval.Euclidean, coverage)
	if err != nil || len(spread) != classes {
		t.Fatalf("%d classes: %v", len(spread), err)
	}
	compareSpread(t, spread["103"], gx.RowRange(3*each, 4*each))
	if v, ok := spread.CoverageDistance("103", coverage); !ok || v != spread["103"][15] {
		t.Errorf("0.8 of 19 items is %v, the 16th of %v", v, spread["103"])
	}
	px, truth, numbers := drawUnevenClasses(rand.New(rand.NewPCG(3, 4)), 100, 100+classes, probes)
	to := eval.DistanceFunc(px, gx, eval.Euclidean)
	covered := func(g Gallery) (by [2]int) {
		d, err := c.Decider(g, IdentifyOptions{Coverage: coverage, FPIR: 0.2})
		if err != nil {
			t.Fatal(err)
		}
		reach := d.SearchRadius()
		for i, l := range truth {
			var near []Neighbour
			for j, of := range labels {
				if v := to(i, j); v <= reach || of == l {
					near = append(near, Neighbour{of, v})
				}
			}
			slices.SortFunc(near, func(a, b Neighbour) int { return int(math.Copysign(1, a.Distance-b.Distance)) })
			got, err := d.Decide([]Photo{{Vector: px.Row(i), Neighbours: near}})
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(got.Set, l) {
				by[isWide(int(numbers[i]))]++
			}
		}
		return by
	}
	photos := [2]int{classes * 3 / 4 * probes, classes / 4 * probes}
	var low, high [2]int // in which 99.9 of 100 counts lie
	for k, n := range photos {
		b := distuv.Binomial{N: float64(n), P: coverage}
		for ; b.CDF(float64(low[k])) < 0.0005; low[k]++ {
		}
		for high[k] = low[k]; b.CDF(float64(high[k])) < 0.9995; high[k]++ {
		}
	}
	measured, err := MeasureGallery(t.Context(), c, gx, labels, eval.Euclidean)
	if err != nil {
		t.Fatal(err)
	}
	g.Means, g.StrangerTrial = measured.Means, measured.StrangerTrial
	pooled := covered(g)
	if pooled[0] <= high[0] || pooled[1] >= low[1] {
		t.Errorf("one distance covers %v of %v, tight and wide: that is not what this tests", pooled, photos)
	}
	g.Spread = spread
	for k, n := range covered(g) {
		if n < low[k] || n > high[k] {
			t.Errorf("by class %d of %d are covered (tight, wide: %d), want %d to %d", n, photos[k], k, low[k], high[k])
		}
	}
	delete(spread, "100")
	d, err := c.Decider(g, IdentifyOptions{Coverage: coverage, FPIR: 0.2})
	if err != nil {
		t.Fatal(err)
	}
	if want, err := c.CoverageDistance(coverage, each); err != nil || d.classRadius("100", 0) != want {
		t.Errorf("a class without a spread reaches %v, want %v (%v)", d.classRadius("100", 0), want, err)
	}
}

// TestSpreadRefuses: too few items, copies and missing labels make no spread, and mistakes are
// errors.
func TestSpreadRefuses(t *testing.T) {
	x := matrix.New(60, 2)
	var labels []string
	for i := range x.Rows {
		x.Row(i)[0], x.Row(i)[1] = float32(i*i), 1
		switch {
		case i < 30:
			labels = append(labels, "enough")
		case i < 48:
			labels = append(labels, "few")
		default:
			labels = append(labels, "")
		}
	}
	s, err := NewSpread(t.Context(), x, labels, eval.Euclidean, 0.95)
	if err != nil || len(s) != 1 || len(s["enough"]) != 30 {
		t.Errorf("%v: %v", s, err)
	}
	for i := range 12 { // of which 18 are left
		copy(x.Row(i), x.Row(12))
	}
	if s, err = NewSpread(t.Context(), x, labels, eval.Euclidean, 0.95); err != nil || len(s) != 0 {
		t.Errorf("copies count: %v %v", s, err)
	}
	if _, ok := s.CoverageDistance("nothing", 0.5); ok {
		t.Error("a class without items has a spread")
	}
	if _, err := NewSpread(t.Context(), x, labels, eval.Euclidean, 1); err == nil {
		t.Error("coverage 1")
	}
	if _, err := NewSpread(t.Context(), x, labels[1:], eval.Euclidean, 0.9); err == nil {
		t.Error("a label is missing")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewSpread(ctx, x, labels, eval.Euclidean, 0.9); err == nil {
		t.Error("a context that is done")
	}
}

// TestMeasureByClass compares the coverage of sets by class with loops over all photos.
func TestMeasureByClass(t *testing.T) {
	const coverage = 0.8
	cx, cl := drawClusters(41, 40, 8, 6)
	c, err := Calibrate(t.Context(), cx, cl, Options{})
	if err != nil {
		t.Fatal(err)
	}
	x, labels := drawClusters(42, 20, 8, 6)
	x, labels = x.RowRange(0, x.Rows-6), labels[:x.Rows-6] // the last class has too few for its own
	trial, err := c.Validate(t.Context(), x, labels, ValidationOptions{Coverage: []float64{coverage}})
	if err != nil {
		t.Fatal(err)
	}
	of := func(class int64, but int) (rows []int) {
		for i, l := range labels {
			if l == class && i != but {
				rows = append(rows, i)
			}
		}
		return rows
	}
	near := func(i int, rows []int) float64 {
		least := math.Inf(1)
		for _, j := range rows {
			if i != j {
				least = min(least, rowDistance(0, x.Row(i), x.Row(j)))
			}
		}
		return least
	}
	var covered, size, own float64
	var each []float64
	for class := range int64(20) {
		mine := of(class, -1)
		hits := 0.0
		for _, i := range mine {
			for other := range int64(20) {
				rows := of(other, i)
				var spread []float64
				for _, j := range rows {
					spread = append(spread, near(j, rows))
				}
				slices.Sort(spread)
				reach, err := c.CoverageDistance(coverage, len(rows))
				if k, enough := coverageIndex(len(spread), coverage); enough {
					reach = spread[k]
					if other == class {
						own += 1 / float64(20*len(mine))
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				if near(i, rows) <= reach {
					size += 1 / float64(20*len(mine))
					if other == class {
						hits += 1 / float64(len(mine))
					}
				}
			}
		}
		each, covered = append(each, hits), covered+hits/20
	}
	got := trial.Coverages[0].ByClass
	slices.Sort(each)
	if got == nil || math.Abs(got.Measured-covered) > 1e-6 || math.Abs(got.MeanSize-size) > 0.02 ||
		math.Abs(got.OwnSpread-own) > 1e-9 || got.OwnSpread != 0.95 || math.Abs(got.LowestDecile-each[2]) > 1e-9 {
		t.Errorf("%+v, want %g (low %g) in sets of %g, %g by their own", got, covered, each[2], size, own)
	}
	if low := trial.Coverages[0].LowestDecile; !(low > 0 && low <= 1) {
		t.Errorf("nine classes in ten have %v", low)
	}
}
