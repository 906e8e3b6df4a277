package serve

import (
	"cmp"
	"context"
	"sync"
	"time"
)

const (
	// refreshPauseFactor times the duration of a computation is the pause before the next one. Computations then take
	// at most a twentieth of one core, however often items change.
	refreshPauseFactor = 19
	// refreshWait is how long a request waits for a new value if there is an older one.
	refreshWait = 100 * time.Millisecond
)

// refreshedValue keeps a value that was computed from all items of a collection. It computes the value again in
// the background when a request needs it and items have changed.
type refreshedValue[T any] struct {
	mu      sync.Mutex
	current *T            // nil before the first computation
	version uint64        // version of the items of now
	next    time.Time     // earliest time of the next computation
	done    chan struct{} // closed when the running computation ends; nil: none is running
	failure error
}

// get returns the value for the items of a version, or a value a short time old. It waits only for the first
// value. compute runs until it ends or the collection does, even if nobody waits.
func (p *refreshedValue[T]) get(ctx context.Context, b *backgroundWork, version uint64,
	compute func(ctx context.Context) (T, error)) (*T, error) {
	p.mu.Lock()
	due := p.current == nil || p.version != version && time.Now().After(p.next)
	if due && p.done == nil && b.ctx.Err() == nil {
		p.startComputing(b, version, compute)
	}
	done, old := p.done, p.current
	p.mu.Unlock()
	if done != nil {
		var grace <-chan time.Time
		if old != nil {
			grace = time.After(refreshWait)
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
	if p.current == nil {
		return nil, cmp.Or(p.failure, context.Canceled)
	}
	return p.current, nil
}

// startComputing computes in the background.
func (p *refreshedValue[T]) startComputing(b *backgroundWork, version uint64,
	compute func(ctx context.Context) (T, error)) {
	done := make(chan struct{})
	p.done = done
	b.running.Go(func() {
		start := time.Now()
		v, err := compute(b.ctx)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.next = time.Now().Add(refreshPauseFactor * time.Since(start))
		if p.failure = err; err == nil {
			p.current, p.version = &v, version
		} else if b.ctx.Err() == nil {
			b.log.Error("computing from all items failed", "error", err)
		}
		close(done)
		p.done = nil
	})
}
