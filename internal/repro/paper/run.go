package paper

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/atomic"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

// Options say how often, where and how large an experiment is run.
type Options struct {
	Dir   string // folder of the results
	Seeds int    // runs of each arm; default Experiment.DefaultSeeds
	Seed  uint64 // of the first; the others follow it
	Fast  bool   // on a subset, to see that everything works
	Scale string // name of one of the experiment's scales; "": its usual one
	// Arms names those to run; none: all.
	Arms []string
	Jobs int // runs at a time; default 1, as one run uses all cores
	// Set are further overrides for all arms, as kindred train takes them.
	Set []string
	// Reuse names folders of other experiments. A finished run there with the
	// very settings and seed of one that is wanted here is copied, not repeated.
	Reuse []string
	Home  string // folder of data sets by name
	// Weights finds pretrained weights by name, as run.Options has it.
	Weights func(ctx context.Context, name string) (run.Start, error)
	// Observe, if set, hears how the run under way is doing.
	Observe func(arm string, seed uint64, ev train.Event)
	// Begin, if set, is told what is about to be trained.
	Begin func(arm string, seed uint64, s run.Setup)

	// What resolve finds: the scale's settings, those that a sweep chose, and what a
	// fast run changes.
	scaled, fast []string
	chosen       *Chosen
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
	o.chosen, err = e.chosen(s.Name)
	return o, err
}

// settings are those that come after the arm's Set: the scale's, what a sweep chose, what
// the arm changes of that, the fast ones, then o.Set.
func (o Options) settings(a *Arm) []string {
	return slices.Concat(o.scaled, o.chosen.arm(a.tuned()), a.Change, o.fast, o.Set)
}

// Run is one finished training.
type Run struct {
	Arm     string        `json:"arm"`
	Seed    uint64        `json:"seed"`
	Folder  string        `json:"folder"` // relative to the experiment's
	History []train.Epoch `json:"history"`
	// Scores are those of the network that the run kept, if that need not be the
	// last epoch's, and Untrained those that a pretrained network started with.
	Scores    []train.Metric `json:"scores,omitempty"`
	Untrained []train.Metric `json:"untrained,omitempty"`
	Params    int            `json:"parameters"`
	Took      time.Duration  `json:"took_ns"`
	Plan      string         `json:"plan"` // the settings asked for, as YAML
	// From is the run folder that this one was copied from; empty: none.
	From string `json:"from,omitempty"`
	// Settled is what the run chose by itself, of a row of the defaults' table.
	Settled *Settled `json:"settled,omitempty"`
}

// value returns a measure of the network that was kept, in per cent.
func (r *Run) value(m Measure) (float64, error) {
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

const resultFile = "result.json"

// Reproduce runs all arms of an experiment with all seeds, seed by seed, so that
// an early stop leaves arms that can be compared. Runs that Dir holds already
// are taken as they are, and one that was interrupted is resumed.
func Reproduce(ctx context.Context, e *Experiment, o Options) (*Outcome, error) {
	o.Seeds, o.Jobs = cmp.Or(max(o.Seeds, 0), e.DefaultSeeds(o.Fast)), max(o.Jobs, 1)
	var err error
	if e, err = e.only(o.Arms); err != nil {
		return nil, err
	}
	if o, err = o.resolve(e); err != nil {
		return nil, err
	}
	d, err := e.used(ctx, o)
	if err != nil {
		return nil, err
	}
	oneAtATime(&o)
	runs := make([]*Run, o.Seeds*len(e.Arms))
	var g errgroup.Group
	g.SetLimit(o.Jobs)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for k := range runs {
		if e.Arms[k%len(e.Arms)].Untrained != "" {
			continue
		}
		g.Go(func() error {
			if ctx.Err() != nil { // another run has failed
				return context.Cause(ctx)
			}
			r, err := e.runArm(ctx, &e.Arms[k%len(e.Arms)], o.Seed+uint64(k/len(e.Arms)), o)
			if err != nil {
				stop(err)
			}
			runs[k] = r
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for k := range runs {
		if a := &e.Arms[k%len(e.Arms)]; a.Untrained != "" {
			runs[k] = runs[k-k%len(e.Arms)+e.arm(a.Untrained)].untrained(a.Name)
		}
	}
	return newOutcome(ctx, e, runs, o, d)
}

// untrained is what r started from, as a run of the named arm.
func (r *Run) untrained(arm string) *Run {
	u := *r
	u.Arm, u.Scores, u.Took, u.From = arm, r.Untrained, 0, ""
	return &u
}

// oneAtATime guards who hears of runs side by side.
func oneAtATime(o *Options) {
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

// runArm trains one arm with one seed, or reads what it came to before.
func (e *Experiment) runArm(ctx context.Context, a *Arm, seed uint64, o Options) (*Run, error) {
	cfg, err := e.config(a, seed, o.settings(a))
	if err != nil {
		return nil, err
	}
	plan := a.plan(&cfg)
	folder := RunFolder(a.Name, seed)
	dir := filepath.Join(o.Dir, folder)
	planned, err := os.ReadFile(filepath.Join(dir, planFile))
	var judged Run // one that was taken over to be judged here
	switch {
	case errors.Is(err, os.ErrNotExist):
		if r, err := e.alike(a, &cfg, plan, o); err != nil || r != nil {
			return r, err
		}
		r, err := e.reuse(a, plan, o.Dir, folder, o.Reuse)
		if err != nil || r != nil && samePlan([]byte(r.Plan), plan) {
			return r, err
		}
		if r != nil {
			judged = *r
		}
	case err != nil:
		return nil, err
	case !samePlan(planned, plan):
		return nil, fmt.Errorf("%s holds a run with other settings (%s there differs): choose another folder with "+
			"--out, or remove it", dir, planFile)
	default:
		if r, err := readRun(filepath.Join(dir, resultFile)); err == nil {
			return r, nil
		} else if !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	if err := writeText(filepath.Join(dir, planFile), plan); err != nil {
		return nil, err
	}
	opts := run.Options{Dir: dir, Resume: run.Begun(dir), Own: []string{planFile, resultFile}, Home: o.Home,
		Weights: o.Weights}
	if o.Observe != nil {
		opts.Observe = func(ev train.Event) { o.Observe(a.Name, seed, ev) }
	}
	if o.Begin != nil {
		opts.Begin = func(s run.Setup) { o.Begin(a.Name, seed, s) }
	}
	res, err := a.do(ctx, cfg, opts)
	if err != nil {
		return nil, fmt.Errorf("%s, seed %d: %w", a.Name, seed, err)
	}
	r := &Run{Arm: a.Name, Seed: seed, Folder: folder, History: res.History, Scores: res.Scores,
		Untrained: res.Untrained, Params: res.Params, Took: res.Took + judged.Took, Plan: plan, From: judged.From}
	if e.Stranger != nil {
		r.Settled = settled(res)
	}
	return r, writeJSON(filepath.Join(dir, resultFile), r)
}

// planFile holds the settings a run was asked for, before the data resolved
// them.
const planFile = "plan.yaml"

// samePlan reports whether a kept plan asks for the run of plan. One that was
// written before a setting was known had what is now that setting's default, and
// one without a split had papersSplit, which was the default.
func samePlan(kept []byte, plan string) bool {
	if string(kept) == plan {
		return true
	}
	_, keptTask, _ := strings.Cut(string(kept), taskMark)
	settings, task, _ := strings.Cut(plan, taskMark)
	if keptTask != task {
		return false
	}
	now, err := run.Parse(planFile, []byte(settings))
	if err != nil {
		return false
	}
	was, err := run.Parse(planFile, kept)
	if err != nil {
		return false
	}
	older := !strings.Contains(string(kept), "\n  average:")
	if was.Data.Split != "" {
		return sameSettings(was, now, older)
	}
	if sameSettings(was, now, false) { // both leave it open
		return true
	}
	was, err = run.Parse(planFile, kept, papersSplit)
	return err == nil && sameSettings(was, now, older)
}

func sameSettings(was, now run.Config, older bool) bool {
	if older {
		asBefore(&was)
		asBefore(&now)
	}
	return string(was.YAML()) == string(now.YAML())
}

// asBefore fills in what runs had before it could be set: the last weights of an epoch,
// bursts divided, and ten epochs. The papers' experiments leave it open or ask for just
// that. What becomes of images that cannot be read makes no difference to one that ended.
func asBefore(c *run.Config) {
	c.Data.Strict = false
	c.Train.Average, c.Train.Line = cmp.Or(c.Train.Average, "none"), cmp.Or(c.Train.Line, 1)
	c.Train.Epochs, c.Data.Group = cmp.Or(c.Train.Epochs, run.ScratchEpochs), cmp.Or(c.Data.Group, data.GroupNone)
	c.Train.BestMargin = cmp.Or(c.Train.BestMargin, "none")
	if c.Train.Best == "validation_map@r" { // the default, from a pretrained start
		c.Train.Best = ""
	}
	if c.Train.Patience == 3 {
		c.Train.Patience = 0
	}
}

func readRun(path string) (*Run, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Run
	if err := json.Unmarshal(text, &r); err != nil || len(r.History) == 0 {
		return nil, fmt.Errorf("%s is damaged (%w): remove it to repeat the run", path, errors.Join(err))
	}
	return &r, nil
}

func writeText(path, text string) error {
	return atomic.WriteFile(path, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}

func writeJSON(path string, v any) error {
	return atomic.WriteFile(path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	})
}
