package paper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

// extraTestImages is how many test images of each class a timed run scores by itself: two, so that each has
// another of its class.
const extraTestImages = 2

// limitedTask trains as kindred train does, ends the run after the time limit as kindred train --finish
// does, and scores the network in the run folder. The time begins when everything is ready for the
// first evaluation, as for a peer's script. The recipes do not evaluate the test part while they
// train, so the run itself scores only extraTestImages images of each class.
func (s *UnseenDataset) limitedTask(limit time.Duration) *Task {
	t := s.newTask(fmt.Sprintf("trained for %v, finished, and the network of the run folder scored", limit),
		func(ctx context.Context, v *seedRow, opts run.Options) (*run.Result, error) {
			opts.Dataset = v.own
			opts.Force, opts.Resume = opts.Resume, false // the time of an interrupted run is not known
			limited, stop := context.WithCancel(ctx)
			defer stop()
			var began time.Time
			tell := opts.OnSetup
			opts.OnSetup = func(s run.Setup) {
				if tell != nil {
					tell(s)
				}
				began = time.Now()
				time.AfterFunc(limit, stop)
			}
			if observe := opts.Observe; observe != nil {
				opts.Observe = func(ev train.Event) {
					if ev.Stage != train.Stopping || ctx.Err() != nil { // no signal was sent
						observe(ev)
					}
				}
			}
			cfg := v.cfg
			cfg.Data.TestLimit = extraTestImages
			res, err := trainUntil(ctx, limited, cfg, opts)
			if err != nil {
				return nil, err
			}
			took := time.Since(began)
			if res, err = v.rescore(ctx, res); err == nil {
				res.Duration = took
			}
			return res, err
		})
	t.Timed = true
	return t
}

// trainUntil is run.Train until limited, which is derived from ctx, ends. Then it ends the run with
// its best weights.
func trainUntil(ctx, limited context.Context, cfg run.Config, opts run.Options) (*run.Result, error) {
	res, err := run.Train(limited, cfg, opts)
	if err == nil || ctx.Err() != nil || limited.Err() == nil {
		return res, err
	}
	stopped := (*run.StoppedError)(nil)
	if !errors.As(err, &stopped) || stopped.Epoch == 1 && stopped.Step == 0 {
		return nil, errors.New("the time ended before the first step: raise --minutes")
	}
	f, err := run.Open(stopped.Dir)
	if err != nil {
		return nil, err
	}
	if cfg, err = f.Config(); err != nil {
		return nil, err
	}
	opts.Dir, opts.Finish, opts.Force, opts.OnSetup = stopped.Dir, true, false, nil
	return run.Train(ctx, cfg, opts)
}

// configPlanner remembers what kindred train would choose for the last row and seed: the recipes use its
// division and image size and need not measure them again.
type configPlanner struct {
	mu    sync.Mutex
	asked string // configuration
	found run.Config
}

// planFor returns the configuration of the run of v, with everything that the data decide.
func (p *configPlanner) planFor(ctx context.Context, v *seedRow, opts run.Options) (run.Config, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := string(v.cfg.YAML())
	if p.asked == asked {
		return p.found, nil
	}
	setup, err := run.Plan(ctx, v.cfg, run.Options{Home: opts.Home, Weights: opts.Weights, Dataset: v.own})
	if err == nil {
		p.asked, p.found = asked, setup.Config
	}
	return p.found, err
}

// splitByConfig divides the samples of v as a run with the complete configuration cfg does.
func (v *seedRow) splitByConfig(cfg run.Config) (*split.Parts, error) {
	parts, err := (&material{set: v.own, cfg: cfg}).selected()
	if err != nil {
		return nil, err
	}
	if parts.Validation == nil {
		return nil, fmt.Errorf("data set %s has no validation part, which the comparison of recipes needs", v.own.Name)
	}
	own := parts.ValidationGallery == parts.Validation
	n := cfg.Data.TrainLimit
	parts.Train, parts.Validation = firstPerClass(parts.Train, n), firstPerClass(parts.Validation, n)
	parts.ValidationGallery = parts.Train
	if own {
		parts.ValidationGallery = parts.Validation
	}
	return parts, nil
}
