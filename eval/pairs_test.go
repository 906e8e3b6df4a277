package eval

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// randomSet makes rows of small integers, of which many are equal and whose distances tie,
// or of any coordinates.
func randomSet(rng *rand.Rand, n, d, classes int, ties bool) Set {
	s := Set{X: matrix.New(n, d), Labels: [][]int64{make([]int64, n)}}
	for i := range n {
		s.Labels[0][i] = int64(rng.IntN(classes)) - 2
		for j := range d {
			if ties {
				s.X.Row(i)[j] = float32(rng.IntN(3))
				continue
			}
			s.X.Row(i)[j] = float32(rng.NormFloat64() + 0.5*float64(s.Labels[0][i]))
		}
	}
	return s
}

// distances lists those of all pairs by a plain loop in float64.
func distances(q Set, gallery *Set, d Distance) (genuine, impostor []float64) {
	g := q
	if gallery != nil {
		g = *gallery
	}
	for i := range q.X.Rows {
		for j := range g.X.Rows {
			if gallery == nil && j <= i {
				continue
			}
			v := plainDistance(q.X.Row(i), g.X.Row(j), d)
			if q.Labels[0][i] == g.Labels[0][j] {
				genuine = append(genuine, v)
			} else {
				impostor = append(impostor, v)
			}
		}
	}
	return genuine, impostor
}

func plainDistance(x, y []float32, d Distance) float64 {
	var xx, yy, xy, square float64
	for k := range x {
		a, b := float64(x[k]), float64(y[k])
		xx, yy, xy, square = xx+a*a, yy+b*b, xy+a*b, square+(a-b)*(a-b)
	}
	switch d {
	case Cosine:
		if xx == 0 || yy == 0 {
			return 1
		}
		return 1 - xy/math.Sqrt(xx)/math.Sqrt(yy)
	case Dot:
		return -xy
	}
	return math.Sqrt(square)
}

func count(distances []float64, within func(float64) bool) (n int64) {
	for _, d := range distances {
		if within(d) {
			n++
		}
	}
	return n
}

// TestCompareIsThePlainLoop: at every threshold the rates are those that a loop over all
// pairs counts, and RatesAtFMR is the largest threshold that keeps to what was wanted.
func TestCompareIsThePlainLoop(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name    string
		ties    bool
		gallery bool
		d       Distance
	}{
		{"euclidean", false, false, Euclidean}, {"ties", true, false, Euclidean},
		{"gallery", false, true, Euclidean}, {"cosine", false, false, Cosine},
		{"dot", false, true, Dot}, {"dot ties", true, false, Dot},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := randomSet(rng, 400, 5, 9, c.ties)
			var g *Set
			if c.gallery {
				s := randomSet(rng, 300, 5, 12, c.ties)
				g = &s
			}
			got, err := ComparePairs(context.Background(), q, g, CompareOptions{Distance: c.d})
			if err != nil {
				t.Fatal(err)
			}
			genuine, impostor := distances(q, g, c.d)
			if got.Genuine() != int64(len(genuine)) || got.Impostor() != int64(len(impostor)) {
				t.Fatalf("%d genuine and %d impostor pairs, want %d and %d", got.Genuine(), got.Impostor(),
					len(genuine), len(impostor))
			}
			checkRates(t, got, genuine, impostor, c.ties)
		})
	}
}

func checkRates(t *testing.T, got *Counts, genuine, impostor []float64, ties bool) {
	t.Helper()
	sorted := slices.Sorted(slices.Values(impostor))
	for _, fmr := range []float64{0, 1e-9, 1e-3, 0.01, 0.1, 0.25, 0.5, 0.999, 1, 2, math.NaN()} {
		r := got.RatesAtFMR(fmr)
		// Sums in another order may differ in the last bit, which a threshold of 20 bits
		// does not see but for distances that tie at it; those of integers are exact.
		within := func(d float64) bool { return d <= r.Threshold }
		fm, fn := count(impostor, within), int64(len(genuine))-count(genuine, within)
		if r.FMR != ratio(fm, int64(len(impostor))) || r.FNMR != ratio(fn, int64(len(genuine))) {
			t.Errorf("FMR %g: %v, a loop has %d of %d and %d of %d", fmr, r, fm, len(impostor), fn, len(genuine))
		}
		if r.FMR > max(fmr, 0) {
			t.Errorf("FMR %g: got %v", fmr, r.FMR)
		}
		if again := got.RatesAt(r.Threshold); again != r {
			t.Errorf("At(%v) is %v, AtFMR said %v", r.Threshold, again, r)
		}
		// The next larger threshold would be too much.
		if !(fmr >= 1) && !(r.FMR == 1) {
			next := (roundUp(r.Threshold) + 1).value()
			if n := got.RatesAt(next).FMR; n <= max(fmr, 0) {
				t.Errorf("FMR %g: the threshold %v could be %v, with %v", fmr, r.Threshold, next, n)
			}
		}
		// And it is the naive selection, up to the rounding of the threshold.
		if k := int(math.Floor(max(fmr, 0) * float64(len(impostor)) * (1 + 1e-15))); fmr < 1 && k < len(sorted) {
			least := int64(len(genuine)) - count(genuine, func(d float64) bool { return d < sorted[k] })
			slack := count(genuine, func(d float64) bool { return d < sorted[k] && d > sorted[k]*(1-1e-5) })
			if ties {
				slack = 0
			}
			if fn < least || fn > least+slack {
				t.Errorf("FMR %g: %d genuine pairs are not accepted, want %d", fmr, fn, least)
			}
		}
	}
}

// TestScoresAreTheirDefinitions: AUC, EER and d' by loops over the distances.
func TestScoresAreTheirDefinitions(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, ties := range []bool{false, true} {
		q := randomSet(rng, 90, 4, 5, ties)
		got, err := ComparePairs(context.Background(), q, nil, CompareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		genuine, impostor := distances(q, nil, Euclidean)
		var u float64
		for _, g := range genuine {
			for _, i := range impostor {
				if g < i {
					u++
				} else if g == i {
					u += 0.5
				}
			}
		}
		if want := u / float64(len(genuine)) / float64(len(impostor)); math.Abs(got.AUC()-want) > 1e-12 {
			t.Errorf("ties %v: AUC %v, Mann-Whitney has %v", ties, got.AUC(), want)
		}
		mg, vg := moments(genuine)
		mi, vi := moments(impostor)
		if want := (mi - mg) / math.Sqrt((vg+vi)/2); math.Abs(got.DPrime()-want) > 1e-5 {
			t.Errorf("ties %v: d' %v, want %v", ties, got.DPrime(), want)
		}
		rate, threshold := got.EER()
		at, next := got.RatesAt(threshold), got.RatesAt((roundUp(threshold) + 1).value())
		if at.FMR > at.FNMR || next.FMR <= next.FNMR {
			t.Errorf("ties %v: EER at %v, where FMR %v and FNMR %v, then %v", ties, threshold, at.FMR, at.FNMR, next)
		}
		if rate < at.FMR || rate > next.FMR || rate > at.FNMR || rate < next.FNMR {
			t.Errorf("ties %v: EER %v is not between %v and %v", ties, rate, at, next)
		}
	}
}

func moments(v []float64) (mean, variance float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		variance += (x - mean) * (x - mean) / float64(len(v))
	}
	return mean, variance
}

// TestThreads: any number of cores gives the same counts.
func TestThreads(t *testing.T) {
	q := randomSet(rand.New(rand.NewPCG(5, 6)), 1100, 7, 40, false)
	var want *Counts
	for _, n := range []int{1, 2, 7} {
		before := runtime.GOMAXPROCS(n)
		got, err := ComparePairs(context.Background(), q, nil, CompareOptions{})
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got.keys, want.keys) || !slices.Equal(got.genuine, want.genuine) ||
			!slices.Equal(got.impostor, want.impostor) {
			t.Errorf("%d threads count otherwise", n)
		}
	}
}

// TestCarried: counts beyond 32 bits are whole, in one histogram and in the sum of two.
func TestCarried(t *testing.T) {
	var a, b histogram
	keys := []key{roundUp(0.5), roundUp(0.5), roundUp(-3)}
	a.addAll(keys)
	b.addAll(keys)
	at := uint32(roundUp(0.5) + keyOffset)
	a.pages[at>>pageBits][at%(1<<pageBits)] = math.MaxUint32
	a.addAll(keys[:1])
	if n := a.count(at); n != 1<<32 {
		t.Errorf("%d, want %d", n, int64(1)<<32)
	}
	b.pages[at>>pageBits][at%(1<<pageBits)] = math.MaxUint32 - 1
	a.addAll(keys[:2])
	a.merge(&b)
	if n := a.count(at); n != 1<<32+2+math.MaxUint32-1 {
		t.Errorf("%d after the merge, want %d", n, int64(1)<<32+2+math.MaxUint32-1)
	}
	if n := a.count(uint32(roundUp(-3) + keyOffset)); n != 2 {
		t.Errorf("%d of the other, want 2", n)
	}
}

// TestColumn: of several columns of labels one says which pairs are genuine.
func TestColumn(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	s, other := randomSet(rng, 40, 3, 5, false), randomSet(rng, 40, 3, 7, false)
	both := Set{X: s.X, Labels: [][]int64{other.Labels[0], s.Labels[0]}}
	ctx := context.Background()
	want, err := ComparePairs(ctx, s, nil, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := ComparePairs(ctx, both, nil, CompareOptions{Column: 1})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %d genuine pairs, want %d", err, got.Genuine(), want.Genuine())
	}
	for _, column := range []int{-1, 2} {
		if _, err := ComparePairs(ctx, both, nil, CompareOptions{Column: column}); err == nil {
			t.Errorf("column %d is one of two", column)
		}
	}
}

// TestResampledKinds: what is no metric of the pairs, or of the probes, is not taken for one.
func TestResampledKinds(t *testing.T) {
	ctx := context.Background()
	s := randomSet(rand.New(rand.NewPCG(5, 5)), 40, 3, 9, false)
	c, err := ComparePairs(ctx, s, nil, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b := Bootstrap{Resamples: 2}
	for _, m := range []Metric{{Kind: Recall, K: 1}, {Kind: Accuracy}, {Kind: DIR, Rate: 0.1}, {Kind: FNMR}} {
		if _, err := ResamplePairs(ctx, s, nil, c, []Metric{m}, b, CompareOptions{}); err == nil {
			t.Errorf("%s is resampled from pairs", m)
		}
	}
	if _, err := (&OpenSet{}).Resample(ctx, []Metric{{Kind: EER}}, b); err == nil {
		t.Error("eer is resampled from probes")
	}
	if _, err := (&PairList{}).Resample(ctx, []Metric{{Kind: FNIR, Rate: 0.1}}, b); err == nil {
		t.Error("fnir is resampled from a list of pairs")
	}
}
