package shards

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/base/rootfs"
	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/internal/sweep"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

// trial does a run of a sweep.
func (k *WorkerKit) trial(ctx context.Context, t jobs.Task) ([]byte, error) {
	var s sweep.Job
	if err := t.Job().Decode(&s); err != nil {
		return nil, err
	}
	in, err := k.jobRoots(t.Job())
	if err != nil {
		return nil, err
	}
	defer in.Close()
	// The sweep's runner reports a configuration that cannot be read as the result of the trial.
	if cfg, err := run.Parse(s.Name, []byte(s.Config)); err == nil {
		if err := k.allowConfig(in, &cfg); err != nil {
			return nil, err
		}
	}
	dir, remove, err := k.makeTempDir()
	if err != nil {
		return nil, err
	}
	defer remove()
	s.Name = "run"
	f := k.newTraining(t, dir, filepath.Join(dir, s.Name))
	if err := f.restore(ctx); err != nil {
		return nil, err
	}
	l := sweep.Local{Dir: dir, Home: k.Home, Formats: k.Formats, Weights: k.Weights,
		Observe: func(_ string, e train.Event) { f.observe(ctx, e) }}
	r, err := l.Run(rootfs.WithRoots(ctx, in), s)
	if err != nil {
		return nil, f.saveStopped(ctx, err)
	}
	return json.Marshal(r)
}
