package par

import (
	"context"
	"sync/atomic"
)

// ForContext is For with a context: it checks ctx before each range and starts
// no further range once ctx is done. It then returns ctx.Err(), and the results
// of body are incomplete. It returns nil if body has run on all ranges.
func ForContext(ctx context.Context, n, grain int, body func(lo, hi int)) error {
	grain = max(grain, 1)
	t := &contextTask{rangeTask: rangeTask{n, grain, body}, ctx: ctx}
	Do((n+grain-1)/grain, t)
	if t.stopped.Load() {
		return ctx.Err()
	}
	return nil
}

// contextTask is a rangeTask that can be stopped.
type contextTask struct {
	rangeTask
	ctx     context.Context
	stopped atomic.Bool
}

func (c *contextTask) Run(chunk int) {
	switch {
	case c.stopped.Load():
	case c.ctx.Err() != nil:
		c.stopped.Store(true)
	default:
		c.rangeTask.Run(chunk)
	}
}
