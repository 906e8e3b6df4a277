package serve

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/store"
)

const (
	// recount is how many times as long as a count took none other is begun: counting
	// takes a twentieth of one core at most, however often items change.
	recount = 19
	// countGrace is how long a request waits for a new count where there is an older one.
	countGrace = 100 * time.Millisecond
)

// counted keeps how many items of which label a collection has.
type counted struct {
	mu      sync.Mutex
	now     *decide.Gallery // nil before the first count
	version uint64          // of the items that it is of
	next    time.Time       // before which no other count begins
	done    chan struct{}   // of the count under way; nil: there is none
	failure error
}

// gallery returns what is known of a collection's labels: of its items as they are, or as
// they were a short time ago. Without labels it has the number of items alone.
func (s *Server) gallery(ctx context.Context, c *collection, info *store.Info) (decide.Gallery, error) {
	label := c.label(info)
	if label == "" {
		return decide.Gallery{Items: info.Items}, nil
	}
	p := &c.counted
	p.mu.Lock()
	due := p.now == nil || p.version != info.Version && time.Now().After(p.next)
	if due && p.done == nil && s.background.Err() == nil {
		p.done = make(chan struct{})
		s.running.Go(func() { s.count(c, label, info.Version) })
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
			return decide.Gallery{}, ctx.Err()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == nil {
		return decide.Gallery{}, fmt.Errorf("counting labels: %w", cmp.Or(p.failure, context.Canceled))
	}
	return *p.now, nil
}

// labelCounts counts the labels of all items.
func labelCounts(ctx context.Context, st store.Store, label string) (map[string]int, error) {
	if counter, ok := st.(store.Counter); ok {
		return counter.Counts(ctx, label)
	}
	count := make(map[string]int)
	err := each(ctx, st, func(it *store.Item) {
		if l := store.FormatValue(it.Columns[label]); l != "" {
			count[l]++
		}
	})
	return count, err
}

// count counts the labels as they are.
func (s *Server) count(c *collection, label string, version uint64) {
	start := time.Now()
	labels, err := labelCounts(s.background, c.Store, label)
	p := &c.counted
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = time.Now().Add(recount * time.Since(start))
	if p.failure = err; err == nil {
		g := decide.Counted(labels)
		p.now, p.version = &g, version
	} else if s.background.Err() == nil {
		s.log.Error("labels were not counted", "collection", c.Name, "error", err)
	}
	close(p.done)
	p.done = nil
}
