// Package par runs loops on all cores. How a loop is cut into chunks depends
// only on its length, never on GOMAXPROCS, so a computation whose chunks write
// disjoint results (or partial results that are combined in chunk order) gives
// the same bits on any machine.
package par

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Task is a loop body over numbered chunks. Run is called once for every chunk,
// from several goroutines at a time.
type Task interface {
	Run(chunk int)
}

// Do runs t for chunks 0..n-1 and returns when all are done. Which goroutine
// takes which chunk is not fixed. A task kept by the caller and passed by
// pointer makes Do free of allocation.
func Do(n int, t Task) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers <= 1 {
		for i := range n {
			t.Run(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				t.Run(i)
			}
		}()
	}
	wg.Wait()
}

type rangeTask struct {
	n, grain int
	body     func(lo, hi int)
}

func (r *rangeTask) Run(chunk int) {
	lo := chunk * r.grain
	r.body(lo, min(lo+r.grain, r.n))
}

// For cuts [0, n) into consecutive ranges of grain elements (the last may be
// shorter) and runs body on each.
func For(n, grain int, body func(lo, hi int)) {
	grain = max(grain, 1)
	Do((n+grain-1)/grain, &rangeTask{n, grain, body})
}
