package par

import (
	"sync"
	"sync/atomic"
)

// idleSpins is how often an idle worker, or a caller whose last chunks run
// elsewhere, looks for news before it sleeps: ten to twenty microseconds, which
// is what waking a sleeper costs. Layers of a network follow each other faster.
const idleSpins = 4000

// callerSleeps is added to a job's count of chunks left when its caller sleeps.
const callerSleeps = int64(1) << 40

// A job is one call of Do. It goes back to the pool when its caller and every
// worker that it was queued for have let go of it, so a worker that comes late
// finds it exhausted, never reused.
type job struct {
	task       Task
	n          int64
	next, left atomic.Int64
	refs       atomic.Int64
	done       chan struct{}
}

func newJob() any {
	j := &job{done: make(chan struct{}, 1)}
	j.refs.Store(1)
	return j
}

// work runs chunks until none is left to take.
func (j *job) work() {
	for i := j.next.Add(1) - 1; i < j.n; i = j.next.Add(1) - 1 {
		j.task.Run(int(i))
		if j.left.Add(-1) == callerSleeps {
			j.done <- struct{}{}
		}
	}
}

// wait returns when all chunks are done.
func (j *job) wait() {
	for range idleSpins {
		if j.left.Load() == 0 {
			return
		}
	}
	if j.left.Add(callerSleeps) != callerSleeps {
		<-j.done
	}
}

func (j *job) release() {
	if j.refs.Add(-1) == 0 {
		j.task = nil
		j.refs.Store(1)
		pool.free.Put(j)
	}
}

// workers is a set of goroutines that outlive the loops they help with.
type workers struct {
	queue   chan *job
	free    sync.Pool
	started atomic.Int64
	mu      sync.Mutex
}

// pool serves the whole process. Its goroutines start when they are first
// needed and never end.
var pool = workers{queue: make(chan *job, 64), free: sync.Pool{New: newJob}}

// grow makes sure that at least n workers exist.
func (w *workers) grow(n int) {
	if w.started.Load() >= int64(n) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for ; w.started.Load() < int64(n); w.started.Add(1) {
		go w.serve()
	}
}

func (w *workers) serve() {
	for {
		j := w.next()
		j.work()
		j.release()
	}
}

func (w *workers) next() *job {
	for range idleSpins {
		select {
		case j := <-w.queue:
			return j
		default:
		}
	}
	return <-w.queue
}
