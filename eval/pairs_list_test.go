package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// column makes rows of one coordinate.
func column(v ...float32) *matrix.Dense { return matrix.FromSlice(len(v), 1, v) }

// TestAccuracyIsTheLoop: the threshold of each fold is the best of all distances of the
// other folds, found by trying all.
func TestAccuracyIsTheLoop(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, step := range []float64{0, 0.25} { // ties
		x := matrix.New(80, 1)
		for i := range x.Rows {
			x.Row(i)[0] = float32(rng.NormFloat64())
			if step > 0 {
				x.Row(i)[0] = float32(math.Round(rng.NormFloat64()/step) * step)
			}
		}
		pairs := make([]Pair, 200)
		for n := range pairs {
			p := Pair{A: rng.IntN(80), B: rng.IntN(80), Fold: rng.IntN(5) * 2} // folds 1, 3, ... are empty
			p.Same = math.Abs(float64(x.At(p.A, 0)-x.At(p.B, 0)))+0.5*rng.NormFloat64() < 1
			pairs[n] = p
		}
		l, err := CompareList(context.Background(), x, pairs, CompareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		distance := func(p Pair) float64 { return math.Abs(float64(x.At(p.A, 0)) - float64(x.At(p.B, 0))) }
		var shares []float64
		for f := 0; f < 10; f += 2 {
			best, at := -1, 0.0
			tries := []float64{-1}
			for _, p := range pairs {
				tries = append(tries, distance(p))
			}
			slices.Sort(tries)
			for _, th := range tries {
				right := 0
				for _, p := range pairs {
					if p.Fold != f && (distance(p) <= th) == p.Same {
						right++
					}
				}
				if right > best {
					best, at = right, th
				}
			}
			right, all := 0, 0
			for _, p := range pairs {
				if p.Fold == f {
					all++
					if (distance(p) <= at*(1+1e-9)) == p.Same {
						right++
					}
				}
			}
			shares = append(shares, float64(right)/float64(all))
		}
		mean, variance := moments(shares)
		got, se, err := l.Accuracy()
		if want := math.Sqrt(variance / 4); err != nil || math.Abs(got-mean) > 1e-12 || math.Abs(se-want) > 1e-12 {
			t.Errorf("step %g: %v +- %v, %v; the loop has %v +- %v", step, got, se, err, mean, want)
		}
	}
}

func TestListRefused(t *testing.T) {
	nan := column(0, float32(math.NaN()))
	for _, c := range []struct {
		x     *matrix.Dense
		pairs []Pair
		want  string
	}{
		{nil, nil, "no embeddings"}, {matrix.New(0, 3), nil, "no embeddings"},
		{column(1, 2), nil, "no genuine"},
		{column(1, 2), []Pair{{A: 0, B: 1}}, "no genuine"},
		{column(1, 2), []Pair{{A: 0, B: 1, Same: true}}, "no impostor"},
		{column(1, 2), []Pair{{A: 0, B: 2}}, "rows 0 and 2 of 2"},
		{column(1, 2), []Pair{{A: -1, B: 1}}, "rows -1 and 1"},
		{column(1, 2), []Pair{{Fold: -1}}, "fold -1"},
		{nan, []Pair{{A: 0, B: 1}}, "row 1"},
	} {
		if _, err := CompareList(context.Background(), c.x, c.pairs, CompareOptions{}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q", c.pairs, err, c.want)
		}
	}
	if _, err := CompareList(context.Background(), column(1), nil, CompareOptions{Distance: 9}); err == nil {
		t.Error("an unknown distance is taken")
	}
}

// TestDegenerate: what has no rate says so; what is equal everywhere is decided by chance.
func TestDegenerate(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		x      *matrix.Dense
		labels []int64
		want   error
	}{
		{column(1), []int64{1}, ErrNoGenuine},
		{column(1, 2, 3), []int64{1, 1, 1}, ErrNoImpostor},
		{column(1, 2, 3), []int64{1, 2, 3}, ErrNoGenuine},
	} {
		set := Set{X: c.x, Labels: [][]int64{c.labels}}
		if _, err := ComparePairs(ctx, set, nil, CompareOptions{}); !errors.Is(err, c.want) {
			t.Errorf("%v: %v", c.labels, err)
		}
	}
	for _, c := range []struct {
		s    Set
		want string
	}{
		{Set{}, "there are no query embeddings"}, {Set{X: matrix.New(0, 2)}, "there are no query embeddings"},
		{Set{X: column(1, 2), Labels: [][]int64{{1}}}, "1 query labels"},
		{Set{X: column(1, float32(math.Inf(1))), Labels: [][]int64{{1, 1}}}, "row 1"},
	} {
		_, err := ComparePairs(ctx, c.s, nil, CompareOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q", c.s, err, c.want)
		}
	}
	// All rows are one point: accept all or nothing.
	c, err := ComparePairs(ctx, Set{X: matrix.New(4, 3), Labels: [][]int64{{1, 1, 2, 2}}}, nil, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eer, _ := c.EER()
	if r := c.RatesAtFMR(0.5); r.FMR != 0 || r.FNMR != 1 || r.Threshold >= 0 || c.AUC() != 0.5 || eer != 0.5 ||
		c.DPrime() != 0 {
		t.Errorf("%+v, AUC %v, EER %v, d' %v", r, c.AUC(), eer, c.DPrime())
	}
	if r := c.RatesAtFMR(1); r.FMR != 1 || r.FNMR != 0 || r.Threshold != 0 {
		t.Errorf("%+v", r)
	}
	// Apart for good.
	c, err = NewCounts([]float64{0, 1}, []float64{2, 3})
	if err != nil {
		t.Fatal(err)
	}
	eer, at := c.EER()
	if r := c.RatesAtFMR(0); r.FMR != 0 || r.FNMR != 0 || r.Threshold >= 2 || c.AUC() != 1 || eer != 0 || at >= 2 ||
		at < 1 {
		t.Errorf("%+v, AUC %v, EER %v at %v", r, c.AUC(), eer, at)
	}
	if _, err := NewCounts([]float64{0, math.NaN()}, nil); err == nil ||
		!strings.Contains(err.Error(), "genuine pair 1") {
		t.Errorf("NaN: %v", err)
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	_, err = ComparePairs(stopped, Set{X: column(1, 1, 2), Labels: [][]int64{{1, 1, 2}}}, nil, CompareOptions{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

// TestRatesAreMonotone in the threshold, and every number is on its own side of it.
func TestRatesAreMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	var genuine, impostor []float64
	for range 300 {
		genuine = append(genuine, rng.NormFloat64()*math.Pow(10, float64(rng.IntN(9)-4)))
		impostor = append(impostor, 1+rng.NormFloat64()*math.Pow(10, float64(rng.IntN(9)-4)))
	}
	c, err := NewCounts(genuine, impostor)
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Concat(genuine, impostor, []float64{math.Inf(-1), 0, math.Inf(1), 5e-324})
	slices.Sort(all)
	before := Rates{FNMR: 1}
	for _, at := range all {
		r := c.RatesAt(at)
		if r.FMR < before.FMR || r.FNMR > before.FNMR || r.Threshold > at {
			t.Fatalf("at %v: %+v after %+v", at, r, before)
		}
		before = r
	}
	if before.FMR != 1 || before.FNMR != 0 {
		t.Errorf("at infinity: %+v", before)
	}
	for _, d := range all {
		if u, v := roundUp(d), roundDown(d); u.value() < d || v.value() > d || u-v > 1 || u > v &&
			u.value() == v.value() {
			t.Errorf("%v is between %v and %v", d, v.value(), u.value())
		}
	}
	curve := c.Curve(50)
	if len(curve) > 50 || curve[0].FNMR != 1 || curve[0].FMR != 0 || curve[len(curve)-1].FMR != 1 {
		t.Errorf("a curve of %d points from %+v to %+v", len(curve), curve[0], curve[len(curve)-1])
	}
	for i, r := range curve {
		if c.RatesAt(r.Threshold) != r || i > 0 && (r.FMR < curve[i-1].FMR || r.FNMR > curve[i-1].FNMR) {
			t.Errorf("point %d of the curve is %+v", i, r)
		}
	}
}

// TestResampleIsTheLoop: resamples are what a loop over pairs makes of the same draws, with
// the weights of the pigeonhole bootstrap and without intervals of distances.
func TestResampleIsTheLoop(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	s := randomSet(rng, 120, 2, 8, false)
	ctx := context.Background()
	c, err := ComparePairs(ctx, s, nil, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scores := []Metric{{Kind: FNMR, Rate: 0.05}, {Kind: EER}, {Kind: AUC}, {Kind: DPrime}}
	b := Bootstrap{Resamples: 40, Seed: 5}
	got, err := ResamplePairs(ctx, s, nil, c, scores, b, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tolerance := []float64{0.02, 0.01, 0.005, 0.01}
	for r := range b.Resamples {
		draw := rand.New(rand.NewPCG(5, uint64(r)+1))
		times := make([]int, 8)
		for range times {
			times[draw.IntN(8)]++
		}
		var genuine, impostor []float64
		for i := range s.X.Rows {
			for j := range i {
				d := plainDistance(s.X.Row(i), s.X.Row(j), 0)
				a, b := s.Labels[0][i]+2, s.Labels[0][j]+2
				if a == b {
					genuine = append(genuine, slices.Repeat([]float64{d}, times[a])...)
				} else {
					impostor = append(impostor, slices.Repeat([]float64{d}, times[a]*times[b])...)
				}
			}
		}
		want, err := NewCounts(genuine, impostor)
		if err != nil {
			t.Fatal(err)
		}
		for k, score := range scores {
			w, _ := score.Kind.measure().pairs(want, score.Rate)
			if math.Abs(got[k][r]-w) > tolerance[k]*max(1, math.Abs(w)) {
				t.Errorf("resample %d, score %d: %v, the loop has %v", r, k, got[k][r], w)
			}
		}
	}
	before := runtime.GOMAXPROCS(3)
	again, err := ResamplePairs(ctx, s, nil, c, scores, b, CompareOptions{})
	runtime.GOMAXPROCS(before)
	if err != nil || !slices.EqualFunc(got, again, slices.Equal[[]float64]) {
		t.Errorf("three threads draw otherwise: %v", err)
	}
}

// TestResampleOnce: a draw of every class once is the whole; thousands of classes are put
// into groups and lose none.
func TestResampleOnce(t *testing.T) {
	labels := make([]int64, 3000)
	for i := range labels {
		labels[i] = int64(i / 3)
	}
	groups, _, n := assignGroups(labels, nil, 1)
	if n != maxGroups {
		t.Fatalf("%d groups", n)
	}
	size := make([]int, n)
	for i, g := range groups {
		size[g]++
		if i%3 > 0 && groups[i-1] != g {
			t.Fatal("a class is in two groups")
		}
	}
	if slices.Min(size) < 9 || slices.Max(size) > 12 {
		t.Errorf("groups of %d to %d rows", slices.Min(size), slices.Max(size))
	}
	s := randomSet(rand.New(rand.NewPCG(13, 14)), 200, 3, 20, true)
	c, err := ComparePairs(context.Background(), s, nil, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cells := newGroupCells(c.resamplingThresholds([]Metric{{Kind: EER}}), 20)
	p, _ := newPairProduct(s, nil, CompareOptions{})
	here := make([]int64, len(cells.levels)+1)
	for a := range p.rows {
		for b := range a {
			i, j := int(p.rows[a]), int(p.rows[b])
			here[cells.intervalOf(roundUp(p.distance(i, j)))]++
			cells.addPairs(int32(s.Labels[0][i]+2), int32(s.Labels[0][j]+2), s.Labels[0][i] == s.Labels[0][j], here)
		}
	}
	r := &resampledCounts{means: cells.means(c)}
	if !cells.draw(slices.Repeat([]float64{1}, 20), r) {
		t.Fatal("nothing drawn")
	}
	for l, k := range cells.levels {
		g, i := c.PairsWithin(k.value())
		if r.cumulative[0][l] != float64(g) || r.cumulative[1][l] != float64(i) {
			t.Fatalf("level %d: %v and %v pairs, want %d and %d", l, r.cumulative[0][l], r.cumulative[1][l], g, i)
		}
	}
	if got, want := r.dPrime(), c.DPrime(); math.Abs(got-want) > 1e-9 {
		t.Errorf("d' %v, want %v", got, want)
	}
}

func TestTooFewToResample(t *testing.T) {
	x := column(0, 1, 5)
	s := Set{X: x, Labels: [][]int64{{1, 1, 2}}}
	c, err := ComparePairs(context.Background(), s, nil, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := ResamplePairs(context.Background(), s, nil, c, []Metric{{Kind: AUC}}, Bootstrap{Resamples: 9},
		CompareOptions{})
	if err != nil || slices.Min(got[0]) != 1 { // only the draw of both classes has impostors
		t.Errorf("%v, %v", got, err)
	}
	l, err := CompareList(context.Background(), x, []Pair{{A: 0, B: 1, Same: true}, {A: 1, B: 0}}, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Resample(context.Background(), []Metric{{Kind: AUC}}, Bootstrap{Resamples: 3}); err != nil {
		t.Errorf("one identity: %v", err)
	}
}

// TestIdentities: genuine pairs join items, whatever their order.
func TestIdentities(t *testing.T) {
	l := &PairList{rows: 7, pairs: []Pair{{A: 5, B: 3, Same: true}, {A: 6, B: 5, Same: true}, {A: 0, B: 1},
		{A: 2, B: 1, Same: true}}}
	if got := fmt.Sprint(l.identities()); got != "[0 1 1 3 4 3 3]" {
		t.Error(got)
	}
}
