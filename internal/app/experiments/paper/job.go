package paper

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

// Kind is the kind of an experiment's jobs in package jobs. A Job is the spec; the output is the
// Run as JSON.
const Kind = "reproduce"

// Job is a run of an experiment: an arm with a seed.
type Job struct {
	Experiment string   `json:"experiment"`
	Arm        string   `json:"arm"`
	Seed       uint64   `json:"seed"`
	Scale      string   `json:"scale,omitempty"`
	Fast       bool     `json:"fast,omitempty"`
	Set        []string `json:"set,omitempty"`
}

// job returns the run of an arm with a seed, for a runner of jobs.
func (e *Experiment) job(a *Arm, seed uint64, o Options) (jobs.Job, error) {
	j, err := jobs.New(Kind, Job{e.Name, a.Name, seed, o.Scale, o.Fast, o.Set})
	j.Title = fmt.Sprintf("%s: %s, seed %d", e.Name, a.Name, seed)
	return j, err
}

// runs are the runs of all arms that train, with all seeds, in the order of arms and then of seeds.
func (e *Experiment) runs(ctx context.Context, o Options) ([]*Run, error) {
	var list, far []jobs.Job
	var at []int
	for k := range o.Seeds * len(e.Arms) {
		a, seed := &e.Arms[k%len(e.Arms)], o.Seed+uint64(k/len(e.Arms))
		if a.Untrained != "" {
			continue
		}
		j, err := e.job(a, seed, o)
		if err != nil {
			return nil, err
		}
		list, at = append(list, j), append(at, k)
		if _, err := os.Stat(filepath.Join(o.Dir, RunFolder(a.Name, seed))); err != nil {
			far = append(far, j)
		}
	}
	m := &runCache{e, o}
	if o.Runner != nil {
		if _, err := (jobs.CachedRunner{Cache: m, Runner: o.Runner}).Run(ctx, far); err != nil {
			return nil, err
		}
	}
	runs := make([]*Run, o.Seeds*len(e.Arms))
	here := jobs.CachedRunner{Cache: m, Runner: &jobs.Local{Kinds: jobs.Kinds{Kind: m.train}}}
	var g errgroup.Group
	g.SetLimit(o.Jobs)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for i, j := range list {
		g.Go(func() error {
			if ctx.Err() != nil { // another run failed
				return context.Cause(ctx)
			}
			results, err := here.Run(ctx, []jobs.Job{j})
			if failed := (*jobs.FailedError)(nil); errors.As(err, &failed) {
				err = failed.Err // it names the run
			} else if err == nil {
				runs[at[i]], err = parseRun(j.Title, results[0].Output)
			}
			if err != nil {
				stop(err)
			}
			return err
		})
	}
	return runs, g.Wait()
}

// runCache is the folder of an experiment. planFile has what a run was asked for, resultFile its
// result.
type runCache struct {
	e *Experiment
	o Options
}

const resultFile = "result.json"

// jobSettings returns the settings that a job asks for, and the folder of its run.
func (m *runCache) jobSettings(job jobs.Job) (a *Arm, cfg run.Config, plan, dir string, err error) {
	var j Job
	if err = job.Decode(&j); err != nil {
		return nil, cfg, "", "", err
	}
	k := m.e.arm(j.Arm)
	if k < 0 {
		return nil, cfg, "", "", fmt.Errorf("experiment %s has no arm %q", m.e.Name, j.Arm)
	}
	a = &m.e.Arms[k]
	if cfg, err = m.e.config(a, j.Seed, m.o.settings(a)); err != nil {
		return nil, cfg, "", "", err
	}
	return a, cfg, a.planText(&cfg), filepath.Join(m.o.Dir, RunFolder(a.Name, j.Seed)), nil
}

// Load implements jobs.ResultCache.
func (m *runCache) Load(job jobs.Job) ([]byte, error) {
	_, _, plan, dir, err := m.jobSettings(job)
	if err != nil {
		return nil, err
	}
	planned, err := os.ReadFile(filepath.Join(dir, planFile))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !samePlan(planned, plan):
		return nil, fmt.Errorf("%s holds a run with other settings (%s there differs): choose another folder with "+
			"--out, or remove it", dir, planFile)
	}
	text, err := Result(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// Result reads the result of the run in a folder, in the form of a Job's output.
func Result(folder string) ([]byte, error) {
	path := filepath.Join(folder, resultFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	_, err = parseRun(path, text)
	return text, err
}

// Save implements jobs.ResultCache.
func (m *runCache) Save(job jobs.Job, output []byte) error {
	_, _, _, dir, err := m.jobSettings(job)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := json.Indent(&text, bytes.TrimSpace(output), "", "  "); err != nil {
		return fmt.Errorf("%s: a damaged result: %w", job.Title, err)
	}
	return writeText(filepath.Join(dir, resultFile), text.String()+"\n")
}

// train does the run of a job, or takes over a run that would be the same.
func (m *runCache) train(ctx context.Context, t jobs.Task) ([]byte, error) {
	a, cfg, plan, dir, err := m.jobSettings(t.Job())
	if err != nil {
		return nil, err
	}
	r, err := m.e.runArm(ctx, a, &cfg, plan, dir, m.o)
	if err != nil {
		return nil, err
	}
	return json.Marshal(r)
}

// runArm does the run of an arm in dir. If the run was begun before, dir has its plan.
func (e *Experiment) runArm(ctx context.Context, a *Arm, cfg *run.Config, plan, dir string, o Options) (*Run, error) {
	seed := cfg.Train.Seed
	folder := RunFolder(a.Name, seed)
	var judged Run // one that was taken over to be judged here
	if _, err := os.Stat(filepath.Join(dir, planFile)); errors.Is(err, os.ErrNotExist) {
		if r, err := e.findSimilarRun(a, cfg, plan, o); err != nil || r != nil {
			return r, err
		}
		r, err := e.reuse(a, plan, o.Dir, folder, o.Reuse)
		if err != nil || r != nil && samePlan([]byte(r.Plan), plan) {
			return r, err
		}
		if r != nil {
			judged = *r
		}
	} else if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	if err := writeText(filepath.Join(dir, planFile), plan); err != nil {
		return nil, err
	}
	opts := run.Options{Dir: dir, Resume: run.Exists(dir), CallerFiles: []string{planFile, resultFile}, Home: o.Home,
		Weights: o.Weights}
	if o.Observe != nil {
		opts.Observe = func(ev train.Event) { o.Observe(a.Name, seed, ev) }
	}
	if o.Begin != nil {
		opts.OnSetup = func(s run.Setup) { o.Begin(a.Name, seed, s) }
	}
	res, err := a.runTask(ctx, *cfg, opts)
	if err != nil {
		return nil, fmt.Errorf("%s, seed %d: %w", a.Name, seed, err)
	}
	r := &Run{Arm: a.Name, Seed: seed, Folder: folder, History: res.History, Scores: res.Scores,
		Untrained: res.Untrained, Params: res.Params, Duration: res.Duration + judged.Duration, Plan: plan,
		From: judged.From}
	if e.Stranger != nil {
		r.Settled = chosenByRun(e.Table(), res)
	}
	return r, nil
}

func readRun(path string) (*Run, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseRun(path, text)
}

func parseRun(name string, text []byte) (*Run, error) {
	var r Run
	if err := json.Unmarshal(text, &r); err != nil || len(r.History) == 0 {
		return nil, fmt.Errorf("%s is damaged (%w): remove it to repeat the run", name, errors.Join(err))
	}
	return &r, nil
}
