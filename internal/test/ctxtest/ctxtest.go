// Package ctxtest checks, without a clock, that a computation stops when its
// context is cancelled. The context counts the calls of Err (looks) and is
// cancelled at a given look.
package ctxtest

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// Countdown is a context that is cancelled from the n-th call of Err on.
type Countdown struct {
	n     int64
	looks atomic.Int64
	done  chan struct{}
}

// NewCountdown returns a context whose Err is nil n times, or always if n < 0.
func NewCountdown(n int) *Countdown { return &Countdown{n: int64(n), done: make(chan struct{})} }

// Err counts a look.
func (c *Countdown) Err() error {
	looks := c.looks.Add(1)
	if c.n < 0 || looks <= c.n {
		return nil
	}
	if looks == c.n+1 {
		close(c.done)
	}
	return context.Canceled
}

// Done is closed when Err first returns an error.
func (c *Countdown) Done() <-chan struct{} { return c.done }

// Deadline and Value return nothing.
func (c *Countdown) Deadline() (time.Time, bool) { return time.Time{}, false }
func (c *Countdown) Value(any) any               { return nil }

// Calls returns how often Err was called.
func (c *Countdown) Calls() int { return int(c.looks.Load()) }

// CheckStops runs compute to its end on two cores, and checks that it takes at least atLeast
// looks at the context. It then runs compute with a context that is cancelled at the
// first look, at the last, and at some between. Each time compute must return
// context.Canceled, wrapped, and take at most 16 further looks. These come from the
// other core and from callers that ask for the reason; more would mean that compute
// continues.
func CheckStops(t *testing.T, atLeast int, compute func(ctx context.Context) error) {
	t.Helper()
	const after = 16
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	whole := NewCountdown(-1)
	if err := compute(whole); err != nil {
		t.Fatalf("uninterrupted: %v", err)
	}
	total := whole.Calls()
	if total < atLeast {
		t.Errorf("%d looks at the context in a whole run, want at least %d", total, atLeast)
	}
	for _, at := range []int{0, 1, total / 4, total / 2, total - total/4, total - 1} {
		if at < 0 || at >= total {
			continue
		}
		ctx := NewCountdown(at)
		err := compute(ctx)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled after %d of %d looks: error %v, want context.Canceled", at, total, err)
		} else if err == context.Canceled {
			t.Errorf("cancelled after %d of %d looks: the error does not say what was under way", at, total)
		}
		if more := ctx.Calls() - at; more > after {
			t.Errorf("cancelled after %d of %d looks: went on for %d more", at, total, more)
		}
	}
}
