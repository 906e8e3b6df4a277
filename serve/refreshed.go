package serve

import (
	"cmp"
	"context"
	"sync"
	"time"
)

const (
	// recount times the duration of a computation is the pause before the next one. Computations then take
	// at most a twentieth of one core, however often items change.
	recount = 19
	// countGrace is how long a request waits for a new value if there is an older one.
	countGrace = 100 * time.Millisecond
)

// refreshed keeps a value that was computed from all items of a collection. It computes the value again in
// the background when a request needs it and items have changed.
type refreshed[T any] struct {
	mu      sync.Mutex
	now     *T            // nil before the first computation
	version uint64        // version of the items of now
	next    time.Time     // earliest time of the next computation
	done    chan struct{} // closed when the running computation ends; nil: none is running
	failure error
}

// get returns the value for the items of a version, or a value a short time old. It waits only for the first
// value. compute runs until it ends or the collection does, even if nobody waits.
func (p *refreshed[T]) get(ctx context.Context, b *background, version uint64,
	compute func(ctx context.Context) (T, error)) (*T, error) {
	p.mu.Lock()
	due := p.now == nil || p.version != version && time.Now().After(p.next)
	if due && p.done == nil && b.ctx.Err() == nil {
		p.begin(b, version, compute)
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
func (p *refreshed[T]) begin(b *background, version uint64, compute func(ctx context.Context) (T, error)) {
	done := make(chan struct{})
	p.done = done
	b.running.Go(func() {
		start := time.Now()
		v, err := compute(b.ctx)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.next = time.Now().Add(recount * time.Since(start))
		if p.failure = err; err == nil {
			p.now, p.version = &v, version
		} else if b.ctx.Err() == nil {
			b.log.Error("computing from all items failed", "error", err)
		}
		close(done)
		p.done = nil
	})
}
