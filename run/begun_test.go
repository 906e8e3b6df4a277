package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/train"
)

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
		text, err := os.ReadFile(filepath.Join(dir, configFile))
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
	cacheAt(t, t.TempDir())
	coarse := []string{"data.label=groups:a,p|b,o|c,n|d,m|e,l|f,k|g,j|h,i", "loss.name=supcon",
		"data.split=images:0.2", "sample.batches=1"}
	pretrained := Options{Weights: smallStart(t, 64), Dataset: photos(8, 10, 64)}
	many := Options{Weights: pretrained.Weights, Dataset: photos(16, 30, 64)}
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
	tr, err := assemble(t.Context(), Default(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	if c := tr.cfg; c.Data.Validation != "images:0.2" || c.Network.Dim != 3 || c.Train.Patience != 0 ||
		c.Train.Clip != 0 || c.Train.Epochs != 1 {
		t.Errorf("goes on with %+v, %+v", c.Network, c.Train)
	}
	cfg.Network.Dim, cfg.Train.LR = 5, 0.5
	own, err := assemble(t.Context(), cfg, opts)
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
	write(t, filepath.Join(dir, configFile), "network: {pretrained: small, width: 16}\ntrain: {chunk: 12}\n")
	cfg, err := Parse("", nil, "network.pretrained=small", "network.width=16")
	if err != nil {
		t.Fatal(err)
	}
	tr, err := assemble(t.Context(), cfg,
		Options{Dir: dir, Resume: true, Dataset: photos(4, 8, 16), Weights: smallStart(t, 16)})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	if tr.cfg.Train.Chunk != 12 {
		t.Errorf("pieces of %d", tr.cfg.Train.Chunk)
	}
}
