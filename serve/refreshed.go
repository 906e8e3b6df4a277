package serve

import (
	"cmp"
	"context"
	"sync"
	"time"
)

const (
	// recount is how many times as long as a computation took none other is begun: it takes a
	// twentieth of one core at most, however often items change.
	recount = 19
	// countGrace is how long a request waits for a new value where there is an older one.
	countGrace = 100 * time.Millisecond
)

// refreshed keeps what was computed from all items of a collection, and computes it again in
// the background when somebody asks for it and items have changed.
type refreshed[T any] struct {
	mu      sync.Mutex
	now     *T            // nil before the first
	version uint64        // of the items that it is of
	next    time.Time     // before which no other is begun
	done    chan struct{} // closed when the running computation ends; nil: none is running
	failure error
}

// get returns what was computed of the items as they are in a version, or as they were a short
// time ago; it waits for the first alone. compute works on it until the server stops, whoever waits.
func (p *refreshed[T]) get(ctx context.Context, s *Server, version uint64,
	compute func(ctx context.Context) (T, error)) (*T, error) {
	p.mu.Lock()
	due := p.now == nil || p.version != version && time.Now().After(p.next)
	if due && p.done == nil && s.background.Err() == nil {
		p.begin(s, version, compute)
	}
	done, old := p.done, p.now
	p.mu.Unlock()
	if done != nil {
		var grace <-chan time.Time
		if old != nil {
			grace = time.After(countGrace)
		}
		select {
		case <-done:
		case <-grace:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == nil {
		return nil, cmp.Or(p.failure, context.Canceled)
	}
	return p.now, nil
}

// begin computes in the background.
func (p *refreshed[T]) begin(s *Server, version uint64, compute func(ctx context.Context) (T, error)) {
	done := make(chan struct{})
	p.done = done
	s.running.Go(func() {
		start := time.Now()
		v, err := compute(s.background)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.next = time.Now().Add(recount * time.Since(start))
		if p.failure = err; err == nil {
			p.now, p.version = &v, version
		} else if s.background.Err() == nil {
			s.log.Error("items were not gone through", "error", err)
		}
		close(done)
		p.done = nil
	})
}
