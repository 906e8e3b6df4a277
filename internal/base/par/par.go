// Package par runs loops on all cores. How a loop is cut into chunks depends
// only on its length, never on GOMAXPROCS, so a computation whose chunks write
// disjoint results (or partial results that are combined in chunk order) gives
// the same bits on any machine.
package par

import "runtime"

// Task is a loop body over numbered chunks. Run is called once for every chunk,
// from several goroutines at a time.
type Task interface {
	Run(chunk int)
}

// Do runs t for chunks 0..n-1 and returns when all are done. Which goroutine
// takes which chunk is not fixed. The caller works too, and alone if no other
// core is free, so tasks may call Do. A task kept by the caller and passed by
// pointer makes Do free of allocation. A panic in Run is not recovered.
func Do(n int, t Task) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers <= 1 {
		runSequential(n, t)
		return
	}
	pool.grow(workers - 1)
	j := pool.free.Get().(*job)
	j.task, j.n = t, int64(n)
	j.next.Store(0)
	j.left.Store(int64(n))
	for range workers - 1 {
		j.refs.Add(1)
		select {
		case pool.queue <- j:
		default: // everyone is busy; the caller does the rest
			j.refs.Add(-1)
		}
	}
	j.work()
	j.wait()
	j.release()
}

// DoIf is Do if the work is worth sharing. If not, the caller does it alone.
func DoIf(worth bool, n int, t Task) {
	if worth {
		Do(n, t)
	} else {
		runSequential(n, t)
	}
}

func runSequential(n int, t Task) {
	for i := range n {
		t.Run(i)
	}
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
