package index

import (
	"runtime"
	"sync"
)

// queryBatcher collects the queries that arrive while others are answered, and answers them
// together afterwards. A query that arrives alone is answered at once.
type queryBatcher struct {
	answer func([]*pendingQuery)

	mu      sync.Mutex
	waiting []*pendingQuery
	busy    bool
}

// maxBatch bounds how many queries a pass answers, and so how long it takes.
const maxBatch = 256

func (b *queryBatcher) enqueue(p *pendingQuery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = append(b.waiting, p)
	if !b.busy {
		b.busy = true
		go b.run()
	}
}

func (b *queryBatcher) run() {
	for {
		b.mu.Lock()
		n := min(len(b.waiting), maxBatch)
		batch := b.waiting[:n:n]
		b.waiting = b.waiting[n:]
		if n == 0 {
			b.busy, b.waiting = false, nil
			b.mu.Unlock()
			return
		}
		b.mu.Unlock()
		b.answer(batch)
		runtime.Gosched() // those who have their answer may ask again for the next pass
	}
}
