// Package batch runs the jobs of several goroutines together, for work that only one goroutine at a time may do
// and that is cheaper for many jobs at once, such as passes of a network.
package batch

import (
	"context"
	"slices"
	"sync"
)

// Queue collects jobs while a batch runs, and runs them together after it. No job waits for a batch to fill: the
// busier the queue, the larger the batches. It starts no goroutine, so it needs no end.
type Queue[T any] struct {
	maxBatch int
	run      func([]T)
	turn     chan struct{} // held by the goroutine that runs a batch

	mu      sync.Mutex
	waiting []*entry[T] // in the order of arrival
}

// entry is a job in the queue.
type entry[T any] struct {
	job  T
	done chan struct{} // closed when the job has run
}

// New returns a queue of batches of at most most jobs. One goroutine at a time calls run, which runs every job and
// must not panic.
func New[T any](most int, run func(jobs []T)) *Queue[T] {
	return &Queue[T]{maxBatch: most, run: run, turn: make(chan struct{}, 1)}
}

// Do runs a job, in a batch with the jobs of other goroutines. If ctx ends before the job begins, Do returns the error
// of ctx and the job does not run. Otherwise Do returns nil when the job has run.
func (q *Queue[T]) Do(ctx context.Context, job T) error {
	e := &entry[T]{job, make(chan struct{})}
	q.mu.Lock()
	q.waiting = append(q.waiting, e)
	q.mu.Unlock()
	for {
		select {
		case <-e.done:
			return nil
		case <-ctx.Done():
			if q.withdraw(e) {
				return ctx.Err()
			}
			<-e.done
			return nil
		case q.turn <- struct{}{}:
			q.next()
		}
	}
}

// withdraw takes a job out of the queue; false if it has begun.
func (q *Queue[T]) withdraw(e *entry[T]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, e)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// next runs the next batch, if there is one, and gives the turn back.
func (q *Queue[T]) next() {
	defer func() { <-q.turn }()
	q.mu.Lock()
	batch := slices.Clone(q.waiting[:min(q.maxBatch, len(q.waiting))])
	q.waiting = slices.Delete(q.waiting, 0, len(batch))
	q.mu.Unlock()
	if len(batch) == 0 {
		return
	}
	jobs := make([]T, len(batch))
	for i, e := range batch {
		jobs[i] = e.job
	}
	q.run(jobs)
	for _, e := range batch {
		close(e.done)
	}
}

// DoExclusive calls f while no batch runs. It returns the error of ctx if ctx ends before.
func (q *Queue[T]) DoExclusive(ctx context.Context, f func() error) error {
	select {
	case q.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-q.turn }()
	return f()
}
