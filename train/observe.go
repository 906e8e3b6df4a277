package train

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/objective"
)

// Event reports the progress of a run.
type Event struct {
	Stage         Stage
	Epoch, Epochs int // the epoch under way, from 1
	Step, Steps   int // steps done, and steps in the epoch
	Samples       int // number of samples trained on by this process
	Elapsed       time.Duration
	Result        objective.Result // result of the last step, with Stage Stepped
	Row           *Epoch           // the epoch that ended, with Stage EpochEnd
	// Best is the best epoch so far, with Config.BestRule; 0 before the first.
	Best int
}

// Stage is what a run has just done. Its text form is its name.
type Stage int

// The stages.
const (
	Started  Stage = iota // everything is set up
	Stepped               // one step
	Scoring               // an evaluation begins
	EpochEnd              // an epoch ended, evaluated or not
	// Stopping means that the context has ended, and that the run ends after the work under way.
	// This event is sent at once, from another goroutine than the other events.
	Stopping
)

var stageNames = [...]string{Started: "started", Stepped: "stepped", Scoring: "scoring", EpochEnd: "epoch end",
	Stopping: "stopping"}

// String returns the stage's name.
func (s Stage) String() string {
	if s < 0 || int(s) >= len(stageNames) {
		return fmt.Sprintf("Stage(%d)", int(s))
	}
	return stageNames[s]
}

// MarshalText returns the stage's name.
func (s Stage) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText sets the stage by name.
func (s *Stage) UnmarshalText(text []byte) error {
	for i, name := range stageNames {
		if name == string(text) {
			*s = Stage(i)
			return nil
		}
	}
	return fmt.Errorf("unknown stage %q: must be one of %s", text, strings.Join(stageNames[:], ", "))
}

// observer calls an observing function, one call at a time, and never after the end of the run.
type observer struct {
	mu       sync.Mutex
	f        func(Event)
	last     Event
	began    time.Time
	stopping bool
	closed   bool
}

// notify passes an event on.
func (o *observer) notify(e Event) {
	if o.f == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = e
	o.send(e)
}

func (o *observer) send(e Event) {
	e.Elapsed = time.Since(o.began)
	o.f(e)
}

// watch sends Stopping as soon as ctx ends, until close is called.
func (o *observer) watch(ctx context.Context) (close func()) {
	if o.f == nil {
		return func() {}
	}
	unwatch := context.AfterFunc(ctx, o.stop)
	return func() {
		unwatch()
		if ctx.Err() != nil {
			o.stop() // a stopped run always sends Stopping
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.closed = true
	}
}

// stop sends Stopping once.
func (o *observer) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopping || o.closed {
		return
	}
	o.stopping = true
	e := o.last
	e.Stage, e.Result, e.Row = Stopping, objective.Result{}, nil
	o.send(e)
}
