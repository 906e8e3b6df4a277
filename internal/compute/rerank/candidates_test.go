package rerank

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/test/ctxtest"
	"github.com/kindred-ml/kindred/internal/test/rowtest"
	"github.com/kindred-ml/kindred/matrix"
)

var distances = []eval.Distance{eval.Euclidean, eval.Cosine, eval.Dot}

// found returns rows 1.. of x as the candidates of row 0, nearest first.
func found(x *matrix.Dense, by eval.Distance) *Candidates {
	c := &Candidates{Query: x.Row(0), X: x.RowRange(1, x.Rows), By: by}
	sorted := matrix.New(c.X.Rows, x.Cols)
	for k, i := range Order(c.distancesFrom(c.Query)) {
		copy(sorted.Row(k), c.X.Row(i))
	}
	c.X = sorted
	return c
}

// draw returns m candidates of a kind of rows.
func draw(kind string, m int, by eval.Distance) *Candidates {
	x := matrix.New(m+1, 5)
	rowtest.Kinds[kind](rand.New(rand.NewPCG(uint64(m), 7)), x)
	return found(x, by)
}

// forEachCase calls check with candidates of every kind, number and distance.
func forEachCase(t *testing.T, check func(t *testing.T, c *Candidates)) {
	for kind := range rowtest.Kinds {
		for _, by := range distances {
			for _, m := range []int{0, 1, 2, 9, 40} {
				t.Run(fmt.Sprintf("%s/%s/%d", kind, by, m), func(t *testing.T) { check(t, draw(kind, m, by)) })
			}
		}
	}
}

// apart returns the distance of two rows by the definition in package eval.
func (c *Candidates) apart(x, y []float32) float64 {
	return eval.DistanceFunc(matrix.FromSlice(1, len(x), x), matrix.FromSlice(1, len(y), y), c.By)(0, 0)
}

// checkNear fails if values differ by more than tolerance, relative to the largest.
func checkNear(t *testing.T, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d values, want %d", len(got), len(want))
	}
	size := 1e-300
	for _, v := range want {
		size = max(size, math.Abs(v))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tolerance*size) {
			t.Errorf("value %d is %.17g, want %.17g", i, got[i], want[i])
		}
	}
}

func TestOrder(t *testing.T) {
	if got := Order([]float64{2, 1, 2, -1, 1}); !slices.Equal(got, []int{3, 1, 4, 0, 2}) {
		t.Errorf("order %v", got)
	}
	if got := Order(nil); len(got) != 0 {
		t.Errorf("order of nothing: %v", got)
	}
}

func TestLongFunctionsStop(t *testing.T) {
	c := draw("normal", 900, eval.Cosine)
	distance := c.distancesFrom(c.Query)
	for name, compute := range map[string]func(ctx context.Context) error{
		"KReciprocal": func(ctx context.Context) error {
			_, err := c.KReciprocal(ctx, K1, K2, Lambda)
			return err
		},
		"Diverse": func(ctx context.Context) error {
			_, err := c.Diverse(ctx, distance, 50, 0.5)
			return err
		},
		"NearCopies": func(ctx context.Context) error {
			_, err := c.NearCopies(ctx, 0.1, 0)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { ctxtest.CheckStops(t, 100, compute) })
	}
}

// The results have the same bits for any number of threads.
func TestThreads(t *testing.T) {
	c := draw("duplicates", 700, eval.Cosine)
	compute := func() (all []float64) {
		a, err := c.KReciprocal(t.Context(), K1, K2, Lambda)
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.Diverse(t.Context(), a, 40, 0.5)
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.NearCopies(t.Context(), 0.05, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range append(b, d...) {
			all = append(all, float64(i))
		}
		return append(all, a...)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	want := compute()
	for _, procs := range []int{2, 5} {
		runtime.GOMAXPROCS(procs)
		if !slices.Equal(compute(), want) {
			t.Errorf("%d threads give another result", procs)
		}
	}
}

func TestShapesPanic(t *testing.T) {
	c := draw("normal", 4, eval.Cosine)
	for name, f := range map[string]func(){
		"dimensions": func() { (&Candidates{Query: c.Query[:3], X: c.X}).AlphaQE(1, 1) },
		"distances":  func() { _, _ = c.Diverse(t.Context(), make([]float64, 3), 2, 0.5) },
		"n":          func() { c.AlphaQE(-1, 1) },
		"alpha":      func() { c.AlphaQE(1, math.NaN()) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// Numbers outside their range are errors.
func TestRanges(t *testing.T) {
	c, ctx := draw("normal", 4, eval.Cosine), t.Context()
	errs := map[string]error{}
	_, errs["k1"] = c.KReciprocal(ctx, 0, 1, 0.5)
	_, errs["k2"] = c.KReciprocal(ctx, 1, 0, 0.5)
	_, errs["lambda above"] = c.KReciprocal(ctx, 1, 1, 1.1)
	_, errs["lambda NaN"] = c.KReciprocal(ctx, 1, 1, math.NaN())
	_, errs["k"] = c.Diverse(ctx, make([]float64, 4), -1, 0.5)
	_, errs["lambda below"] = c.Diverse(ctx, make([]float64, 4), 1, -0.1)
	_, errs["within"] = c.NearCopies(ctx, math.NaN(), 0)
	for name, err := range errs {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
