package run

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/run/internal/record"
	"github.com/kindred-ml/kindred/train"
)

// resumeAsRecorded resumes the run in dir as its folder says.
func resumeAsRecorded(t *testing.T, dir string, d *data.Dataset, overrides ...string) error {
	t.Helper()
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := f.Config(overrides...)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Train(t.Context(), cfg, Options{Dir: dir, Resume: true, Dataset: d})
	return err
}

// TestConfigurationThatWasChanged by hand, or cut short, is noticed; what makes no
// difference is not.
func TestConfigurationThatWasChanged(t *testing.T) {
	want, _ := traceRun(t)
	text, err := os.ReadFile(filepath.Join(want, record.ConfigFile))
	if err != nil {
		t.Fatal(err)
	}
	half, _, found := strings.Cut(string(text), "\ntrain:")
	if !found {
		t.Fatalf("no section train in\n%s", text)
	}
	for name, c := range map[string]struct {
		text string
		want []string // nil: nothing is amiss
	}{
		"cut in half": {half + "\n", []string{record.ConfigFile + " differs from the configuration that the run was " +
			"trained with",
			`train.epochs is "0" there and was "2"`, "and 9 more", "by overrides"}},
		"without its end":     {strings.Replace(string(text), "  seed: 3\n", "", 1), []string{`train.seed is "1"`}},
		"empty":               {"", []string{"trained with"}},
		"with another margin": {strings.Replace(string(text), "dim: 4", "dim: 5", 1), []string{`network.dim is "5"`}},
		"with a remark":       {"# mine\n" + string(text), nil},
		"without a default":   {strings.Replace(string(text), "  momentum: 0.9\n", "", 1), nil},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		if err := os.CopyFS(dir, os.DirFS(want)); err != nil {
			t.Fatal(err)
		}
		if c.text == string(text) {
			t.Fatalf("%s: nothing was changed", name)
		}
		writeFile(t, filepath.Join(dir, record.ConfigFile), c.text)
		before := readFolder(t, dir)
		err := resumeAsRecorded(t, dir, newFeatures(4, 8, 6))
		if c.want == nil {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		for _, w := range c.want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v does not say %q", name, err, w)
			}
		}
		for file, content := range readFolder(t, dir) {
			if before[file] != content {
				t.Errorf("%s: %s has changed", name, file)
			}
		}
	}
}

// TestSettingsChangedAtEveryWrite resumes a run with other settings, fails at each
// change of the file system, and goes on with what the folder says then: with the
// settings of old or the new ones, and never with an error that they disagree.
func TestSettingsChangedAtEveryWrite(t *testing.T) {
	begun, _ := traceRun(t)
	stop := errors.New("killed")
	for n := 1; n <= 40; n += stopStride(3) {
		dir := filepath.Join(t.TempDir(), "run")
		if err := os.CopyFS(dir, os.DirFS(begun)); err != nil {
			t.Fatal(err)
		}
		cfg := faultConfig(t)
		cfg.Train.Epochs = 3
		at := 0
		opts := Options{Dir: dir, Resume: true, Dataset: newFeatures(4, 8, 6)}
		opts.files = atomic.Files{Fault: func(string, string) error {
			if at++; at >= n {
				return stop
			}
			return nil
		}}
		if _, err := Train(t.Context(), cfg, opts); !errors.Is(err, stop) {
			t.Fatalf("stopped at change %d: %v", n, err)
		}
		if err := resumeAsRecorded(t, dir, newFeatures(4, 8, 6)); err != nil {
			t.Errorf("stopped at change %d, then: %v", n, err)
		}
		if err := resumeAsRecorded(t, dir, newFeatures(4, 8, 6), "train.epochs=3"); err != nil {
			t.Errorf("stopped at change %d, then with three epochs: %v", n, err)
		}
	}
}

// TestOtherSamplesAreNoticed in what only some losses and samplers look at.
func TestOtherSamplesAreNoticed(t *testing.T) {
	set := func(change func(*data.Dataset)) *data.Dataset {
		d := newFeatures(4, 8, 6)
		d.MultiLabel = &data.MultiLabel{Classes: make([]string, 9)}
		coarse := data.Column{Name: "above", Classes: []string{"x", "y"}}
		for i := range d.Names {
			d.MultiLabel.Sets = append(d.MultiLabel.Sets, []int64{int64(i / 8), 8})
			coarse.IDs = append(coarse.IDs, int64(i/16))
		}
		d.Columns, d.Coarse = append(d.Columns, coarse), "above"
		change(d)
		return d
	}
	same := func(*data.Dataset) {}
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := Train(t.Context(), faultConfig(t), Options{Dir: dir, Dataset: set(same)}); err != nil {
		t.Fatal(err)
	}
	changes := map[string]func(*data.Dataset){
		"a label more": func(d *data.Dataset) { d.MultiLabel.Sets[0] = []int64{0, 5, 8} },
		"moved over": func(d *data.Dataset) {
			d.MultiLabel.Sets[0], d.MultiLabel.Sets[1] = []int64{0},
				[]int64{8, 0, 8}
		},
		"other coarse":  func(d *data.Dataset) { d.Columns[1].IDs[3] = 1 },
		"no lists":      func(d *data.Dataset) { d.MultiLabel = nil },
		"nothing above": func(d *data.Dataset) { d.Coarse = "" },
	}
	for name, change := range changes {
		if err := resumeAsRecorded(t, dir, set(change)); err == nil ||
			!strings.Contains(err.Error(), "training samples") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := resumeAsRecorded(t, dir, set(same)); err != nil {
		t.Error(err)
	}
	if err := resumeAsRecorded(t, dir, set(func(d *data.Dataset) { d.Features.Row(0)[0]++ })); err == nil ||
		!strings.Contains(err.Error(), "the features of the training samples differ") {
		t.Errorf("other features: %v", err)
	}
	if all := fingerprint(newFeatures(2, 4, 3).All()); !strings.Contains(all, featuresMark) {
		t.Errorf("%q does not cover the features", all)
	}
	if plain := labelFingerprint(newFeatures(2, 4, 3).All()); len(plain) != 16 || strings.Contains(plain, "-") {
		t.Errorf("of samples with one label: %q", plain)
	}
}

// A set without a split of its own trains all classes, and the folder says so.
func TestSplitIsWrittenAndKept(t *testing.T) {
	own := func() *data.Dataset {
		d := newFeatures(6, 10, 6)
		d.Splits = nil
		return d
	}
	cfg := Default()
	cfg.Network.Dim, cfg.Train.Epochs, cfg.Data.TrainLimit = 4, 2, 6
	split := func(dir string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, record.ConfigFile))
		if err != nil {
			t.Fatal(err)
		}
		c, err := Parse("", text)
		if err != nil {
			t.Fatal(err)
		}
		return c.Data.Split
	}
	dir := t.TempDir()
	if _, err := Train(t.Context(), cfg, Options{Dir: dir, Dataset: own()}); err != nil {
		t.Fatal(err)
	}
	if got := split(dir); got != "images:0.2" {
		t.Errorf("split %q", got)
	}
	if _, err := Train(t.Context(), cfg, Options{Dir: dir, Dataset: own(), Resume: true}); err != nil {
		t.Error(err)
	}
}

// A run that goes on with the configuration that it was begun with is the same as one
// that was never stopped, whatever that configuration leaves open: its folder says what it
// came to.
func TestGoesOnAsBegun(t *testing.T) {
	setCacheDir(t, t.TempDir())
	coarse := []string{"data.label=groups:a,p|b,o|c,n|d,m|e,l|f,k|g,j|h,i", "loss.name=supcon",
		"data.split=images:0.2", "sample.batches=1"}
	pretrained := Options{Weights: smallStart(t, 64), Dataset: newPhotos(8, 10, 64)}
	many := Options{Weights: pretrained.Weights, Dataset: newPhotos(16, 30, 64)}
	for name, c := range map[string]struct {
		opts Options
		set  []string
	}{
		"pretrained":             {pretrained, nil},
		"pretrained, classes":    {pretrained, []string{"data.fold=1/2"}},
		"pretrained, images":     {pretrained, []string{"data.fold=images:1/2"}},
		"pretrained, a head":     {pretrained, []string{"network.dim=12", "data.validation=none"}},
		"frozen":                 {pretrained, []string{"network.freeze=body"}},
		"labels that are coarse": {many, coarse},
		"from scratch":           {Options{Dataset: newBlobs(4, 12, 16)}, []string{"data.validation=images:0.2"}},
		"features":               {Options{Dataset: newFeatures(6, 10, 6)}, []string{"network.dim=3"}},
	} {
		cfg, err := Parse("", nil, append([]string{"network.width=16", "train.epochs=2", "eval.recall=[1]"},
			c.set...)...)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		c.opts.Dir = filepath.Join(dir, "whole")
		if _, err := Train(t.Context(), cfg, c.opts); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ctx, stop := context.WithCancel(t.Context())
		halves := c.opts
		halves.Dir = filepath.Join(dir, "halves")
		halves.Observe = func(e train.Event) {
			if e.Stage == train.EpochEnd && e.Row.Epoch == 1 {
				stop()
			}
		}
		if _, err := Train(ctx, cfg, halves); !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: %v", name, err)
		}
		halves.Observe, halves.Resume = nil, true
		if _, err := Train(t.Context(), cfg, halves); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		sameFolders(t, c.opts.Dir, halves.Dir)
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// What the configuration of a resumed run says comes before what it was begun with, and a
// zero that is a value is one.
func TestBegunGivesWay(t *testing.T) {
	dir := t.TempDir()
	cfg, err := Parse("", nil, "network.dim=3", "train.epochs=1", "data.validation=images:0.2", "train.patience=4",
		"train.clip=1")
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Dir: dir, Dataset: newFeatures(6, 10, 6)}
	if _, err := Train(t.Context(), cfg, opts); err != nil {
		t.Fatal(err)
	}
	opts.Resume = true
	tr, err := newPlan(t.Context(), Default(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	if c := tr.cfg; c.Data.Validation != "images:0.2" || c.Network.Dim != 3 || c.Train.Patience != 0 ||
		c.Train.Clip != 0 || c.Train.Epochs != 1 {
		t.Errorf("goes on with %+v, %+v", c.Network, c.Train)
	}
	cfg.Network.Dim, cfg.Train.LR = 5, 0.5
	own, err := newPlan(t.Context(), cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer own.close()
	if own.cfg.Network.Dim != 5 || own.cfg.Train.LR != 0.5 {
		t.Errorf("what was said is lost: %+v, %+v", own.cfg.Network, own.cfg.Train)
	}
}

// A run whose batches went in pieces, as they did not fit the memory, goes on in pieces.
func TestGoesOnInPieces(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, record.ConfigFile), "network: {pretrained: small, width: 16}\ntrain: {chunk: 12}\n")
	cfg, err := Parse("", nil, "network.pretrained=small", "network.width=16")
	if err != nil {
		t.Fatal(err)
	}
	tr, err := newPlan(t.Context(), cfg,
		Options{Dir: dir, Resume: true, Dataset: newPhotos(4, 8, 16), Weights: smallStart(t, 16)})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	if tr.cfg.Train.Chunk != 12 {
		t.Errorf("pieces of %d", tr.cfg.Train.Chunk)
	}
}

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
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "run.Train with Options.Finish") {
			t.Errorf("an unfinished run: %v", err)
		}
	}
	opts.Finish, opts.Observe = true, func(e train.Event) {
		if e.Stage == train.Stepped {
			t.Error("a further step")
		}
	}
	res, err := Train(t.Context(), readConfig(t, opts.Dir), opts)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(res.History); n != 3 || res.History[2].Steps != 2 || res.Config.Train.Epochs != 3 || res.Epoch < 1 ||
		len(res.Scores) == 0 || readConfig(t, opts.Dir).Train.Epochs != 3 {
		t.Errorf("%d epochs, the last of %d steps; epoch %d, %v", n, res.History[n-1].Steps, res.Epoch, res.Scores)
	}
	m, err := Load(opts.Dir)
	if err != nil || m.Net.Dim() != res.Net.Dim() {
		t.Errorf("loaded %v, %v", m, err)
	}
	if _, err := f.Embeddings(TestSet); err != nil {
		t.Error(err)
	}
	again, err := Train(t.Context(), readConfig(t, opts.Dir), opts)
	if err != nil || again.Epoch != res.Epoch || len(again.History) != 3 {
		t.Errorf("finished twice: %v, %v", again, err)
	}
	longer := readConfig(t, opts.Dir)
	longer.Train.Epochs, opts.Finish, opts.Resume, opts.Observe = 4, false, true, nil
	if res, err := Train(t.Context(), longer, opts); err != nil || len(res.History) != 4 {
		t.Errorf("made longer: %v, %v", res, err)
	}
}

// TestAnotherFall: a run whose rate falls to 0 over more epochs, or over fewer, than it began with says so. Resumed as
// it is, or at a constant rate, it has nothing to say.
func TestAnotherFall(t *testing.T) {
	for _, c := range []struct {
		schedule string
		epochs   int
		want     string
	}{
		{"cosine", 4, "the learning rate now falls to 0 over 4 epochs, and not over 3, so it goes on higher"},
		{"cosine", 2, "the learning rate now falls to 0 over 2 epochs, and not over 3, so it goes on lower"},
		{"cosine", 3, ""},
		{"constant", 4, ""},
	} {
		cfg := smallConfig(t)
		cfg.Train.Epochs, cfg.Train.Schedule = 3, c.schedule
		opts := Options{Dir: filepath.Join(t.TempDir(), "a"), Dataset: newBlobs(4, 20, 16)}
		ctx, cancel := context.WithCancel(t.Context())
		opts.Observe = func(e train.Event) {
			if e.Stage == train.Stepped && e.Epoch == 2 {
				cancel()
			}
		}
		_, err := Train(ctx, cfg, opts)
		if cancel(); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		again := readConfig(t, opts.Dir)
		again.Train.Epochs, opts.Resume, opts.Observe = c.epochs, true, nil
		res, err := Train(t.Context(), again, opts)
		if err != nil || len(res.History) != c.epochs {
			t.Fatal(res, err)
		}
		said := strings.Join(res.Notes, "\n")
		if c.want == "" && strings.Contains(said, "falls to 0") || !strings.Contains(said, c.want) {
			t.Errorf("%s to %d epochs: %q", c.schedule, c.epochs, said)
		}
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
	opts.Finish, opts.OnSetup = false, func(Setup) { cancel() }
	if _, err := Train(ctx, smallConfig(t), opts); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	before := readFolder(t, dir)
	opts.Finish, opts.OnSetup = true, nil
	if _, err := Train(t.Context(), smallConfig(t), opts); err == nil ||
		!strings.Contains(err.Error(), "has taken no step: start it again with run.Options.Resume") {
		t.Errorf("without a step: %v", err)
	}
	for name, content := range readFolder(t, dir) {
		if before[name] != content {
			t.Errorf("%s has changed", name)
		}
	}
}

// Fingerprints of versions that did not look at features are compared by names and labels.
func TestChangedSamples(t *testing.T) {
	const labels, features = "the training samples or their labels", "the features of the training samples"
	for _, c := range [][3]string{{"a~f", "a~f", ""}, {"a", "a", ""}, {"a", "a~f", ""}, {"a-r", "a-r~f", ""},
		{"a~f", "a~g", features}, {"a~f", "b~f", labels}, {"a", "b~f", labels}, {"a-r", "a-s", labels},
		{"a-r", "a", labels},
		{"a~f", "a", features}} {
		if have := changedSamples(c[0], c[1]); have != c[2] {
			t.Errorf("%s, then %s: %q, want %q", c[0], c[1], have, c[2])
		}
	}
}
