package projection

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// drawBlobs returns n rows around k centres.
func drawBlobs(n, d, k int, seed uint64) *matrix.Dense {
	r := rand.New(rand.NewPCG(seed, 1))
	centres := matrix.New(k, d)
	for i := range centres.Data {
		centres.Data[i] = float32(3 * r.NormFloat64())
	}
	x := matrix.New(n, d)
	for i := range n {
		for j := range d {
			x.Row(i)[j] = centres.Row(i % k)[j] + float32(r.NormFloat64())
		}
	}
	return x
}

func randomPoints(n int, spread float64, seed uint64) points {
	r := rand.New(rand.NewPCG(seed, 2))
	y := make(points, 2*n)
	for i := range y {
		y[i] = spread * r.NormFloat64()
	}
	return y
}

// perplexityOf is the definition: two to the entropy in bits.
func perplexityOf(p []float64) float64 {
	h := 0.0
	for _, v := range p {
		if v > 0 {
			h -= v * math.Log2(v)
		}
	}
	return math.Exp2(h)
}

func TestBandwidthReachesPerplexity(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, n := range []int{2, 5, 91, 1000} {
		for _, scale := range []float64{1e-12, 1, 1e12} {
			d := make([]float64, n)
			for j := range d {
				v := r.NormFloat64()
				d[j] = scale * (3 + v*v)
			}
			for _, want := range []float64{1.01, 1.9, 4, 30, 300, 999} {
				if want >= float64(n) {
					continue
				}
				p := make([]float64, n)
				beta, logZ := bandwidth(d, want, p)
				if got := perplexityOf(p); math.Abs(got-want) > 1e-5*want {
					t.Errorf("n %d scale %g: perplexity %g, want %g", n, scale, got, want)
				}
				for j, v := range d {
					if e := math.Exp(-beta*v - logZ); math.Abs(e-p[j]) > 1e-9 {
						t.Fatalf("p[%d] = %g, but exp(-beta d - log Z) = %g", j, p[j], e)
					}
				}
			}
		}
	}
}

func TestBandwidthDegenerate(t *testing.T) {
	for name, d := range map[string][]float64{
		"all zero":      make([]float64, 10),
		"all equal":     {2, 2, 2, 2},
		"many ties":     {0, 0, 0, 0, 0, 0, 5},
		"one":           {3},
		"tiny and huge": {1e-300, 1, 1e300},
	} {
		p := make([]float64, len(d))
		bandwidth(d, 2.5, p)
		total := 0.0
		for _, v := range p {
			if math.IsNaN(v) || v < 0 {
				t.Errorf("%s: p = %v", name, p)
			}
			total += v
		}
		if math.Abs(total-1) > 1e-9 {
			t.Errorf("%s: p sums to %g", name, total)
		}
	}
}

func TestNearestIsExact(t *testing.T) {
	x := drawBlobs(333, 7, 5, 1)
	copy(x.Row(17), x.Row(4)) // a duplicate
	const k = 12
	nb, err := findNeighbours(context.Background(), x, k)
	if err != nil {
		t.Fatal(err)
	}
	for i := range x.Rows {
		ds := make([]float64, x.Rows)
		for j := range ds {
			for c := range x.Cols {
				v := float64(x.At(i, c)) - float64(x.At(j, c))
				ds[j] += v * v
			}
		}
		limit := 0.0
		seen := map[int32]bool{}
		for e := range k {
			j := nb.index[i*k+e]
			if int(j) == i || seen[j] {
				t.Fatalf("row %d: neighbour %d is itself or repeated", i, j)
			}
			seen[j] = true
			if got := nb.dist[i*k+e]; math.Abs(got-ds[j]) > 1e-5*(1+ds[j]) {
				t.Fatalf("row %d: distance to %d is %g, want %g", i, j, got, ds[j])
			}
			limit = max(limit, ds[j])
		}
		for j, d := range ds {
			if j != i && !seen[int32(j)] && d < limit-1e-4 {
				t.Fatalf("row %d: %d at %g was passed over for one at %g", i, j, d, limit)
			}
		}
	}
	if nb.dist[4*k+indexOf(nb.index[4*k:5*k], 17)] != 0 {
		t.Error("duplicates are not at distance 0")
	}
}

// Rows of two groups far apart, whose differences within a group are lost in float32
// products: the nearest are told apart all the same, ties by the lowest index.
func TestNearestAmongNearDuplicates(t *testing.T) {
	const n, d, k = 120, 9, 7
	rng := rand.New(rand.NewPCG(5, 6))
	x := matrix.New(n, d)
	for i := range n {
		for j := range d {
			x.Row(i)[j] = float32(2*(i%2)-1) + float32(rng.IntN(9)-4)/(1<<16)
		}
	}
	nb, err := findNeighbours(context.Background(), x, k)
	if err != nil {
		t.Fatal(err)
	}
	c, _ := centreColumns(x)
	for i := range n {
		square := make([]float64, n)
		var order []int32
		for j := range n {
			for e, v := range c.Row(j) {
				diff := float64(c.Row(i)[e]) - float64(v)
				square[j] += diff * diff
			}
			if j != i {
				order = append(order, int32(j))
			}
		}
		slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(square[a], square[b]) })
		got := slices.Clone(nb.index[i*k : (i+1)*k])
		want := order[:k]
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("row %d: neighbours %v, want %v", i, got, want)
		}
	}
}

func indexOf(s []int32, v int32) int {
	for i, w := range s {
		if w == v {
			return i
		}
	}
	return -1
}

func TestAffinitiesAreSymmetricAndSumToOne(t *testing.T) {
	x := drawBlobs(150, 5, 3, 2)
	nb, err := findNeighbours(context.Background(), x, 20)
	if err != nil {
		t.Fatal(err)
	}
	a, err := computeAffinities(t.Context(), nb, 150, 6)
	if err != nil {
		t.Fatal(err)
	}
	dense := make([][]float64, 150)
	total := 0.0
	for i := range dense {
		dense[i] = make([]float64, 150)
		for e := a.start[i]; e < a.start[i+1]; e++ {
			if e > a.start[i] && a.col[e] <= a.col[e-1] {
				t.Fatalf("row %d: columns not ascending", i)
			}
			dense[i][a.col[e]] = float64(a.p[e])
			total += float64(a.p[e])
		}
	}
	for i := range dense {
		if dense[i][i] != 0 {
			t.Errorf("p[%d][%d] = %g", i, i, dense[i][i])
		}
		for j := range dense {
			if dense[i][j] != dense[j][i] {
				t.Fatalf("p[%d][%d] = %g, p[%d][%d] = %g", i, j, dense[i][j], j, i, dense[j][i])
			}
		}
	}
	if math.Abs(total-1) > 1e-5 {
		t.Errorf("affinities sum to %g", total)
	}
}

// klByDefinition computes sum p log(p/q) from the definition.
func klByDefinition(a *affinities, y points) float64 {
	n := y.len()
	q := func(i, j int) float64 {
		dx, dy := y[2*i]-y[2*j], y[2*i+1]-y[2*j+1]
		return 1 / (1 + dx*dx + dy*dy)
	}
	z := 0.0
	for i := range n {
		for j := range n {
			if i != j {
				z += q(i, j)
			}
		}
	}
	kl := 0.0
	for i := range n {
		for e := a.start[i]; e < a.start[i+1]; e++ {
			if p := float64(a.p[e]); p > 0 {
				kl += p * math.Log(p/(q(i, int(a.col[e]))/z))
			}
		}
	}
	return kl
}

func TestGradientByFiniteDifferences(t *testing.T) {
	x := drawBlobs(40, 5, 3, 4)
	nb, err := findNeighbours(context.Background(), x, 39)
	if err != nil {
		t.Fatal(err)
	}
	y := randomPoints(40, 1.5, 5)
	a, err := computeAffinities(t.Context(), nb, 40, 8)
	if err != nil {
		t.Fatal(err)
	}
	d := &descent{affinities: a, repulsion: &exactRepulsion{}, y: y}
	z, err := d.gradient(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := d.affinities.divergence(y, z), klByDefinition(d.affinities, y); math.Abs(got-want) > 1e-10 {
		t.Errorf("divergence %g, by definition %g", got, want)
	}
	for i := range y {
		const h = 1e-5
		keep := y[i]
		y[i] = keep + h
		up := klByDefinition(d.affinities, y)
		y[i] = keep - h
		down := klByDefinition(d.affinities, y)
		y[i] = keep
		// The affinities are float32 and sum to 1 within 1e-6, so the
		// derivative is only that exact.
		if want := (up - down) / (2 * h); math.Abs(d.attraction[i]-want) > 1e-6 {
			t.Fatalf("gradient[%d] = %g, finite difference %g", i, d.attraction[i], want)
		}
	}
}

func TestFieldMatchesPairs(t *testing.T) {
	for _, c := range []struct {
		n      int
		spread float64
		limit  float64 // relative error of the forces and of Z
	}{
		{500, 1e-4, 1e-4}, {500, 0.1, 1e-4}, {1500, 1, 0.01}, {1500, 10, 0.02}, {1500, 40, 0.02},
	} {
		y := randomPoints(c.n, c.spread, 6)
		exact, field := make(points, 2*c.n), make(points, 2*c.n)
		ze, err := (&exactRepulsion{}).repel(t.Context(), y, exact)
		if err != nil {
			t.Fatal(err)
		}
		zf, err := (&fieldRepulsion{}).repel(t.Context(), y, field)
		if err != nil {
			t.Fatal(err)
		}
		var diff, norm float64
		for i := range exact {
			diff += (exact[i] - field[i]) * (exact[i] - field[i])
			norm += exact[i] * exact[i]
		}
		rel := math.Sqrt(diff / norm)
		t.Logf("spread %g: relative error %.2g, Z %.2g", c.spread, rel, zf/ze-1)
		if rel > c.limit || math.Abs(zf/ze-1) > c.limit {
			t.Errorf("spread %g: relative error of the forces %g, of Z %g; limit %g", c.spread, rel, zf/ze-1, c.limit)
		}
	}
}

func TestRunParts(t *testing.T) {
	for _, m := range []Method{Exact, Field} {
		x := drawBlobs(600, 20, 4, 7)
		mp, err := TSNE{Method: m, Iterations: 400, Perplexity: 20}.Run(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		// Nearest neighbour in the map has the same centre almost always.
		right := 0
		for i := range x.Rows {
			best, at := math.Inf(1), 0
			for j := range x.Rows {
				if d := math.Hypot(mp.X[i]-mp.X[j], mp.Y[i]-mp.Y[j]); j != i && d < best {
					best, at = d, j
				}
			}
			if at%4 == i%4 {
				right++
			}
		}
		if right < 590 {
			t.Errorf("method %d: %d of 600 rows lie next to one of their own", m, right)
		}
		kl, err := Divergence(context.Background(), x, mp.X, mp.Y, 20)
		if err != nil {
			t.Fatal(err)
		}
		if m == Exact && math.Abs(kl-mp.KL) > 1e-4 {
			t.Errorf("Divergence %g, reported %g", kl, mp.KL)
		}
		if kl > 1.2 {
			t.Errorf("method %d: divergence %g", m, kl)
		}
	}
}

func TestSameBitsOnAnyNumberOfCores(t *testing.T) {
	x := drawBlobs(700, 12, 5, 8)
	run := func(procs int, m Method, seed uint64) *Map {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		mp, err := TSNE{Method: m, Iterations: 30, Seed: seed}.Run(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		return mp
	}
	for _, m := range []Method{Exact, Field} {
		a, b, other := run(1, m, 1), run(4, m, 1), run(4, m, 2)
		same := true
		for i := range a.X {
			if a.X[i] != b.X[i] || a.Y[i] != b.Y[i] {
				t.Fatalf("method %d: point %d differs between 1 and 4 threads", m, i)
			}
			same = same && a.X[i] == other.X[i]
		}
		if same {
			t.Errorf("method %d: another seed gave the same map", m)
		}
	}
}

func TestFieldSameBits(t *testing.T) {
	y := randomPoints(3000, 12, 14)
	run := func(procs int) points {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		out := make(points, len(y))
		if _, err := (&fieldRepulsion{}).repel(t.Context(), y, out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	a, b := run(1), run(3)
	for i := range a {
		if a[i] != b[i] {
			t.Fatalf("force %d differs: %g and %g", i, a[i], b[i])
		}
	}
}

func TestDivergingMapIsAnError(t *testing.T) {
	_, err := TSNE{LearningRate: 1e300, Iterations: 50}.Run(context.Background(), drawBlobs(30, 3, 2, 1))
	if err == nil || !strings.Contains(err.Error(), "diverged") {
		t.Errorf("error %v", err)
	}
}

func TestDegenerateMaps(t *testing.T) {
	ctx := context.Background()
	equal := matrix.New(50, 3)
	for i := range equal.Data {
		equal.Data[i] = 7
	}
	dup := drawBlobs(60, 4, 2, 9)
	for i := range 30 {
		copy(dup.Row(2*i), dup.Row(0))
	}
	huge := drawBlobs(40, 4, 2, 10)
	for i := range huge.Data {
		huge.Data[i] *= 1e30
	}
	for name, x := range map[string]*matrix.Dense{
		"one row": matrix.New(1, 3), "two rows": drawBlobs(2, 3, 1, 1), "three rows": drawBlobs(3, 3, 1, 1),
		"all equal": equal, "half equal": dup, "huge values": huge, "one column": drawBlobs(50, 1, 2, 3),
	} {
		for _, m := range []Method{Exact, Field} {
			mp, err := TSNE{Method: m, Iterations: 120}.Run(ctx, x)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if len(mp.X) != x.Rows || len(mp.Y) != x.Rows || math.IsNaN(mp.KL) {
				t.Errorf("%s: %d points, KL %g", name, len(mp.X), mp.KL)
			}
			for i := range mp.X {
				if math.IsNaN(mp.X[i]) || math.IsInf(mp.Y[i], 0) {
					t.Fatalf("%s: point %d at (%g, %g)", name, i, mp.X[i], mp.Y[i])
				}
			}
		}
	}
	nan := drawBlobs(5, 2, 1, 1)
	nan.Row(3)[1] = float32(math.NaN())
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for _, c := range []struct {
		x    *matrix.Dense
		cfg  TSNE
		ctx  context.Context
		want string
	}{
		{nan, TSNE{}, ctx, "row 3"},
		{matrix.New(0, 3), TSNE{}, ctx, "no rows"},
		{matrix.New(3, 0), TSNE{}, ctx, "0 columns"},
		{drawBlobs(20, 2, 1, 1), TSNE{Perplexity: 20}, ctx, "perplexity 20 with 20 rows"},
		{drawBlobs(20, 2, 1, 1), TSNE{Perplexity: math.NaN()}, ctx, "perplexity NaN"},
		{drawBlobs(20, 2, 1, 1), TSNE{Perplexity: 0.5}, ctx, "perplexity 0.5"},
		{drawBlobs(20, 2, 1, 1), TSNE{Iterations: -1}, ctx, "-1 iterations"},
		{drawBlobs(20, 2, 1, 1), TSNE{Method: 9}, ctx, "method 9"},
		{drawBlobs(20, 2, 1, 1), TSNE{}, cancelled, "canceled"},
	} {
		if _, err := c.cfg.Run(c.ctx, c.x); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}
