package budget

import (
	"context"
	"sync"
)

// Gate shares half of the limit among those who work at a time, each of whom knows what it needs. Who needs more than
// that works alone. The zero value is ready.
type Gate struct {
	mu   sync.Mutex
	used int64
	left chan struct{} // closed when somebody leaves; nil if nobody waits
}

// Enter waits until there is room for so many bytes, or ctx ends. leave gives them back.
func (g *Gate) Enter(ctx context.Context, bytes int64) (leave func(), err error) {
	for {
		left, ok := g.enter(bytes)
		if ok {
			return func() { g.leave(bytes) }, nil
		}
		select {
		case <-left:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (g *Gate) enter(bytes int64) (left <-chan struct{}, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.used == 0 || Sum(g.used, bytes) <= Limit()/2 {
		g.used = Sum(g.used, bytes)
		return nil, true
	}
	if g.left == nil {
		g.left = make(chan struct{})
	}
	return g.left, false
}

func (g *Gate) leave(bytes int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.used -= bytes
	if g.left != nil {
		close(g.left)
		g.left = nil
	}
}
