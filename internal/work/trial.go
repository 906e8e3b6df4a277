package work

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/kindred-ml/kindred/jobs"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/sweep"
	"github.com/kindred-ml/kindred/train"
)

// Trials has the runs of a sweep done by a runner of jobs. The sweep keeps their
// results itself, so that the runner has to keep them no longer.
type Trials struct {
	Runner interface {
		jobs.Runner
		Forget(ctx context.Context, list []jobs.Job) error
	}
}

// Run does one of them.
func (s Trials) Run(ctx context.Context, trial sweep.Job) (sweep.Result, error) {
	j, err := jobs.New(sweepKind, trial)
	if err != nil {
		return sweep.Result{}, err
	}
	j.Title = fmt.Sprintf("sweep: %s to epoch %d", trial.Name, trial.Until)
	results, err := s.Runner.Run(ctx, []jobs.Job{j})
	if err != nil {
		return sweep.Result{}, err
	}
	var r sweep.Result
	if err := json.Unmarshal(results[0].Output, &r); err != nil {
		return sweep.Result{}, fmt.Errorf("%s: a damaged result: %w", j.Title, err)
	}
	return r, s.Runner.Forget(ctx, []jobs.Job{j})
}

// trial does a run of a sweep.
func (k *Kit) trial(ctx context.Context, t jobs.Task) ([]byte, error) {
	var s sweep.Job
	if err := t.Job().Decode(&s); err != nil {
		return nil, err
	}
	// A configuration that cannot be read is a result of the sweep's runner.
	if cfg, err := run.Parse(s.Name, []byte(s.Config)); err == nil {
		if err := k.allowConfig(t.Job(), &cfg); err != nil {
			return nil, err
		}
	}
	dir, remove, err := k.scratch()
	if err != nil {
		return nil, err
	}
	defer remove()
	s.Name = "run"
	f := k.training(t, dir, filepath.Join(dir, s.Name))
	if err := f.restore(ctx); err != nil {
		return nil, err
	}
	l := sweep.Local{Dir: dir, Home: k.Home, Formats: k.Formats, Weights: k.Weights,
		Observe: func(_ string, e train.Event) { f.observe(ctx, e) }}
	r, err := l.Run(ctx, s)
	if err != nil {
		return nil, f.stopped(ctx, err)
	}
	return json.Marshal(r)
}
