package par

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

type count struct{ hits []atomic.Int32 }

func (c *count) Run(i int) { c.hits[i].Add(1) }

func TestDoRunsEveryChunkOnce(t *testing.T) {
	for _, procs := range []int{1, 2, 5} {
		old := runtime.GOMAXPROCS(procs)
		for n := range 200 {
			c := &count{make([]atomic.Int32, n)}
			Do(n, c)
			for i := range c.hits {
				if h := c.hits[i].Load(); h != 1 {
					t.Fatalf("GOMAXPROCS %d: chunk %d of %d ran %d times", procs, i, n, h)
				}
			}
		}
		runtime.GOMAXPROCS(old)
	}
}

type slow struct{ done atomic.Int32 }

func (s *slow) Run(int) { time.Sleep(3 * time.Millisecond); s.done.Add(1) }

// The last chunk ends long after the caller has run out of work, so it sleeps.
func TestDoWaitsForOthers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for n := 2; n < 9; n++ {
		s := &slow{}
		Do(n, s)
		if got := s.done.Load(); got != int32(n) {
			t.Fatalf("Do returned after %d of %d chunks", got, n)
		}
	}
}

type nested struct{ total atomic.Int64 }

func (n *nested) Run(int) {
	For(50, 7, func(lo, hi int) { n.total.Add(int64(hi - lo)) })
}

func TestDoNests(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for range 200 {
		n := &nested{}
		Do(20, n)
		if got := n.total.Load(); got != 1000 {
			t.Fatalf("nested loops covered %d of 1000", got)
		}
	}
}

func TestForCoversRange(t *testing.T) {
	for n := range 40 {
		for grain := range 10 {
			hit := make([]atomic.Int32, n)
			For(n, grain, func(lo, hi int) {
				if hi-lo > max(grain, 1) || lo >= hi {
					t.Errorf("range %d..%d with grain %d", lo, hi, grain)
				}
				for i := lo; i < hi; i++ {
					hit[i].Add(1)
				}
			})
			for i := range hit {
				if hit[i].Load() != 1 {
					t.Fatalf("n %d grain %d: element %d covered %d times", n, grain, i, hit[i].Load())
				}
			}
		}
	}
}

func TestDoDoesNotAllocate(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	c := &count{make([]atomic.Int32, 8)}
	if n := testing.AllocsPerRun(1000, func() { Do(8, c) }); n >= 1 {
		t.Errorf("%g allocations a call", n)
	}
}

func BenchmarkDo(b *testing.B) {
	c := &count{make([]atomic.Int32, 8)}
	for b.Loop() {
		Do(8, c)
	}
}
