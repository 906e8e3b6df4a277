package eval

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// probeByLoop is what a probe finds by a loop in float64.
type probeByLoop struct {
	label         int64
	nearest, mate float64
	mated, right  bool
}

func lookUpByLoop(q Set, gallery *Set, d Distance) (out []probeByLoop) {
	g := q
	if gallery != nil {
		g = *gallery
	}
	for i := range q.X.Rows {
		f := probeByLoop{label: q.Labels[0][i], nearest: math.Inf(1), mate: math.Inf(1)}
		for j := range g.X.Rows {
			if gallery == nil && i == j {
				continue
			}
			v, same := plainDistance(q.X.Row(i), g.X.Row(j), d), q.Labels[0][i] == g.Labels[0][j]
			if v < f.nearest {
				f.nearest, f.right = v, same
			}
			if same {
				f.mated, f.mate = true, min(f.mate, v)
			}
		}
		out = append(out, f)
	}
	return out
}

// TestIdentifyIsThePlainLoop with and without a gallery, with ties and without.
func TestIdentifyIsThePlainLoop(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, c := range []struct {
		ties, gallery bool
		d             Distance
	}{{false, true, Euclidean}, {true, true, Euclidean}, {false, false, Euclidean},
		{false, true, Cosine}, {true, true, Dot}} {
		q := randomSet(rng, 200, 6, 12, c.ties)
		var g *Set
		if c.gallery {
			s := randomSet(rng, 90, 6, 7, c.ties)
			g = &s
		} else { // some are the only ones of their class
			for i := range 30 {
				q.Labels[0][i] = int64(1000 + i)
			}
		}
		o, err := Identify(context.Background(), q, g, CompareOptions{Distance: c.d})
		if err != nil {
			t.Fatal(err)
		}
		all := lookUpByLoop(q, g, c.d)
		mated, right := 0, 0
		for _, f := range all {
			if f.mated {
				mated++
				if f.right {
					right++
				}
			}
		}
		if o.NumMated() != mated || o.NumUnmated() != len(all)-mated || o.Rank1() != float64(right)/float64(mated) {
			t.Fatalf("%+v: %d mated, %d not, rank 1 %v; the loop has %d, %d, %d", c, o.NumMated(), o.NumUnmated(),
				o.Rank1(),
				mated, len(all)-mated, right)
		}
		for _, fpir := range []float64{0, 0.01, 0.05, 0.3, 0.5, 0.99, 1} {
			r := o.RatesAtFPIR(fpir)
			var want OpenSetRates
			missed := 0
			for _, f := range all {
				switch {
				case !f.mated && f.nearest <= r.Threshold:
					want.FPIR++
				case f.mated && !(f.mate <= r.Threshold):
					missed++
				}
				if f.mated && f.right && f.nearest <= r.Threshold {
					want.DIR++
				}
			}
			want = OpenSetRates{r.Threshold, want.FPIR / float64(o.NumUnmated()), float64(missed) / float64(mated),
				want.DIR / float64(mated)}
			if r != want || r.FPIR > fpir {
				t.Errorf("%+v at %g: %+v, the loop has %+v", c, fpir, r, want)
			}
			if next := o.RatesAt((roundUp(r.Threshold) + 1).value()); fpir < 1 && next.FPIR <= fpir {
				t.Errorf("%+v at %g: the threshold could be %v", c, fpir, next.Threshold)
			}
			if 1-r.FNIR < r.DIR-1e-12 {
				t.Errorf("%+v at %g: FNIR %v and DIR %v", c, fpir, r.FNIR, r.DIR)
			}
		}
		if r := o.RatesAtFPIR(1); r.FPIR != 1 || r.FNIR != 0 || r.DIR != o.Rank1() {
			t.Errorf("%+v: all accepted is %+v", c, r)
		}
	}
}

// TestOpenResampleIsTheLoop: a class that is drawn twice counts twice.
func TestOpenResampleIsTheLoop(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	q, g := randomSet(rng, 150, 3, 12, false), randomSet(rng, 60, 3, 6, false)
	o, err := Identify(context.Background(), q, &g, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scores := []Metric{{Kind: FNIR, Rate: 0.1}, {Kind: DIR, Rate: 0.1}, {Kind: FNIR, Rate: 0.9}}
	got, err := o.Resample(context.Background(), scores, Bootstrap{Resamples: 30, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	classes := slices.Sorted(slices.Values(q.Labels[0]))
	classes = slices.Compact(classes)
	all := lookUpByLoop(q, &g, 0)
	for r := range 30 {
		draw := rand.New(rand.NewPCG(3, uint64(r)+1))
		times := map[int64]int{}
		for range classes {
			times[classes[draw.IntN(len(classes))]]++
		}
		var drawn []probeByLoop
		for _, f := range all {
			drawn = append(drawn, slices.Repeat([]probeByLoop{f}, times[f.label])...)
		}
		var again OpenSet
		for _, f := range drawn {
			if !f.mated {
				again.unmated = append(again.unmated, probe{roundUp(f.nearest), 0})
				continue
			}
			again.mate = append(again.mate, probe{roundUp(f.mate), 0})
			if f.right {
				again.rank1 = append(again.rank1, probe{roundUp(f.nearest), 0})
			}
		}
		for _, l := range [][]probe{again.unmated, again.mate, again.rank1} {
			slices.SortFunc(l, func(a, b probe) int { return int(a.key) - int(b.key) })
		}
		for s, score := range scores {
			if want := score.Kind.measure().probes(again.RatesAtFPIR(score.Rate)); math.Abs(got[s][r]-want) > 1e-12 {
				t.Errorf("resample %d, score %d: %v, the loop has %v", r, s, got[s][r], want)
			}
		}
	}
}

func TestIdentifyRefused(t *testing.T) {
	one := Set{X: column(1, 2, 3), Labels: [][]int64{{1, 1, 1}}}
	apart := Set{X: column(1, 2, 3), Labels: [][]int64{{1, 2, 3}}}
	for _, c := range []struct {
		q    Set
		g    *Set
		want error
	}{
		{one, nil, ErrNoUnmated}, {apart, nil, ErrNoMated}, {apart, &apart, ErrNoUnmated},
		{Set{X: column(1), Labels: [][]int64{{9}}}, &one, ErrNoMated},
		{Set{X: column(1), Labels: [][]int64{{1}}}, nil, ErrNoMated},
	} {
		if _, err := Identify(context.Background(), c.q, c.g, CompareOptions{}); !errors.Is(err, c.want) {
			t.Errorf("%v: %v, want %v", c.q.Labels[0], err, c.want)
		}
	}
	nan := Set{X: column(float32(math.NaN())), Labels: [][]int64{{1}}}
	if _, err := Identify(context.Background(), nan, &one, CompareOptions{}); err == nil {
		t.Error("NaN is looked up")
	}
	// One class of each kind of probes: half of all draws lack one, and are made again.
	q := Set{X: column(1, 5), Labels: [][]int64{{1, 2}}}
	o, err := Identify(context.Background(), q, &one, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := o.Resample(context.Background(), []Metric{{Kind: FNIR, Rate: 0.5}}, Bootstrap{Resamples: 20})
	if err != nil || slices.Max(got[0]) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}
