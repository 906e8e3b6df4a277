package critical

import (
	"context"
	"testing"
	"time"
)

// TestLeft asks at moments after a signal how long a process may go on.
func TestLeft(t *testing.T) {
	const grace = time.Second
	ctx, s := WithSections(t.Context())
	signal := time.Now().Add(time.Hour) // later than the end of every section here
	left := func(after time.Duration) time.Duration { return s.TimeLeft(signal, signal.Add(after), grace) }
	if got := left(0); got != grace {
		t.Errorf("%v after a signal outside of sections, want %v", got, grace)
	}
	if got := left(grace); got != 0 {
		t.Errorf("%v after the grace, want 0", got)
	}
	end := Begin(ctx, 0)
	if got := left(time.Minute); got != grace {
		t.Errorf("%v in a section without a limit, want %v, and to be asked again", got, grace)
	}
	end()
	end() // a second time it does nothing
	limited := Begin(ctx, 5*time.Second)
	if got := left(2 * time.Second); got != 3*time.Second {
		t.Errorf("%v in a section of 5 s, 2 s after the signal, want 3 s", got)
	}
	if got := left(5 * time.Second); got != 0 {
		t.Errorf("%v at the limit of a section, want 0", got)
	}
	limited()
	signal = s.ended.Add(-time.Minute) // a section that ended a minute after the signal
	if got := s.TimeLeft(signal, s.ended, grace); got != grace {
		t.Errorf("%v when a section has just ended, want %v", got, grace)
	}
	Begin(context.Background(), 0)() // without With
}
