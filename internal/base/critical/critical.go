// Package critical names what a signal must not cut short: the training step under way, a checkpoint that is being
// written, requests that a server still answers. A command that is in nothing of this kind may end at any time,
// because files are written under temporary names and renamed.
package critical

import (
	"context"
	"sync"
	"time"
)

// Sections are the critical sections of a process. Its methods may be called by several goroutines.
type Sections struct {
	mu    sync.Mutex
	open  map[*section]bool
	ended time.Time // of the last one
}

// section may last as long as most after a signal; 0: as long as it takes.
type section struct{ most time.Duration }

type key struct{}

// WithSections returns a context in which Begin counts sections.
func WithSections(ctx context.Context) (context.Context, *Sections) {
	s := &Sections{open: map[*section]bool{}}
	return context.WithValue(ctx, key{}, s), s
}

// Begin declares a critical section, which ends by a call of end. After a signal it holds the end of the process up
// for at most the duration most, or for as long as it lasts if most is 0. Without With it does nothing.
func Begin(ctx context.Context, most time.Duration) (end func()) {
	s, ok := ctx.Value(key{}).(*Sections)
	if !ok {
		return func() {}
	}
	c := &section{most}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[c] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open[c] {
			delete(s.open, c)
			s.ended = time.Now()
		}
	}
}

// TimeLeft returns how long to wait at now until the process may be ended, at which time Left is to be asked
// again; 0 if it may be ended now. It may be ended when no section has been open for grace after a signal.
// Work between two sections takes less than that.
func (s *Sections) TimeLeft(signal, now time.Time, grace time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := signal.Add(grace)
	if after := s.ended.Add(grace); after.After(end) {
		end = after
	}
	for c := range s.open {
		limit := signal.Add(c.most)
		if c.most == 0 {
			limit = now.Add(grace)
		}
		if limit.After(end) {
			end = limit
		}
	}
	return max(0, end.Sub(now))
}
