package work

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/repro/paper"
	"github.com/kindred-ml/kindred/jobs"
	"github.com/kindred-ml/kindred/train"
)

// paperSpec is a run of an experiment: an arm with a seed.
type paperSpec struct {
	Experiment string   `json:"experiment"`
	Arm        string   `json:"arm"`
	Seed       uint64   `json:"seed"`
	Scale      string   `json:"scale,omitempty"`
	Fast       bool     `json:"fast,omitempty"`
	Set        []string `json:"set,omitempty"`
}

// Reproduce has the runs of an experiment done by runner, and puts their folders
// where paper.Reproduce finds them finished. Runs of which there is a folder are left
// to that. o.Dir must be held. It returns the jobs,
// to be forgotten when the outcome is written.
func Reproduce(ctx context.Context, e *paper.Experiment, o paper.Options, runner jobs.Runner) ([]jobs.Job, error) {
	seeds := o.Seeds
	if seeds < 1 {
		seeds = e.DefaultSeeds(o.Fast)
	}
	wanted := map[string]bool{}
	for _, name := range o.Arms {
		wanted[name] = true
	}
	var list []jobs.Job
	var folders []string
	for s := range seeds {
		for _, a := range e.Arms {
			folder := filepath.Join(o.Dir, paper.RunFolder(a.Name, o.Seed+uint64(s)))
			_, err := os.Stat(folder)
			if a.Untrained != "" || len(wanted) > 0 && !wanted[a.Name] || err == nil {
				continue
			}
			folders = append(folders, folder)
			j, err := jobs.New(paperKind, paperSpec{e.Name, a.Name, o.Seed + uint64(s), o.Scale, o.Fast, o.Set})
			if err != nil {
				return nil, err
			}
			j.Title = fmt.Sprintf("%s: %s, seed %d", e.Name, a.Name, o.Seed+uint64(s))
			list = append(list, j)
		}
	}
	results, err := runner.Run(ctx, list)
	if err != nil {
		return list, err
	}
	for i, r := range results {
		if err := place(r.Output, folders[i]); err != nil {
			return list, fmt.Errorf("%s: %w", list[i].Title, err)
		}
	}
	return list, nil
}

// place unpacks a run to its folder, which is not there before it is whole.
func place(archive []byte, folder string) error {
	if err := os.MkdirAll(filepath.Dir(folder), 0o777); err != nil {
		return err
	}
	part := folder + ".part"
	if err := os.RemoveAll(part); err != nil { // of a process that was killed
		return err
	}
	if err := unpack(bytes.NewReader(archive), part); err != nil {
		return err
	}
	return os.Rename(part, folder)
}

// reproduce does a run of an experiment. Its result is the run's folder.
func (k *Kit) reproduce(ctx context.Context, t jobs.Task) ([]byte, error) {
	var s paperSpec
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
	if err := k.allowConfig(t.Job(), &cfg); err != nil {
		return nil, err
	}
	dir, remove, err := k.scratch()
	if err != nil {
		return nil, err
	}
	defer remove()
	f := k.training(t, dir, filepath.Join(dir, paper.RunFolder(s.Arm, s.Seed)))
	if err := f.restore(ctx); err != nil {
		return nil, err
	}
	o := paper.Options{Dir: dir, Seeds: 1, Seed: s.Seed, Fast: s.Fast, Scale: s.Scale, Arms: []string{s.Arm},
		Set: s.Set, Home: k.Home, Weights: k.Weights,
		Observe: func(_ string, _ uint64, e train.Event) { f.observe(ctx, e) }}
	if k.Bring != nil {
		if err := k.Bring(ctx, e, o); err != nil {
			return nil, err
		}
	}
	if _, err := paper.Reproduce(ctx, e, o); err != nil {
		return nil, f.stopped(ctx, err)
	}
	var b bytes.Buffer
	if err := pack(&b, f.run); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
