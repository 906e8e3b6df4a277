package cluster

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/matrix"
)

// drawBlobs draws n rows around k centres, spread apart by far.
func drawBlobs(seed uint64, n, d, k int, far float64) (x *matrix.Dense, label []int64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	centres := matrix.New(k, d)
	for i := range centres.Data {
		centres.Data[i] = float32(far * rng.NormFloat64())
	}
	x = matrix.New(n, d)
	label = make([]int64, n)
	for i := range n {
		c := i % k
		label[i] = int64(c)
		for j := range d {
			x.Row(i)[j] = centres.At(c, j) + float32(rng.NormFloat64())
		}
	}
	return x, label
}

func kmeans(t *testing.T, x *matrix.Dense, cfg Config) *Result {
	t.Helper()
	r, err := KMeans(context.Background(), x, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func squared(x, y []float32) float64 {
	var s float64
	for i := range x {
		s += (float64(x[i]) - float64(y[i])) * (float64(x[i]) - float64(y[i]))
	}
	return s
}

// checkResult recomputes what a result claims: that every row has its nearest centroid,
// and the inertia.
func checkResult(t *testing.T, what string, x *matrix.Dense, r *Result) {
	t.Helper()
	var inertia, size float64
	for i := range x.Rows {
		own := squared(x.Row(i), r.Centroids.Row(int(r.Assignment[i])))
		inertia += own
		size += squared(x.Row(i), make([]float32, x.Cols))
		for k := range r.K {
			if d := squared(x.Row(i), r.Centroids.Row(k)); d < own-1e-5*(own+1e-4*size/float64(i+1)) {
				t.Fatalf("%s: row %d is in cluster %d at %g, cluster %d is at %g", what, i, r.Assignment[i], own, k, d)
			}
		}
	}
	if math.Abs(inertia-r.Inertia) > 1e-4*inertia+1e-9*size {
		t.Errorf("%s: inertia %g, recomputed %g", what, r.Inertia, inertia)
	}
}

func TestKMeansAssignsToTheNearest(t *testing.T) {
	for _, size := range []float32{1e-20, 1, 1e18} {
		for _, c := range []struct{ n, d, k int }{{1, 1, 1}, {50, 2, 7}, {700, 33, 40}, {900, 9, 460}} {
			x, _ := drawBlobs(3, c.n, c.d, 5, 2)
			for i := range x.Data {
				x.Data[i] *= size
			}
			for _, init := range []Init{PlusPlus, Random} {
				for _, level := range []simd.Level{simd.AVX512, simd.AVX2} {
					restore := simd.Force(level)
					r := kmeans(t, x, Config{K: c.k, Init: init, Seed: 5})
					restore()
					if size == 1 {
						checkResult(t, init.String(), x, r)
					}
					if !r.Converged || r.Empty != 0 {
						t.Errorf("n %d, K %d, size %g: converged %v, %d empty", c.n, c.k, size, r.Converged, r.Empty)
					}
				}
			}
		}
	}
}

func TestKMeansFindsBlobs(t *testing.T) {
	x, label := drawBlobs(1, 600, 8, 6, 20)
	r := kmeans(t, x, Config{K: 6, Restarts: 5, Seed: 2})
	tab, err := NewTable(label, r.Assignment)
	if err != nil {
		t.Fatal(err)
	}
	if nmi := tab.NMI(Arithmetic); nmi < 1-1e-12 {
		t.Errorf("NMI %g with well-separated blobs", nmi)
	}
}

// Far from the origin, and all but one coordinate equal: float32 products alone
// could not tell the groups apart.
func TestKMeansFarFromTheOrigin(t *testing.T) {
	x := matrix.New(200, 16)
	for i := range x.Rows {
		for j := range x.Cols {
			x.Row(i)[j] = 5000
		}
		x.Row(i)[3] += float32(i%2) / 16
	}
	r := kmeans(t, x, Config{K: 2, Seed: 1})
	for i := range x.Rows {
		if (r.Assignment[i] == r.Assignment[0]) != (i%2 == 0) {
			t.Fatalf("row %d in cluster %d, row 0 in %d", i, r.Assignment[i], r.Assignment[0])
		}
	}
	if r.Inertia != 0 {
		t.Errorf("inertia %g, want 0", r.Inertia)
	}
}

// trap: results that depend on the machine's number of cores, or on nothing.
func TestKMeansSeedFixesEveryBit(t *testing.T) {
	x, _ := drawBlobs(4, 1500, 20, 30, 1)
	for _, cfg := range []Config{
		{K: 30, Seed: 9}, {K: 30, Seed: 9, Init: Random, Restarts: 3}, {K: 30, Seed: 9, BatchSize: 100, Iterations: 20},
	} {
		a := kmeans(t, x, cfg)
		old := runtime.GOMAXPROCS(1)
		b := kmeans(t, x, cfg)
		runtime.GOMAXPROCS(old)
		if a.Inertia != b.Inertia || !slices.Equal(a.Assignment, b.Assignment) ||
			!slices.Equal(a.Centroids.Data, b.Centroids.Data) {
			t.Errorf("%+v: results differ between one core and several", cfg)
		}
		cfg.Seed++
		if c := kmeans(t, x, cfg); slices.Equal(a.Assignment, c.Assignment) {
			t.Errorf("%+v: another seed, the same assignment", cfg)
		}
	}
}

func TestKMeansRestartsKeepTheBest(t *testing.T) {
	x, _ := drawBlobs(6, 300, 2, 25, 5)
	one := kmeans(t, x, Config{K: 25, Init: Random, Seed: 1})
	many := kmeans(t, x, Config{K: 25, Init: Random, Seed: 1, Restarts: 20})
	if many.Inertia >= one.Inertia {
		t.Errorf("inertia %g after 20 starts, %g after one", many.Inertia, one.Inertia)
	}
	checkResult(t, "restarts", x, many)
}

// trap: empty clusters. All rows but a few are equal, so that random starts put
// several centroids on one point.
func TestTrapKMeansEmptyClustersAreRefilled(t *testing.T) {
	x := matrix.New(400, 3)
	for i := range 5 {
		x.Row(i)[0] = float32(i + 1)
	}
	r := kmeans(t, x, Config{K: 6, Init: Random, Seed: 3})
	if r.Empty != 0 || r.Refilled == 0 || r.Inertia != 0 {
		t.Errorf("6 distinct rows in 6 clusters: %d empty, %d refilled, inertia %g", r.Empty, r.Refilled, r.Inertia)
	}
	r = kmeans(t, x, Config{K: 9, Seed: 3})
	if r.Empty != 3 || r.Inertia != 0 {
		t.Errorf("6 distinct rows in 9 clusters: %d empty, inertia %g", r.Empty, r.Inertia)
	}
}

func TestKMeansAllRowsEqual(t *testing.T) {
	x := matrix.New(40, 7)
	for i := range x.Data {
		x.Data[i] = 0.3
	}
	r := kmeans(t, x, Config{K: 4})
	if r.Empty != 3 || r.Inertia != 0 || !r.Converged {
		t.Errorf("%d empty, inertia %g, converged %v", r.Empty, r.Inertia, r.Converged)
	}
	if want := slices.Repeat([]float32{0.3}, 7); !slices.Equal(r.Centroids.Row(int(r.Assignment[0])), want) {
		t.Errorf("centroid %v", r.Centroids.Row(int(r.Assignment[0])))
	}
}

func TestKMeansMiniBatchComesClose(t *testing.T) {
	x, _ := drawBlobs(8, 4000, 10, 20, 1)
	full := kmeans(t, x, Config{K: 20, Seed: 1, Restarts: 3})
	mini := kmeans(t, x, Config{K: 20, Seed: 1, Restarts: 3, BatchSize: 256, Iterations: 60})
	checkResult(t, "mini-batch", x, mini)
	if mini.Inertia > 1.15*full.Inertia {
		t.Errorf("inertia %g in batches, %g in full", mini.Inertia, full.Inertia)
	}
}

func TestKMeansRejects(t *testing.T) {
	x := matrix.New(3, 2)
	for _, cfg := range []Config{{}, {K: -1}, {K: 4}, {K: 2, Restarts: -1}, {K: 2, Iterations: -1},
		{K: 2, BatchSize: -1}} {
		if _, err := KMeans(context.Background(), x, cfg); err == nil {
			t.Errorf("%+v: no error", cfg)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := KMeans(ctx, x, Config{K: 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
