package projection

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/ctxtest"
	"github.com/kindred-ml/kindred/matrix"
)

// TestSampled: a sample is placed as t-SNE alone places it, and the others lie beside rows of their
// own group; the same on any number of cores.
func TestSampled(t *testing.T) {
	const n, groups, size = 500, 5, 150
	x := drawBlobs(n, 8, groups, 8)
	c := SampledTSNE{TSNE: TSNE{Seed: 2, Iterations: 300}, Rows: size}
	var first *Map
	for _, procs := range []int{1, 2, 5} {
		old := runtime.GOMAXPROCS(procs)
		m, err := c.Run(t.Context(), x)
		runtime.GOMAXPROCS(old)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = m
		}
		if !slices.Equal(m.X, first.X) || !slices.Equal(m.Y, first.Y) {
			t.Fatalf("%d cores: another map", procs)
		}
	}
	rows := SampleRows(n, size, 2)
	if len(slices.Compact(slices.Clone(rows))) != size || !slices.IsSorted(rows) || rows[0] < 0 || rows[size-1] >= n {
		t.Fatalf("the sample is %v", rows)
	}
	if all := SampleRows(7, 9, 2); len(all) != 7 || all[0] != 0 || all[6] != 6 {
		t.Errorf("9 of 7 rows are %v", all)
	}
	sample := matrix.New(size, x.Cols)
	in := make([]bool, n)
	for k, i := range rows {
		copy(sample.Row(k), x.Row(i))
		in[i] = true
	}
	alone, err := c.TSNE.Run(t.Context(), sample)
	if err != nil {
		t.Fatal(err)
	}
	for k, i := range rows {
		if first.X[i] != alone.X[k] || first.Y[i] != alone.Y[k] {
			t.Fatalf("row %d of the sample is not where t-SNE puts it", i)
		}
	}
	if first.NumPlaced != size || first.KL != alone.KL || first.Iterations != alone.Iterations ||
		first.Perplexity != alone.Perplexity {
		t.Errorf("%+v, of the sample %+v", *first, *alone)
	}
	// Which group a row is of, its nearest row of the sample tells, in the rows as in the map.
	far := 0
	for i := range n {
		if in[i] {
			continue
		}
		high, low := 0, 0
		bestHigh, bestLow := math.Inf(1), math.Inf(1)
		for k, j := range rows {
			sum := 0.0
			for e, v := range x.Row(j) {
				d := float64(v - x.Row(i)[e])
				sum += d * d
			}
			if sum < bestHigh {
				bestHigh, high = sum, k
			}
			if d := math.Hypot(first.X[i]-first.X[j], first.Y[i]-first.Y[j]); d < bestLow {
				bestLow, low = d, k
			}
		}
		if rows[high]%groups != rows[low]%groups {
			far++
		}
	}
	if far > 0 {
		t.Errorf("%d rows lie beside another group", far)
	}
}

// A matrix that the sample would hold whole is placed as ever.
func TestSampledOfFew(t *testing.T) {
	x := drawBlobs(60, 4, 3, 1)
	want, err := TSNE{Iterations: 30}.Run(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range []int{0, 60, 100} {
		got, err := SampledTSNE{TSNE: TSNE{Iterations: 30}, Rows: rows}.Run(t.Context(), x)
		if err != nil || !slices.Equal(got.X, want.X) || !slices.Equal(got.Y, want.Y) {
			t.Errorf("a sample of %d: %v", rows, err)
		}
	}
	one, err := SampledTSNE{Rows: 1}.Run(t.Context(), x)
	if err != nil || slices.Max(one.X) != 0 || slices.Min(one.Y) != 0 {
		t.Errorf("beside one row: %v", err)
	}
	if _, err := (SampledTSNE{Rows: -1}).Run(t.Context(), x); err == nil ||
		!strings.Contains(err.Error(), "at least 1") {
		t.Errorf("a sample of -1 rows: %v", err)
	}
	x.Row(59)[2] = float32(math.NaN())
	if _, err := (SampledTSNE{Rows: 20}).Run(t.Context(), x); err == nil || !strings.Contains(err.Error(), "row 59") {
		t.Errorf("a row that is not finite: %v", err)
	}
}

// The progress of a sampled map never falls and ends at its total.
func TestSampledProgress(t *testing.T) {
	last, end := 0, 0
	c := SampledTSNE{TSNE: TSNE{Iterations: 30}, Rows: 50}
	c.Progress = func(done, total int) {
		if done < last || done > total || end != 0 && total != end {
			t.Errorf("%d of %d after %d of %d", done, total, last, end)
		}
		last, end = done, total
	}
	if _, err := c.Run(t.Context(), drawBlobs(200, 4, 3, 1)); err != nil || last != end || end != 31 {
		t.Errorf("ends at %d of %d, %v", last, end, err)
	}
}

// TestAnchors: an anchor's row lies upon it, also with fewer anchors than a row has neighbours, and
// no row minds which others are placed with it.
func TestAnchors(t *testing.T) {
	for _, n := range []int{1, 2, 14, 15, 16, 100} {
		x := drawBlobs(n, 5, 3, 4)
		rng := rand.New(rand.NewPCG(5, uint64(n)))
		m := &Map{X: make([]float64, n), Y: make([]float64, n)}
		for i := range n {
			m.X[i], m.Y[i] = rng.NormFloat64(), rng.NormFloat64()
		}
		a := NewAnchors(x, m)
		xs, ys, err := a.Place(t.Context(), x)
		if err != nil || !slices.Equal(xs, m.X) || !slices.Equal(ys, m.Y) {
			t.Errorf("%d anchors beside themselves: %v", n, err)
		}
		others := drawBlobs(40, 5, 4, 6)
		xs, ys, err = a.Place(t.Context(), others)
		if err != nil {
			t.Fatal(err)
		}
		for i := range others.Rows {
			x1, y1, err := a.Place(t.Context(), others.RowRange(i, i+1))
			if err != nil || x1[0] != xs[i] || y1[0] != ys[i] {
				t.Fatalf("%d anchors: row %d alone lies elsewhere: %v", n, i, err)
			}
			const near = 1e-12
			if xs[i] < slices.Min(m.X)-near || xs[i] > slices.Max(m.X)+near || ys[i] < slices.Min(m.Y)-near ||
				ys[i] > slices.Max(m.Y)+near {
				t.Errorf("%d anchors: row %d lies outside all of them", n, i)
			}
		}
	}
	a := NewAnchors(drawBlobs(30, 5, 3, 4), &Map{X: make([]float64, 30), Y: make([]float64, 30)})
	if _, _, err := a.Place(t.Context(), drawBlobs(3, 4, 3, 4)); err == nil {
		t.Error("rows of 4 columns lie beside anchors of 5")
	}
	bad := drawBlobs(3, 5, 3, 4)
	bad.Row(1)[0] = float32(math.Inf(1))
	if _, _, err := a.Place(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "row 1") {
		t.Errorf("a row that is not finite: %v", err)
	}
	if xs, _, err := a.Place(t.Context(), matrix.New(0, 5)); err == nil {
		t.Errorf("no rows have %d places", len(xs))
	}
}

// TestMiddle compares with the best of many points, and sees that the minority has no say.
func TestMiddle(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for n := 2; n < 16; n++ {
		at, p := make(points, 2*n), make([]float64, n)
		sum := 0.0
		for e := range p {
			at[2*e], at[2*e+1], p[e] = 10*rng.NormFloat64(), 10*rng.NormFloat64(), rng.Float64()
			sum += p[e]
		}
		for e := range p {
			p[e] /= sum
		}
		cost := func(x, y float64) float64 {
			s := 0.0
			for e, w := range p {
				s += w * math.Hypot(at[2*e]-x, at[2*e+1]-y)
			}
			return s
		}
		x, y := weightedMedian(at, p)
		got := cost(x, y)
		for range 3000 {
			e := rng.IntN(n)
			s := math.Exp(-8 * rng.Float64())
			if c := cost(x+s*(at[2*e]-x), y+s*(at[2*e+1]-y)); c < got*(1-2e-3) {
				t.Fatalf("%d points: %g at the middle, %g elsewhere", n, got, c)
			}
		}
	}
	at, p := make(points, 30), make([]float64, 15)
	for e := range p {
		p[e] = 1. / 15
		if e < 6 {
			at[2*e], at[2*e+1] = 100, 100
		}
	}
	if x, y := weightedMedian(at, p); math.Hypot(x, y) > 1 {
		t.Errorf("9 at the origin and 6 at (100, 100) have their middle at (%g, %g)", x, y)
	}
	for e := range at {
		at[e] = 3
	}
	if x, y := weightedMedian(at, p); math.Abs(x-3)+math.Abs(y-3) > 1e-12 {
		t.Errorf("15 at one place have their middle at (%g, %g)", x, y)
	}
}

func TestSampledStops(t *testing.T) {
	x := drawBlobs(300, 5, 3, 1)
	ctxtest.CheckStops(t, 60, func(ctx context.Context) error {
		_, err := SampledTSNE{TSNE: TSNE{Iterations: 50}, Rows: 100}.Run(ctx, x)
		return err
	})
}
