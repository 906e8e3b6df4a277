package par

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/ctxtest"
)

func TestForContextStops(t *testing.T) {
	for _, procs := range []int{1, 2, 5} {
		old := runtime.GOMAXPROCS(procs)
		for _, at := range []int{0, 1, 7, 39, 40, 100} {
			ctx := ctxtest.NewCountdown(at)
			var ran atomic.Int64
			err := ForContext(ctx, 100, 0, func(lo, hi int) {
				ran.Add(int64(hi - lo))
			})
			switch {
			case at < 100 && !errors.Is(err, context.Canceled):
				t.Errorf("GOMAXPROCS %d, cancelled at %d: error %v", procs, at, err)
			case at == 100 && err != nil:
				t.Errorf("GOMAXPROCS %d: all ranges ran, and yet %v", procs, err)
			case ran.Load() != int64(at):
				t.Errorf("GOMAXPROCS %d: %d of 100 ranges ran, cancelled at %d", procs, ran.Load(), at)
			}
		}
		runtime.GOMAXPROCS(old)
	}
}

func TestForContextCoversRange(t *testing.T) {
	for n := range 20 {
		for grain := range 7 {
			hit := make([]atomic.Int32, n)
			err := ForContext(t.Context(), n, grain, func(lo, hi int) {
				if hi-lo > max(grain, 1) || lo >= hi {
					t.Errorf("range %d..%d with grain %d", lo, hi, grain)
				}
				for i := lo; i < hi; i++ {
					hit[i].Add(1)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range hit {
				if hit[i].Load() != 1 {
					t.Fatalf("n %d grain %d: element %d covered %d times", n, grain, i, hit[i].Load())
				}
			}
		}
	}
}
