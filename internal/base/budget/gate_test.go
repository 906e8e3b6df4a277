package budget_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/test/budgettest"
)

// TestGate: those inside need at most half of the limit together, or are alone, and who waits comes in, or ends with
// its context.
func TestGate(t *testing.T) {
	const limit = 1 << 30
	budgettest.Limit(t, limit)
	var g budget.Gate
	var used atomic.Int64
	var all sync.WaitGroup
	for k := range 400 {
		need := int64(k%7+1) * limit / 16
		if k%50 == 0 {
			need = 2 * limit
		}
		all.Go(func() {
			leave, err := g.Enter(t.Context(), need)
			if err != nil {
				t.Error(err)
				return
			}
			if n := used.Add(need); n > limit/2 && n != need {
				t.Errorf("%d bytes at a time", n)
			}
			used.Add(-need)
			leave()
		})
	}
	all.Wait()
	leave, err := g.Enter(t.Context(), limit)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { _, err := g.Enter(ctx, 1); ended <- err }()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	leave()
	if _, err := g.Enter(ctx, limit); err != nil { // there is room, so nothing is waited for
		t.Error(err)
	}
}
