package paper

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

// Options say how often, where and at which size an experiment runs.
type Options struct {
	Dir   string // folder of the results
	Seeds int    // runs of each arm; default Experiment.DefaultSeeds
	Seed  uint64 // of the first; the others follow it
	Fast  bool   // on a subset, to check that everything works
	Scale string // name of a scale; "" for the usual one
	// Arms names the arms to run; nil for all.
	Arms []string
	Jobs int // runs at a time; default 1, as one run uses all cores
	// Set are further overrides for all arms, as kindred train takes them.
	Set []string
	// Reuse names folders of other experiments. A finished run there with the same settings and seed
	// is copied, not repeated.
	Reuse []string
	Home  string // folder of data sets by name
	// Weights finds pretrained weights by name, as run.Options has it.
	Weights func(ctx context.Context, name string) (run.Start, error)
	// Observe, if set, gets the events of the runs.
	Observe func(arm string, seed uint64, ev train.Event)
	// Begin, if set, is called before each training.
	Begin func(arm string, seed uint64, s run.Setup)
	// Runner, if set, does the jobs that have no folder yet (see Job). The others are done in this
	// process.
	Runner jobs.Runner
	// Minutes is the training time of each run of a row of the table of recipes; 0 means
	// DefaultMinutes. Peer trains by the recipes of others. Other experiments refuse both.
	Minutes float64
	Peer    Peer

	// What resolve finds: the settings of the scale, those that a sweep chose, and those of a fast
	// run.
	scaled, fast []string
	chosen       *TunedSettings
}

// resolve looks up what the options change in e.
func (o Options) resolve(e *Experiment) (Options, error) {
	s, err := e.scale(o.Scale)
	if err != nil {
		return o, err
	}
	o.scaled = s.Set
	if o.Fast {
		o.fast = e.Fast
	}
	o.chosen, err = e.readTuned(s.Name)
	return o, err
}

// settings returns the settings that come after the arm's Set: the scale's, those that a sweep
// chose, the arm's changes of them, the fast ones, then o.Set.
func (o Options) settings(a *Arm) []string {
	return slices.Concat(o.scaled, o.chosen.arm(a.tunedArm()), a.Change, o.fast, o.Set)
}

// Run is one finished training.
type Run struct {
	Arm     string        `json:"arm"`
	Seed    uint64        `json:"seed"`
	Folder  string        `json:"folder"` // relative to the experiment's
	History []train.Epoch `json:"history"`
	// Scores are those of the kept network, which need not be the last epoch's. Untrained are the
	// scores before training from a pretrained network.
	Scores    []train.Metric `json:"scores,omitempty"`
	Untrained []train.Metric `json:"untrained,omitempty"`
	Params    int            `json:"parameters"`
	Duration  time.Duration  `json:"took_ns"`
	Plan      string         `json:"plan"` // the settings asked for, as YAML
	// From is the run folder that this one was copied from, or empty.
	From string `json:"from,omitempty"`
	// Settled is what the run chose by itself, in a row of a table of many sets.
	Settled *Settled `json:"settled,omitempty"`
}

// measureValue returns a measure of the kept network, in per cent.
func (r *Run) measureValue(m Measure) (float64, error) {
	row := r.History[len(r.History)-1]
	if r.Scores != nil {
		row.Metrics = r.Scores
	}
	v, err := row.Metric(m.Key)
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", r.Folder, err)
	}
	return 100 * v, nil
}

// Reproduce runs all arms of an experiment with all seeds, seed by seed, so that an early stop
// leaves arms that can be compared. It takes finished runs in Dir as they are and resumes
// interrupted ones.
func Reproduce(ctx context.Context, e *Experiment, o Options) (*Outcome, error) {
	o.Seeds, o.Jobs = cmp.Or(max(o.Seeds, 0), e.DefaultSeeds(o.Fast)), max(o.Jobs, 1)
	var err error
	if e, err = e.withArms(o.Arms); err != nil {
		return nil, err
	}
	if o, err = o.resolve(e); err != nil {
		return nil, err
	}
	if e, err = e.addRecipeTasks(o); err != nil {
		return nil, err
	}
	d, err := e.usedData(ctx, o)
	if err != nil {
		return nil, err
	}
	serializeObserve(&o)
	runs, err := e.runs(ctx, o)
	if err != nil {
		return nil, err
	}
	for k := range runs {
		if a := &e.Arms[k%len(e.Arms)]; a.Untrained != "" {
			runs[k] = runs[k-k%len(e.Arms)+e.arm(a.Untrained)].asUntrained(a.Name)
		}
	}
	return newOutcome(ctx, e, runs, o, d)
}

// asUntrained returns the scores before training of r, as a run of the named arm.
func (r *Run) asUntrained(arm string) *Run {
	u := *r
	u.Arm, u.Scores, u.Duration, u.From = arm, r.Untrained, 0, ""
	return &u
}

// serializeObserve serialises the calls of Observe from runs side by side.
func serializeObserve(o *Options) {
	var mu sync.Mutex
	if observe := o.Observe; observe != nil {
		o.Observe = func(arm string, seed uint64, ev train.Event) {
			mu.Lock()
			defer mu.Unlock()
			observe(arm, seed, ev)
		}
	}
	if begin := o.Begin; begin != nil {
		o.Begin = func(arm string, seed uint64, s run.Setup) {
			mu.Lock()
			defer mu.Unlock()
			begin(arm, seed, s)
		}
	}
}

func writeText(path, text string) error {
	return atomic.WriteFile(path, atomic.Bytes([]byte(text)))
}

func writeJSON(path string, v any) error {
	return atomic.WriteFile(path, atomic.JSON(v))
}
