package serve

import (
	"sync"
	"time"
)

// memoryBudget is the memory that bodies and pictures of all requests share. A request that does
// not fit is refused at once: requests that wait while they hold a part would block each
// other.
type memoryBudget struct {
	mu          sync.Mutex
	used, limit int64
}

// take takes n bytes for something, besides those that the request has taken, or returns
// the reason why not.
func (a *memoryBudget) take(n, taken int64, what string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n > a.limit-taken {
		return tooLarge.newProblem("Send something smaller, or start the server with more memory for requests.",
			"%s needs %d bytes, but all requests together may use %d", what, n+taken, a.limit)
	}
	if n > a.limit-a.used {
		return overloaded.newProblem("Try again in a moment.", "other requests use the memory that %s needs", what).
			withRetry(time.Second)
	}
	a.used += n
	return nil
}

func (a *memoryBudget) give(n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used -= n
}

func (a *memoryBudget) bytesInUse() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used
}

// memoryLoan is the memory that one request has taken.
type memoryLoan struct {
	from *memoryBudget
	n    int64
}

func (l *memoryLoan) take(n int64, what string) error {
	if err := l.from.take(n, l.n, what); err != nil {
		return err
	}
	l.n += n
	return nil
}

// give returns a part before the end of the request.
func (l *memoryLoan) give(n int64) {
	l.from.give(n)
	l.n -= n
}

func (l *memoryLoan) end() {
	l.from.give(l.n)
	l.n = 0
}
