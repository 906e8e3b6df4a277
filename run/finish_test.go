package run

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/train"
)

// TestFinish ends an interrupted run, in the middle of an epoch, with its best weights so
// far: it can be loaded, says what it was, and can be made longer.
func TestFinish(t *testing.T) {
	cfg := smallConfig(t)
	cfg.Train.Epochs, cfg.Data.Validation, cfg.Train.Best = 5, "images:0.3", "validation_recall@1"
	opts := Options{Dir: filepath.Join(t.TempDir(), "a"), Dataset: newBlobs(4, 20, 16)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opts.Observe = func(e train.Event) {
		if e.Stage == train.Stepped && e.Epoch == 3 && e.Step == 2 {
			cancel()
		}
	}
	if _, err := Train(ctx, cfg, opts); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	f, err := Open(opts.Dir)
	if err != nil {
		t.Fatal(err)
	}
	_, ofModel := f.Model()
	_, ofTest := f.Embeddings(TestSet)
	for _, err := range []error{ofModel, ofTest} {
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "kindred train --finish "+opts.Dir) {
			t.Errorf("an unfinished run: %v", err)
		}
	}
	opts.Finish, opts.Observe = true, func(e train.Event) {
		if e.Stage == train.Stepped {
			t.Error("a further step")
		}
	}
	res, err := Train(t.Context(), configOf(t, opts.Dir), opts)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(res.History); n != 3 || res.History[2].Steps != 2 || res.Config.Train.Epochs != 3 || res.Epoch < 1 ||
		len(res.Scores) == 0 || configOf(t, opts.Dir).Train.Epochs != 3 {
		t.Errorf("%d epochs, the last of %d steps; epoch %d, %v", n, res.History[n-1].Steps, res.Epoch, res.Scores)
	}
	m, err := Load(opts.Dir)
	if err != nil || m.Net.Dim() != res.Net.Dim() {
		t.Errorf("loaded %v, %v", m, err)
	}
	if _, err := f.Embeddings(TestSet); err != nil {
		t.Error(err)
	}
	again, err := Train(t.Context(), configOf(t, opts.Dir), opts)
	if err != nil || again.Epoch != res.Epoch || len(again.History) != 3 {
		t.Errorf("finished twice: %v, %v", again, err)
	}
	longer := configOf(t, opts.Dir)
	longer.Train.Epochs, opts.Finish, opts.Resume, opts.Observe = 4, false, true, nil
	if res, err := Train(t.Context(), longer, opts); err != nil || len(res.History) != 4 {
		t.Errorf("made longer: %v, %v", res, err)
	}
}

// A run that has taken no step has nothing to finish, and is left as it was.
func TestNothingToFinish(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	opts := Options{Dir: dir, Finish: true, Dataset: newBlobs(4, 20, 16)}
	if _, err := Train(t.Context(), smallConfig(t), opts); err == nil || !strings.Contains(err.Error(), "nothing to") {
		t.Errorf("no folder: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	opts.Finish, opts.Begin = false, func(Setup) { cancel() }
	if _, err := Train(ctx, smallConfig(t), opts); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	before := folder(t, dir)
	opts.Finish, opts.Begin = true, nil
	if _, err := Train(t.Context(), smallConfig(t), opts); err == nil ||
		!strings.Contains(err.Error(), "has taken no step; run.Options.Resume") {
		t.Errorf("without a step: %v", err)
	}
	for name, content := range folder(t, dir) {
		if before[name] != content {
			t.Errorf("%s has changed", name)
		}
	}
}
