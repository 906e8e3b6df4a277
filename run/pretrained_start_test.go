package run

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/train"
)

// newPhotos is a data set of colour images of the given side: classes differ in hue.
func newPhotos(classes, each, side int) *data.Dataset {
	return newPictureData(classes, each, side, func(c, i, k int) int { return 17*c*(k%3+1) + 5*i + k*31%64 })
}

// newPictureData makes classes of images, whose k-th value in the i-th of class c is value's.
func newPictureData(classes, each, side int, value func(c, i, k int) int) *data.Dataset {
	var images pictures
	var names, labels []string
	for c := range classes {
		for i := range each {
			img := imaging.NewImage(side, side, 3)
			for k := range img.Pix {
				img.Pix[k] = uint8(value(c, i, k))
			}
			images = append(images, img)
			labels = append(labels, string(rune('a'+c%26))+strings.Repeat("x", c/26))
			names = append(names, fmt.Sprint(len(names)))
		}
	}
	d, err := data.New("photos", names, labels, images)
	if err != nil {
		panic(err)
	}
	return d
}

// pictures are a source of images in memory.
type pictures []*imaging.Image

func (p pictures) Shape() (w, h, c int) { return p[0].W, p[0].H, p[0].C }

func (p pictures) Read(_ context.Context, i int, dst *imaging.Image, _ *imaging.Decoder) error {
	dst.W, dst.H, dst.C, dst.Pix = p[i].W, p[i].H, p[i].C, append(dst.Pix[:0], p[i].Pix...)
	return nil
}

// TestStart: who is asked for a pretrained network, and what follows from one.
func TestStart(t *testing.T) {
	asked := 0
	given := func(context.Context, string) (Start, error) {
		asked++
		return Start{}, errors.New("no network")
	}
	grey := newBlobs(4, 12, 16)
	for name, c := range map[string]struct {
		d       *data.Dataset
		change  func(*Config)
		weights func(context.Context, string) (Start, error)
		asked   int
	}{
		"photographs":                {newPhotos(4, 6, 64), func(*Config) {}, given, 1},
		"photographs, nobody to ask": {newPhotos(4, 6, 64), func(*Config) {}, nil, 0},
		"thumbnails":                 {newPhotos(4, 6, 32), func(*Config) {}, given, 0},
		"grey":                       {grey, func(*Config) {}, given, 0},
		"a network that is named":    {newPhotos(4, 6, 64), func(c *Config) { c.Network.Name = "conv4" }, given, 0},
		"pretrained weights are refused": {newPhotos(4, 6, 64), func(c *Config) { c.Network.Pretrained = "none" },
			given,
			0},
	} {
		asked = 0
		cfg := Default()
		c.change(&cfg)
		cfg.Sample.Classes, cfg.Sample.PerClass = 2, 2
		tr, err := newPlan(t.Context(), cfg, Options{Dataset: c.d, Weights: c.weights})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if asked != c.asked {
			t.Errorf("%s: asked %d times, want %d", name, asked, c.asked)
		}
		r := tr.cfg
		loss, views := "triplet", none
		if r.Data.Channels == 1 {
			loss, views = "supcon", "characters"
		}
		if r.Network.isPretrained() || r.Train.LR != 1e-3 || r.Network.Dim != 128 || r.Data.Augment != views ||
			r.Data.Validation != "none" || r.Loss["name"] != loss || r.Train.Best != "none" {
			t.Errorf("%s: resolved to %+v", name, r)
		}
		said := strings.Contains(strings.Join(tr.notes, "\n"), "trained from random weights, which")
		if said != (c.asked > 0) {
			t.Errorf("%s: notes %q", name, tr.notes)
		}
		tr.close()
	}
}

// TestNoPretrainedNetwork: a run that wanted a pretrained network and could have none says at its end what it
// lacked and how to get it; one that was not to have any says nothing.
func TestNoPretrainedNetwork(t *testing.T) {
	lost := func(context.Context, string) (Start, error) {
		return Start{Name: "resnet18"}, errors.New("no route")
	}
	for _, asked := range []string{"", none} {
		cfg := Default()
		cfg.Network.Pretrained, cfg.Network.Width, cfg.Train.Epochs, cfg.Data.Size = asked, 4, 1, 16
		cfg.Sample.Classes, cfg.Sample.PerClass = 2, 2
		res, err := Train(t.Context(), cfg, Options{Dir: t.TempDir(), Dataset: newPhotos(4, 8, 64), Weights: lost})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"random weights", "kindred weights get resnet18",
			"name a file with network.pretrained"} {
			if strings.Contains(res.Verdict, want) != (asked == "") {
				t.Errorf("pretrained=%q: %q in %q", asked, want, res.Verdict)
			}
		}
	}
}

// TestSpread: which configurations leave the loss open, so that grey images are learned
// from scratch by SupCon with spread between two views.
func TestSpread(t *testing.T) {
	grey := newBlobs(4, 12, 16)
	for _, c := range []struct {
		d      *data.Dataset
		set    []string
		spread bool
		views  int
	}{
		{grey, nil, true, 2},
		{grey, []string{"train.lr=0.01", "network.dim=8", "sample.per_class=4"}, true, 2},
		{grey, []string{"sample.views=3"}, true, 3},
		{grey, []string{"data.augment=standard"}, true, 2},
		{grey, []string{"sample.views=1"}, false, 1},
		{grey, []string{"data.augment=none"}, false, 1},
		{grey, []string{"mine.positives=random"}, false, 1},
		{grey, []string{"mine.negatives=all"}, false, 1},
		{grey, []string{"loss.name=triplet"}, false, 1},
		{grey, []string{"loss.margin=0.3"}, false, 1},
		{grey, []string{"loss.memory=64"}, false, 1},
		{newPhotos(4, 12, 32), nil, false, 1},
		{newPhotos(4, 12, 32), []string{"data.channels=1"}, true, 2},
		{grey, []string{"data.channels=3"}, false, 1},
		{newFeatures(4, 20, 6), nil, false, 1},
	} {
		cfg := parsed(t, append([]string{"network.width=8", "train.epochs=1", "sample.batches=1"}, c.set...)...)
		tr, err := newPlan(t.Context(), cfg, Options{Dataset: c.d})
		if err != nil {
			t.Fatal(c.set, err)
		}
		defer tr.close()
		r := tr.cfg
		name, plus := "triplet", 0
		if c.spread {
			name, plus = "supcon", 1
		}
		if r.Loss["name"] != name || len(tr.loss.options.Plus) != plus || r.Sample.Views != c.views ||
			c.spread && (r.Data.Augment == none || tr.loss.options.Plus[0].Weight != 1 ||
				!tr.loss.options.Plus[0].Options.Traits().Views) {
			t.Errorf("%v: resolved to %+v", c.set, r)
		}
	}
}

// TestSpreadResumes: what a run was begun with stands, whatever the defaults have become.
func TestSpreadResumes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	d := newBlobs(4, 12, 16)
	set := []string{"network.width=8", "train.epochs=2", "sample.batches=2"}
	whole, err := Train(t.Context(), parsed(t, set...), Options{Dataset: d})
	if err != nil {
		t.Fatal(err)
	}
	first := parsed(t, append(set, "train.epochs=1")...)
	if _, err := Train(t.Context(), first, Options{Dataset: d, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	cfg := parsed(t, set...)
	res, err := Train(t.Context(), cfg, Options{Dataset: d, Dir: dir, Resume: true})
	if err != nil {
		t.Fatal(err)
	}
	if r := res.Config; r.Loss["name"] != "supcon" || r.Sample.Views != 2 || r.Data.Augment != "characters" {
		t.Errorf("resumed as %+v", r)
	}
	if res.LastEpoch().Loss != whole.LastEpoch().Loss {
		t.Errorf("resumed: loss %v, in one go %v", res.LastEpoch().Loss, whole.LastEpoch().Loss)
	}
}

// smallStart trains a small network and returns its weights as a start.
func smallStart(t *testing.T, side int) func(context.Context, string) (Start, error) {
	t.Helper()
	dir := t.TempDir()
	spec, err := zoo.Network("conv4",
		zoo.Options{Input: nn.Shape{H: side, W: side, C: 3}, Width: 16, NoHead: true})
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(spec, nn.Options{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	if err := net.Save(dir); err != nil {
		t.Fatal(err)
	}
	return func(_ context.Context, name string) (Start, error) {
		if name != "" && name != "small" {
			return Start{}, errors.New("unknown weights " + name)
		}
		return Start{Name: "small", Path: filepath.Join(dir, nn.WeightsFile), Network: "conv4", Size: side,
			Pixels: "imagenet"}, nil
	}
}

// TestPretrainedLoss checks that nested lengths leave the loss of a pretrained start as it is, and
// that other keys of the loss ask for the triplet loss, whose keys they are.
func TestPretrainedLoss(t *testing.T) {
	for name, want := range map[string]Section{
		"multisimilarity": {"nested": []any{4, 8}}, "triplet": {"nested": []any{4}, "margin": 0.3},
	} {
		cfg := Default()
		cfg.Network.Width, cfg.Loss = 16, want
		tr, err := newPlan(t.Context(), cfg, Options{Dataset: newPhotos(8, 10, 64), Weights: smallStart(t, 64)})
		if err != nil {
			t.Fatal(err)
		}
		defer tr.close()
		if got := tr.cfg.Loss["name"]; got != name {
			t.Errorf("%v: the loss is %v, want %s", want, got, name)
		}
	}
}

// TestPretrainedRecipe: what a run on photographs resolves to, that it ends with the
// best epoch, never behind what it began with, and that resuming gives the same.
func TestPretrainedRecipe(t *testing.T) {
	opts := Options{Dataset: newPhotos(8, 10, 64), Weights: smallStart(t, 64), Dir: filepath.Join(t.TempDir(), "a")}
	cfg := Default()
	cfg.Network.Width, cfg.Train.Epochs, cfg.Train.Best = 16, 3, marginDistractorsKey
	cfg.Eval.Recall = []int{1}
	res, err := Train(t.Context(), cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	r := res.Config
	if r.Network.Pretrained != "small" || r.Network.Name != "conv4" || r.Network.Dim != 256 || r.Data.Size != 64 ||
		r.Network.Head != wccnHead || r.Data.Pixels != "imagenet" || r.Network.FrozenNorm != On || r.Train.LR != 3e-4 ||
		r.Train.Depth != 0.1 || r.Train.Warmup != 1.5 || r.Train.Schedule != "cosine" ||
		r.Train.Proxies != meanProxies ||
		r.Data.Augment != "light" || r.Loss["name"] != classificationLoss || r.Data.Validation != "as-test:0.2" ||
		r.Train.Patience != 12 ||
		r.Sample.Batches != 32 || r.Sample.Classes != 8 || r.Sample.PerClass != 4 ||
		r.Train.Average != "192 steps" || r.Mine["positives"] == nil {
		t.Errorf("resolved to %+v", r)
	}
	before, err := metricValue(res.Untrained, marginDistractorsKey)
	if err != nil {
		t.Fatal(err)
	}
	after, err := metricValue(res.Scores, marginDistractorsKey)
	if err != nil || after < before {
		t.Errorf("ended at %v, began at %v: %v", after, before, err)
	}
	m, err := Load(opts.Dir)
	if err != nil || m.Net.Dim() != res.Net.Dim() {
		t.Errorf("loaded %v", err)
	}
	again := opts
	again.Resume, again.Weights = true, opts.Weights
	same, err := Train(t.Context(), readConfig(t, opts.Dir), again)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := metricValue(same.Scores, marginDistractorsKey); err != nil || v != after || same.Epoch != res.Epoch ||
		len(same.Untrained) != len(res.Untrained) {
		t.Errorf("resumed: %v of epoch %d, want %v of %d: %v", v, same.Epoch, after, res.Epoch, err)
	}
}

// TestRateOfFew: few labels train at a lower rate if the test has other classes.
func TestRateOfFew(t *testing.T) {
	for _, c := range []struct {
		split string
		photo int // classes
		want  float64
	}{{"classes", 16, 1e-4}, {"classes", 32, 3e-4}, {"images:0.2", 8, 3e-4}} {
		cfg := Default()
		cfg.Network.Width, cfg.Data.Split = 16, c.split
		s, err := Plan(t.Context(), cfg, Options{Dataset: newPhotos(c.photo, 10, 64), Weights: smallStart(t, 64)})
		if err != nil {
			t.Fatal(err)
		}
		if s.Config.Train.LR != c.want {
			t.Errorf("%d classes, %s: the rate is %v, want %v", c.photo, c.split, s.Config.Train.LR, c.want)
		}
	}
}

// TestBestOfFew: four images of a class leave one to validate by, which is searched among
// training images of its class.
func TestBestOfFew(t *testing.T) {
	cfg := Default()
	cfg.Network.Width, cfg.Train.Epochs, cfg.Eval.Recall = 16, 1, []int{1}
	res, err := Train(t.Context(), cfg, Options{Dataset: newPhotos(8, 5, 64), Weights: smallStart(t, 64)})
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Config.Train.Best; got != marginKey {
		t.Errorf("keeps the best by %s", got)
	}
	if _, err := metricValue(res.Scores, marginKey); err != nil {
		t.Error(err)
	}
}

// readConfig is the configuration in a run folder.
func readConfig(t *testing.T, dir string) Config {
	t.Helper()
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := f.Config()
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// metricValue is the metric with a key.
func metricValue(metrics []train.Metric, key string) (float64, error) {
	e := train.Epoch{Metrics: metrics}
	return e.Metric(key)
}

// countedPictures are pictures whose shape only reading shows.
type countedPictures struct {
	pictures
	reads *int
}

func (c countedPictures) Shape() (w, h, channels int) { return 0, 0, 0 }

func (c countedPictures) Read(ctx context.Context, i int, dst *imaging.Image, dec *imaging.Decoder) error {
	*c.reads++
	return c.pictures.Read(ctx, i, dst, dec)
}

// To see whether they are photographs some images are read, and the size is left to
// measuring.
func TestStartLooksAtSomeImages(t *testing.T) {
	reads := 0
	d := newPhotos(4, 12, 96)
	d.Source = countedPictures{d.Source.(pictures), &reads}
	cfg, opts := Default(), Options{Weights: func(context.Context, string) (Start, error) {
		return Start{Name: "small", Path: "small.pth", Network: "conv4", Size: 224, Pixels: "unit"}, nil
	}}
	look := func() imageShape { return measureShape(t.Context(), d) }
	s, err := findStart(t.Context(), &cfg, &opts, d, look, new(notes))
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Network.Pretrained != "small" || cfg.Data.Size != 0 || s.side != 224 || reads != shapeImages {
		t.Errorf("starts from %q, made for %d pixels, at %d; %d images were read, want %d", cfg.Network.Pretrained,
			s.side, cfg.Data.Size, reads, shapeImages)
	}
}

// Training from a pretrained start improves on the untrained network, both on images of
// the same size: on classes that differ in little more than noise, whose features are
// theirs once they are trained.
func TestPretrainedImproves(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	d := newPictureData(6, 24, 16, func(c, _, k int) int { return 100 + 12*(k%3+1)*(c>>(k%3)&1) + rng.IntN(80) })
	cfg, err := Parse("", nil, "network.pretrained=small", "network.width=16", "train.epochs=6", "train.lr=0.01",
		"train.depth=1", "train.average=none", "network.frozen_norm=false", "data.augment=none", "eval.recall=[1]",
		"data.split=images:0.5", "data.validation=images:0.3")
	if err != nil {
		t.Fatal(err)
	}
	res, err := Train(t.Context(), cfg, Options{Dataset: d, Weights: smallStart(t, 16)})
	if err != nil {
		t.Fatal(err)
	}
	if res.UntrainedSize != 16 || res.Config.Data.Size != 16 {
		t.Fatalf("before training at %d px, after it at %d", res.UntrainedSize, res.Config.Data.Size)
	}
	before, err1 := metricValue(res.Untrained, "test_recall@1")
	after, err2 := metricValue(res.Scores, "test_recall@1")
	if errors.Join(err1, err2) != nil || after < before+0.2 {
		t.Errorf("epoch %d: %v after training, %v before it: %v, %v", res.Epoch, after, before, err1, err2)
	}
}
