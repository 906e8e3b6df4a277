package batch

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// Every job of many goroutines runs exactly once, never two batches at a time, in batches of the stated size at most.
func TestQueue(t *testing.T) {
	const goroutines, each, most = 32, 200, 5
	var running, batches atomic.Int32
	var largest int
	q := New(most, func(jobs []*int) {
		if running.Add(1) != 1 {
			t.Error("two batches at a time")
		}
		defer running.Add(-1)
		batches.Add(1)
		largest = max(largest, len(jobs))
		for range 2 * goroutines {
			runtime.Gosched() // so that others arrive
		}
		for _, n := range jobs {
			*n++
		}
	})
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for range each {
				n := 0
				if err := q.Do(t.Context(), &n); err != nil || n != 1 {
					t.Errorf("a job ran %d times: %v", n, err)
				}
			}
		})
	}
	all.Wait()
	if n := int(batches.Load()); n >= goroutines*each || n < goroutines*each/most || largest != most {
		t.Errorf("%d jobs in %d batches of up to %d", goroutines*each, n, largest)
	}
	if len(q.waiting) != 0 || len(q.turn) != 0 {
		t.Errorf("%d jobs wait, and the turn is taken %d times", len(q.waiting), len(q.turn))
	}
}

// A job whose context ends does not run, the others do, and the queue goes on.
func TestQueueEnds(t *testing.T) {
	q := New(4, func(jobs []*int) {
		for _, n := range jobs {
			*n++
		}
	})
	begun, goOn := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		if err := q.DoExclusive(t.Context(), func() error { close(begun); <-goOn; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-begun
	ended, end := context.WithCancel(t.Context())
	end()
	left, kept := 0, 0
	if err := q.Do(ended, &left); !errors.Is(err, context.Canceled) {
		t.Errorf("of a context that has ended: %v", err)
	}
	if err := q.DoExclusive(ended, func() error { t.Error("it ran"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("alone: %v", err)
	}
	all.Go(func() {
		if err := q.Do(t.Context(), &kept); err != nil {
			t.Error(err)
		}
	})
	close(goOn)
	all.Wait()
	if left != 0 || kept != 1 {
		t.Errorf("the ended job ran %d times, the other %d times", left, kept)
	}
}
