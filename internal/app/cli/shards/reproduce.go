package shards

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/app/experiments/paper"
	"github.com/kindred-ml/kindred/internal/base/rootfs"
	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/train"
)

// ExperimentRunner is the Runner of an experiment's runs on the workers of a queue. The workers return
// run folders, which it puts below Dir, the folder of the experiment.
type ExperimentRunner struct {
	jobs.Runner
	Dir string
}

// Run returns the results of the runs, in the form of paper.Kind.
func (p ExperimentRunner) Run(ctx context.Context, list []jobs.Job) ([]jobs.Result, error) {
	results, failed := p.Runner.Run(ctx, list)
	for i := range results {
		r := &results[i]
		if r.Output == nil {
			continue
		}
		var j paper.Job
		err := list[i].Decode(&j)
		if err == nil {
			r.Output, err = p.unpackRun(j, r.Output)
		}
		if err != nil {
			return nil, errors.Join(failed, fmt.Errorf("%s: %w", list[i].Title, err))
		}
	}
	return results, failed
}

// unpackRun unpacks a run to its folder, which appears only when it is complete, and returns
// the result of the run.
func (p ExperimentRunner) unpackRun(j paper.Job, archive []byte) ([]byte, error) {
	folder := filepath.Join(p.Dir, paper.RunFolder(j.Arm, j.Seed))
	if err := os.MkdirAll(filepath.Dir(folder), 0o777); err != nil {
		return nil, err
	}
	part := folder + ".part"
	if err := os.RemoveAll(part); err != nil { // a killed process may have left it
		return nil, err
	}
	if err := unpack(bytes.NewReader(archive), part); err != nil {
		return nil, err
	}
	result, err := paper.Result(part)
	if err != nil {
		return nil, err
	}
	return result, os.Rename(part, folder)
}

// reproduce does a run of an experiment. Its result is the run's folder.
func (k *WorkerKit) reproduce(ctx context.Context, t jobs.Task) ([]byte, error) {
	var s paper.Job
	if err := t.Job().Decode(&s); err != nil {
		return nil, err
	}
	e := paper.Find(s.Experiment)
	if e == nil {
		return nil, fmt.Errorf("unknown experiment %q", s.Experiment)
	}
	cfg, err := e.Config(paper.Options{Seeds: 1, Seed: s.Seed, Fast: s.Fast, Scale: s.Scale, Arms: []string{s.Arm},
		Set: s.Set})
	if err != nil {
		return nil, err
	}
	in, err := k.jobRoots(t.Job())
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if err := k.allowConfig(in, &cfg); err != nil {
		return nil, err
	}
	dir, remove, err := k.makeTempDir()
	if err != nil {
		return nil, err
	}
	defer remove()
	f := k.newTraining(t, dir, filepath.Join(dir, paper.RunFolder(s.Arm, s.Seed)))
	if err := f.restore(ctx); err != nil {
		return nil, err
	}
	o := paper.Options{Dir: dir, Seeds: 1, Seed: s.Seed, Fast: s.Fast, Scale: s.Scale, Arms: []string{s.Arm},
		Set: s.Set, Home: k.Home, Weights: k.Weights,
		Observe: func(_ string, _ uint64, e train.Event) { f.observe(ctx, e) }}
	if k.FetchData != nil {
		if err := k.FetchData(ctx, e, o); err != nil {
			return nil, err
		}
	}
	if _, err := paper.Reproduce(rootfs.WithRoots(ctx, in), e, o); err != nil {
		return nil, f.saveStopped(ctx, err)
	}
	var b bytes.Buffer
	if err := pack(&b, f.run); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
