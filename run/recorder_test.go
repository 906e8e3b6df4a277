package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/run/internal/record"
	"github.com/kindred-ml/kindred/train"
)

// TestResumeWritesWhatIsMissing takes every file of a finished run away in turn,
// but for the checkpoint and the configuration.
func TestResumeWritesWhatIsMissing(t *testing.T) {
	want, _ := traceRun(t)
	dir := filepath.Join(t.TempDir(), "run")
	if err := resumeOrBegin(t, dir, nil); err != nil {
		t.Fatal(err)
	}
	taken := 0
	for name := range readFolder(t, want) {
		if name == record.ConfigFile || strings.HasPrefix(name, record.CheckpointDir) ||
			strings.HasPrefix(name, record.SnapshotDir) {
			continue
		}
		taken++
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := resumeOrBegin(t, dir, nil); err != nil {
			t.Fatalf("without %s: %v", name, err)
		}
		checkFinishedLike(t, want, dir)
	}
	if taken < 7 {
		t.Errorf("only %d files were taken away", taken)
	}
}

func TestResumeSaysWhereItIs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := resumeOrBegin(t, dir, nil); err != nil {
		t.Fatal(err)
	}
	notes := func(epochs int) (string, error) {
		cfg := faultConfig(t)
		cfg.Train.Epochs = epochs
		var said []string
		_, err := Train(t.Context(), cfg,
			Options{Dir: dir, Resume: true, Dataset: newFeatures(4, 8, 6), OnSetup: func(s Setup) {
				if s.Dir != dir || s.Config.Train.Epochs != epochs {
					t.Errorf("the run is said to be in %q and of %d epochs", s.Dir, s.Config.Train.Epochs)
				}
				said = append(said, s.Notes...)
			}})
		return strings.Join(said, "\n"), err
	}
	if s, err := notes(2); err != nil || !strings.Contains(s, "has finished all 2 epochs") {
		t.Errorf("said %q, %v", s, err)
	}
	if s, err := notes(3); err != nil || !strings.Contains(s, "continues in epoch 3 after step 0 of 3") {
		t.Errorf("said %q, %v", s, err)
	}
	if _, err := notes(2); err == nil || !strings.Contains(err.Error(), "done 3 epochs, more than train.epochs=2") {
		t.Errorf("fewer epochs than are done: %v", err)
	}
}

// TestFoldersThatAreRefused keep every byte.
func TestFoldersThatAreRefused(t *testing.T) {
	finished, _ := traceRun(t)
	for name, c := range map[string]struct {
		make        func(dir string) error
		force       bool
		want        string
		wantResumed string
	}{
		"a user's files": {func(dir string) error {
			return errors.Join(writeNameFile(dir, "config.yaml"), writeNameFile(dir, "labels.csv"),
				writeNameFile(dir, ".hidden.tmp-1"),
				writeNameFile(dir, "a"), writeNameFile(dir, "b"))
		}, true, "neither empty nor the folder of a run: it holds .hidden.tmp-1, a, b and 2 more",
			"not the folder of a run"},
		"a configuration": {func(dir string) error { return writeNameFile(dir, "config.yaml") }, true,
			"it holds config.yaml;",
			"not the folder of a run"},
		"checkpoints": {func(dir string) error { return writeNameFile(dir, "checkpoint/mine") }, true,
			"it holds checkpoint/mine;", "not the folder of a run"},
		"a lost checkpoint": {func(dir string) error { return writeNameFile(dir, "checkpoint/last.safetensors") }, true,
			"it holds checkpoint/last.safetensors;", "not the folder of a run"},
		"snapshots": {func(dir string) error { return writeNameFile(dir, "snapshots/0001_test_labels.csv") }, true,
			"snapshots", "not the folder of a run"},
		"other snapshots": {func(dir string) error { return writeNameFile(dir, "snapshots/mine") }, true,
			"snapshots/mine",
			"not the folder of a run"},
		"results": {func(dir string) error { return writeNameFile(dir, "gallery_labels.csv") }, true,
			"it holds gallery_labels.csv;", "not the folder of a run"},
		"a finished run": {func(dir string) error { return os.CopyFS(dir, os.DirFS(finished)) }, false,
			"holds a run already", ""},
		"without checkpoints": {func(dir string) error {
			return errors.Join(os.CopyFS(dir, os.DirFS(finished)), os.Remove(checkpointPath(dir)))
		}, false, "holds a run already", "nothing to resume: there is no checkpoint"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		if err := c.make(dir); err != nil {
			t.Fatal(err)
		}
		before := readFolder(t, dir)
		refused := func(opts Options, want string) {
			opts.Dir, opts.Dataset = dir, newFeatures(4, 8, 6)
			if _, err := Train(t.Context(), faultConfig(t), opts); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v does not contain %q", name, err, want)
			}
			after := readFolder(t, dir)
			for f := range before {
				if after[f] != before[f] {
					t.Errorf("%s: %s has changed", name, f)
				}
			}
			if len(after) != len(before) {
				t.Errorf("%s: %d files, now %d", name, len(before), len(after))
			}
		}
		refused(Options{}, c.want)
		if c.force {
			refused(Options{Force: true}, c.want)
		}
		if c.wantResumed != "" {
			refused(Options{Resume: true}, c.wantResumed)
		}
	}
	missing := filepath.Join(t.TempDir(), "none")
	if _, err := Train(t.Context(), faultConfig(t),
		Options{Dir: missing, Resume: true, Dataset: newFeatures(4, 8, 6)}); err == nil ||
		!strings.Contains(err.Error(), "there is no folder "+missing) {
		t.Errorf("a missing folder: %v", err)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("resuming made the folder")
	}
}

// writeNameFile writes a file that holds its own name.
func writeNameFile(dir, name string) error {
	path := filepath.Join(dir, name)
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(name), 0o666))
}

// TestFoldersThatAreTaken are empty, but for what is the caller's or a killed
// process's.
func TestFoldersThatAreTaken(t *testing.T) {
	want, _ := traceRun(t)
	dir := filepath.Join(t.TempDir(), "run")
	if err := errors.Join(writeNameFile(dir, lock.FileName), writeNameFile(dir, "plan.yaml"),
		writeNameFile(dir, "checkpoint/.kindred-0123456789abcdef.tmp")); err != nil {
		t.Fatal(err)
	}
	if Exists(dir) {
		t.Error("there is no run here")
	}
	if _, err := Train(t.Context(), faultConfig(t), Options{Dir: dir, Dataset: newFeatures(4, 8, 6)}); err == nil ||
		!strings.Contains(err.Error(), "it holds plan.yaml;") {
		t.Errorf("a file of nobody's: %v", err)
	}
	if _, err := Train(t.Context(), faultConfig(t),
		Options{Dir: dir, CallerFiles: []string{"plan.yaml"}, Dataset: newFeatures(4, 8, 6)}); err != nil {
		t.Fatal(err)
	}
	if !Exists(dir) {
		t.Error("there is a run here")
	}
	if err := os.Remove(filepath.Join(dir, "plan.yaml")); err != nil {
		t.Fatal(err)
	}
	checkFinishedLike(t, want, dir)
}

// TestOneProcessAFolder tries to train into, resume and replace a run under way.
func TestOneProcessAFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	tried := false
	_, err := Train(t.Context(), faultConfig(t), Options{Dir: dir, Dataset: newFeatures(4, 8, 6),
		Observe: func(e train.Event) {
			if tried || e.Stage != train.Stepped || e.Epoch != 2 {
				return
			}
			tried = true
			before := readFolder(t, dir)
			for _, o := range []Options{{}, {Resume: true}, {Force: true}} {
				o.Dir, o.Dataset = dir, newFeatures(4, 8, 6)
				_, err := Train(t.Context(), faultConfig(t), o)
				var held *lock.HeldError
				if !errors.As(err, &held) || !errors.Is(err, ErrInUse) || held.Holder == nil ||
					held.Holder.PID != os.Getpid() {
					t.Errorf("%+v: %v", o, err)
				}
			}
			if after := readFolder(t, dir); len(after) != len(before) {
				t.Errorf("%d files, then %d", len(before), len(after))
			}
		}})
	if err != nil || !tried {
		t.Fatal(err, tried)
	}
	if _, err := os.Stat(filepath.Join(dir, lock.FileName)); err == nil {
		t.Error("the lock's file is still there")
	}
}

// TestFreeNames lets several runs ask for one name at a time.
func TestFreeNames(t *testing.T) {
	base := filepath.Join(t.TempDir(), "runs", "x")
	var mu sync.Mutex
	got := map[string]bool{}
	var wg sync.WaitGroup
	for range 4 {
		cfg := faultConfig(t)
		wg.Go(func() {
			res, err := Train(t.Context(), cfg, Options{Dir: base, UniqueDir: true,
				Dataset: newFeatures(4, 8, 6)})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			got[res.Dir] = true
		})
	}
	wg.Wait()
	for _, dir := range []string{base, base + "-2", base + "-3", base + "-4"} {
		if !got[dir] {
			t.Errorf("no run in %s", dir)
		}
		checkFinishedLike(t, base, dir)
	}
}

// TestScoresThatCannotBeHad cost no training: the network and the checkpoint are
// there, and the run ends once something else is measured.
func TestScoresThatCannotBeHad(t *testing.T) {
	want, _ := traceRun(t)
	dir := filepath.Join(t.TempDir(), "run")
	opts := Options{Dir: dir, Dataset: newFeatures(4, 8, 6)}
	opts.Observe = func(e train.Event) {
		if e.Stage == train.Scoring && e.Epoch == 2 { // NaN where a sample to score was
			for i, s := range opts.Dataset.Splits {
				if s == data.Test {
					opts.Dataset.Features.Row(i)[0] = float32(math.NaN())
				}
			}
		}
	}
	_, err := Train(t.Context(), faultConfig(t), opts)
	if err == nil || !strings.Contains(err.Error(), "kept in "+dir) ||
		!strings.Contains(err.Error(), "continue with run.Options.Resume") {
		t.Fatalf("scores of NaN: %v", err)
	}
	for _, name := range []string{"model.safetensors", "model.json"} {
		if readFolder(t, dir)[name] != readFolder(t, want)[name] {
			t.Errorf("%s is not the trained network's", name)
		}
	}
	if err := resumeOrBegin(t, dir, nil); err != nil {
		t.Fatal(err)
	}
	checkFinishedLike(t, want, dir)
}

// TestNoPlaceForACache trains without one, says so and notes it in the
// configuration; a run that began with a cache is not resumed without.
func TestNoPlaceForACache(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("LocalAppData", "")
	cfg := smallConfig(t)
	cfg.Train.Epochs, cfg.Data.Cache = 1, true
	dir := filepath.Join(t.TempDir(), "run")
	res, err := Train(t.Context(), cfg, Options{Dir: dir, Dataset: newBlobs(4, 20, 16)})
	if err != nil {
		t.Fatal(err)
	}
	if res.Config.Data.Cache || len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "data.cache is off") {
		t.Errorf("cache %v, notes %q", res.Config.Data.Cache, res.Notes)
	}
	if _, err := Train(t.Context(), cfg, Options{Dir: dir, Resume: true, Dataset: newBlobs(4, 20, 16)}); err == nil ||
		!strings.Contains(err.Error(), "started with data.cache") {
		t.Errorf("resumed without its cache: %v", err)
	}
}

// TestStoppedSaysWhere: the epoch under way counts from 1, its steps from 0.
func TestStoppedSaysWhere(t *testing.T) {
	for _, at := range [][2]int{{1, 2}, {2, 1}} { // epoch and step after which the run is interrupted
		ctx, cancel := context.WithCancel(context.Background())
		steps := 0
		cfg := parsed(t, "train.epochs=2", "sample.batches=3", "sample.classes=2", "sample.per_class=2")
		_, err := Train(ctx, cfg,
			Options{Dataset: newBlobs(4, 8, 16), Dir: filepath.Join(t.TempDir(), "run"), Observe: func(e train.Event) {
				if e.Stage == train.Stepped {
					if steps++; steps == 3*(at[0]-1)+at[1] {
						cancel()
					}
				}
			}})
		cancel()
		var s *StoppedError
		if !errors.As(err, &s) {
			t.Fatalf("error %v", err)
		}
		if s.Epoch != at[0] || s.Epochs != 2 || s.Step != at[1] || s.Steps != 3 {
			t.Errorf("stopped in epoch %d of %d after step %d of %d, want %v", s.Epoch, s.Epochs, s.Step, s.Steps, at)
		}
		if want := fmt.Sprintf("stopped in epoch %d after step %d of 3", at[0], at[1]); !strings.Contains(err.Error(),
			want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if s := (&StoppedError{"d",
		&train.StoppedError{Epoch: 3, Epochs: 2}}).Location(); s != "d stopped after its last epoch" {
		t.Error(s)
	}
}

// TestFolderIsRefusedBeforeTheFeatures of a pretrained start are computed.
func TestFolderIsRefusedBeforeTheFeatures(t *testing.T) {
	dir := t.TempDir()
	if err := writeNameFile(dir, "mine"); err != nil {
		t.Fatal(err)
	}
	computed := 0
	cfg := Default()
	cfg.Network.Width = 16
	opts := Options{Dataset: newPhotos(8, 10, 64), Weights: smallStart(t, 64), Dir: dir,
		FeatureProgress: func(int, int) { computed++ }}
	if _, err := Train(t.Context(), cfg, opts); err == nil || !strings.Contains(err.Error(), "it holds mine;") {
		t.Error(err)
	}
	if computed > 0 {
		t.Errorf("features were computed %d times", computed)
	}
}
