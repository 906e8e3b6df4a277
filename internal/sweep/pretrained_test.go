package sweep

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/run"
)

// photos is a source of colour images in memory.
type photos []*imaging.Image

func (p photos) Shape() (w, h, c int) { return p[0].W, p[0].H, p[0].C }

func (p photos) Read(_ context.Context, i int, dst *imaging.Image, _ *imaging.Decoder) error {
	dst.Reset(p[i].W, p[i].H, p[i].C)
	copy(dst.Pix, p[i].Pix)
	return nil
}

// newPhotographs is a set of eight classes of six, which differ in hue.
func newPhotographs(t *testing.T) *data.Dataset {
	t.Helper()
	var images photos
	var names, labels []string
	for c := range 8 {
		for i := range 6 {
			img := imaging.NewImage(64, 64, 3)
			for k := range img.Pix {
				img.Pix[k] = uint8(9*c*(k%3+1) + 23*i*(k/3%2) + k*31%64)
			}
			images, labels = append(images, img), append(labels, string(rune('a'+c)))
			names = append(names, fmt.Sprintf("%c%d", 'a'+c, i))
		}
	}
	d, err := data.New("photographs", names, labels, images)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// findSmallNetwork finds a small network for photographs.
func findSmallNetwork(t *testing.T) func(context.Context, string) (run.Start, error) {
	t.Helper()
	spec, err := zoo.Network("conv4", zoo.Options{Input: nn.Shape{H: 64, W: 64, C: 3}, Width: 8, NoHead: true})
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(spec, nn.Options{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := net.Save(dir); err != nil {
		t.Fatal(err)
	}
	return func(context.Context, string) (run.Start, error) {
		return run.Start{Name: "small", Path: filepath.Join(dir, nn.WeightsFile), Network: "conv4", Size: 64,
			Pixels: "imagenet"}, nil
	}
}

// TestPretrainedStart: trials from a pretrained start, whose configurations leave most to
// it, go on from their checkpoints, and come to what they come to when trained at once.
func TestPretrainedStart(t *testing.T) {
	start := findSmallNetwork(t)
	for _, folds := range []string{"2", "images:2"} {
		p := parsePlanText(t, `
set: {data.name: photographs, network.width: 8, train.epochs: 3, eval.recall: [1], sample.batches: 2}
ranges: {train.lr: {low: 0.00001, high: 0.001, log: true}}
trials: 4
reduction: 3
seeds: 1
folds: `+folds)
		dir := t.TempDir()
		l := Local{Dir: RunsDir(dir), Dataset: newPhotographs(t), Weights: start}
		out, err := Run(t.Context(), p, Options{Dir: dir, Local: l})
		if err != nil {
			t.Fatalf("folds %s: %v", folds, err)
		}
		a := &out.Arms[0]
		promoted := 0
		for _, trial := range a.Trials {
			if trial.Failed != "" {
				t.Errorf("folds %s: trial %d: %s", folds, trial.Number, trial.Failed)
			}
			if trial.Epochs == 3 {
				promoted++
			}
		}
		best := a.BestTrial()
		if promoted == 0 || best.Epochs != 3 {
			t.Fatalf("folds %s: %d trials went on; the winner has %d epochs", folds, promoted, best.Epochs)
		}
		for k, want := range best.Folds {
			cfg, err := p.config(&p.Arms[0], best.Set, p.trialSet(&p.Arms[0], k+1)...)
			if err != nil {
				t.Fatal(err)
			}
			at := Local{Dir: t.TempDir(), Dataset: l.Dataset, Weights: start}
			r, err := at.Run(t.Context(), Job{"whole", string(cfg.YAML()), 3, p.Column()})
			if err != nil || r.scoreAt(3) == nil || *r.scoreAt(3) != want {
				t.Errorf("folds %s: trained at once, fold %d comes to %+v, not %v: %v", folds, k+1, r, want, err)
			}
		}
	}
}

// TestPatience: a run that ends before its last epoch, as it got no better, has the score
// that it ended with there too.
func TestPatience(t *testing.T) {
	l := Local{Dir: t.TempDir(), Dataset: newRows()}
	text := configText(t, "data.fold=1/2", "train.epochs=12", "train.lr=0.2", "train.best=test_recall@1",
		"train.patience=1")
	j := Job{"a", text, 9, "test_recall@1"}
	early, err := l.Run(t.Context(), j)
	if err != nil || early.Failed != "" || early.Epochs >= 9 {
		t.Fatalf("nothing was shown: %+v, %v", early, err)
	}
	if s := early.scoreAt(9); s == nil || *s != early.Metrics[j.Metric] || *s != *early.scoreAt(early.Epochs) {
		t.Errorf("%+v", early)
	}
	j.Until = 12
	late, err := l.Run(t.Context(), j)
	if err != nil || late.Epochs != early.Epochs || late.scoreAt(12) == nil || *late.scoreAt(12) != *early.scoreAt(9) ||
		!reflect.DeepEqual(late.Metrics, early.Metrics) {
		t.Errorf("%+v, then %+v, %v", early, late, err)
	}
}
