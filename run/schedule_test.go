package run

import (
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/network/onnxexport"
	"github.com/kindred-ml/kindred/nn"
)

func TestUsualSize(t *testing.T) {
	for _, c := range []struct{ w, h, channels, want int }{
		{28, 28, 1, 28}, {64, 64, 3, 64}, {1, 1, 1, 1},
		{65, 65, 1, 40}, {65, 65, 3, 64}, {0, 0, 1, 40}, {0, 0, 3, 64},
		{28, 30, 1, 40}, {30, 28, 3, 64}, {105, 105, 1, 40},
	} {
		if got := defaultSize(c.w, c.h, c.channels); got != c.want {
			t.Errorf("%d x %d x %d: %d, want %d", c.w, c.h, c.channels, got, c.want)
		}
	}
}

func TestSettleImages(t *testing.T) {
	type settled struct {
		network, fit   string
		size, channels int
		normalize      Switch
	}
	images := func(side int) *data.Dataset { return newBlobs(2, 2, side) }
	for name, c := range map[string]struct {
		d    *data.Dataset
		set  []string
		want settled
	}{
		"digits":    {images(28), nil, settled{"mnist", "stretch", 28, 1, On}},
		"small":     {images(16), nil, settled{"conv4", "stretch", 16, 1, On}},
		"drawings":  {images(105), nil, settled{"conv4", "stretch", 40, 1, On}},
		"in colour": {images(28), []string{"data.channels=3"}, settled{"conv4", "cover", 28, 3, On}},
		"as they are set": {images(28), []string{"data.fit=cover", "data.size=20", "network.name=mlp",
			"network.normalize=true", "network.dim=2"}, settled{"mlp", "cover", 20, 1, On}},
		"2 dimensions": {images(28), []string{"network.dim=2"}, settled{"mnist", "stretch", 28, 1, Off}},
		"3 dimensions": {images(28), []string{"network.dim=3"}, settled{"mnist", "stretch", 28, 1, Off}},
		"4 dimensions": {images(28), []string{"network.dim=4"}, settled{"mnist", "stretch", 28, 1, On}},
		"features":     {newFeatures(2, 2, 3), nil, settled{"mlp", "", 0, 0, On}},
		"linear":       {newFeatures(2, 2, 3), []string{"network.name=linear"}, settled{"linear", "", 0, 0, On}},
	} {
		cfg, err := Parse("test", nil, c.set...)
		if err != nil {
			t.Fatal(err)
		}
		if err := choosePreprocessing(&cfg, c.d, &networkStart{}, new(notes)); err != nil {
			t.Fatal(err)
		}
		chooseNetwork(&cfg, c.d, &networkStart{})
		n, d := &cfg.Network, &cfg.Data
		got := settled{n.Name, d.Fit, d.Size, d.Channels, n.Normalize}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestLength: how long a run from a pretrained start is where nobody says.
func TestLength(t *testing.T) {
	for _, c := range []struct{ drawn, samples, constant, cosine int }{
		{1024, 5000, 97, 58}, {5000, 5000, 20, 12}, {1024, 400, 12, 12}, {2048, 2048, 32, 12}, {1024, 700, 21, 12},
		{320, 40, 4, 4}, {1024, 40, 4, 4}, {9000, 9000, 11, 11}, {50_000, 50_000, 4, 4}, {0, 0, 4, 4},
	} {
		constant := epochsForSamples(c.drawn, defaultSamples("constant", c.samples))
		cosine := epochsForSamples(c.drawn, defaultSamples("cosine", c.samples))
		if constant != c.constant || cosine != c.cosine {
			t.Errorf("epochs that draw %d of %d: %d and %d, want %d and %d", c.drawn, c.samples, constant, cosine,
				c.constant, c.cosine)
		}
	}
	for drawn, want := range map[int]int{1: 12288, 128: 96, 1024: 12, 3000: 5, 3200: 4, 128_000: 4} {
		if got := defaultPatience(drawn); got != want {
			t.Errorf("%d samples between evaluations: patience of %d, want %d", drawn, got, want)
		}
	}
	for text, want := range map[string]float64{"": 0, none: 0, "3": 3, "0.5": 0.5, "48 steps": 6, "2 steps": 0.25} {
		if got, err := parseAverage(text, 8); err != nil || got != want {
			t.Errorf("%q: %v epochs, %v", text, got, err)
		}
	}
}

// TestFallingRate: with the default loss the rate falls to 0 after a warm-up of at most half of the run. A warm-up that
// is as long as the run keeps it constant, and so does another loss.
func TestFallingRate(t *testing.T) {
	for _, c := range []struct {
		set      []string
		schedule string
		epochs   int
		warmup   float64 // of epochs
	}{
		{nil, "cosine", 4, 2},
		{[]string{"train.epochs=1"}, "cosine", 1, 0.5},
		{[]string{"train.epochs=1", "sample.batches=1"}, "cosine", 1, 0},
		{[]string{"train.epochs=2", "train.warmup=2"}, "constant", 2, 2},
		{[]string{"train.epochs=2", "train.warmup=1"}, "cosine", 2, 1},
		{[]string{"train.schedule=constant"}, "constant", 4, 2},
		{[]string{"loss.name=cosface"}, "constant", 4, 0},
		{[]string{"loss.name=cosface", "train.schedule=cosine"}, "cosine", 4, 0},
	} {
		cfg, err := Parse("", nil, append([]string{"data.size=64", "network.width=16"}, c.set...)...)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := newPlan(t.Context(), cfg, Options{Dataset: newPhotos(6, 12, 64), Weights: smallStart(t, 128)})
		if err != nil {
			t.Errorf("%v: %v", c.set, err)
			continue
		}
		got := tr.cfg.Train
		if got.Schedule != c.schedule || got.Epochs != c.epochs || got.Warmup != c.warmup {
			t.Errorf("%v: %s, %d epochs, %v of warm-up; want %+v", c.set, got.Schedule, got.Epochs, got.Warmup, c)
		}
		if s := tr.newSetup(); c.schedule == "cosine" && s.UsualEpochs() != [2]int{} {
			t.Errorf("%v: usually ends after %v", c.set, s.UsualEpochs())
		}
		tr.close()
	}
}

func TestWarmupTooLong(t *testing.T) {
	cfg := smallConfig(t)
	cfg.Train.Epochs, cfg.Train.Warmup, cfg.Train.Schedule = 2, 2, "cosine"
	_, err := Train(t.Context(), cfg, Options{Dataset: newBlobs(4, 20, 16)})
	for _, key := range []string{"train.warmup: 2 epochs", "2 (train.epochs)", "train.schedule=cosine"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("error %v does not say %q", err, key)
		}
	}
}

func TestLengthKeys(t *testing.T) {
	for _, bad := range []string{"train.budget=10", "train.budget=-1m", "train.budget=soon", "train.average=-1",
		"train.average=0", "train.average=many",
		"train.average=3 epochs", "train.average=-2 steps", "train.average=.inf", "train.average=.nan", "train.line=-1",
		"train.line=101", "train.epochs=-1"} {
		key, _, _ := strings.Cut(bad, "=")
		if _, err := Parse("", nil, bad); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: error %v", bad, err)
		}
	}
	cfg, err := Parse("", nil, "train.budget=1h30m", "train.average=1.5", "train.line=4", "train.epochs=0")
	if err != nil {
		t.Fatal(err)
	}
	b, err1 := parseBudget(cfg.Train.Budget)
	a, err2 := parseAverage(cfg.Train.Average, 7)
	if err1 != nil || err2 != nil || b != 90*time.Minute || a != 1.5 {
		t.Errorf("%v, %v (%v, %v)", b, a, err1, err2)
	}
}

// TestLengthOfARun: the budget ends a run, which can go on with a larger one; average and
// line are in what is kept.
func TestLengthOfARun(t *testing.T) {
	cfg := smallConfig(t)
	cfg.Train.Epochs, cfg.Train.Budget, cfg.Train.Average = 4, "1ns", "2"
	opts := Options{Dir: t.TempDir() + "/a", Dataset: newBlobs(4, 12, 16)}
	res, err := Train(t.Context(), cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.History) != 1 {
		t.Errorf("%d epochs in no time", len(res.History))
	}
	longer := readConfig(t, opts.Dir)
	longer.Train.Budget = "1h"
	opts.Resume = true
	if res, err = Train(t.Context(), longer, opts); err != nil || len(res.History) != 4 {
		t.Fatalf("%v, %v", res, err)
	}
	cfg.Train.Budget = ""
	whole, err := Train(t.Context(), cfg, Options{Dataset: newBlobs(4, 12, 16)})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range whole.Net.Params() {
		for j, v := range p.Value {
			if v != res.Net.Params()[i].Value[j] {
				t.Fatalf("%s differs from the run without a budget", p.Name)
			}
		}
	}
}

// TestBlueByDefault: weights of bn_inception are given blue first unless told otherwise,
// and no other network's are.
func TestBlueByDefault(t *testing.T) {
	for _, c := range []struct{ network, pretrained, pixels, want string }{
		{"bn_inception", "file.pth", "", "bn_inception"}, {"bn_inception", "file.pth", "unit", "unit"},
		{"bn_inception", "", "", "unit"}, {"bn_inception", none, "", "unit"}, {"resnet50", "file.pth", "", "unit"},
	} {
		cfg, said := Default(), notes(nil)
		cfg.Network.Name, cfg.Network.Pretrained, cfg.Data.Pixels = c.network, c.pretrained, c.pixels
		if err := choosePreprocessing(&cfg, newPhotos(4, 12, 64), &networkStart{}, &said); err != nil {
			t.Fatal(err)
		}
		told := findNote(said, "data.pixels is") != ""
		if got := cfg.Data.Pixels; got != c.want || told != (got == "bn_inception" && c.pixels == "") {
			t.Errorf("%+v: %q, notes %q", c, got, said)
		}
	}
}

// TestBlueFirst: a network whose pixels are bn_inception gets blue, green and red less
// their means, and what is exported of it says so, and is read again so. The network
// gives the mean of each channel.
func TestBlueFirst(t *testing.T) {
	dir := t.TempDir()
	picture := image.NewRGBA(image.Rect(0, 0, 4, 4))
	for k := range 16 {
		picture.Set(k%4, k/4, color.RGBA{R: 200, G: 117, B: 4, A: 255})
	}
	if err := os.Mkdir(filepath.Join(dir, "class"), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "class", "a.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, picture); err != nil {
		t.Fatal(err)
	}
	d, err := data.Open(t.Context(), dir, data.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()

	net, err := nn.New(&nn.Spec{Name: "means", Input: nn.Shape{H: 4, W: 4, C: 3}, Layers: []nn.Layer{
		{Kind: nn.GlobalAvgPool}}, Meta: map[string]string{"pixels": "bn_inception"}}, nn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := net.Save(folder); err != nil {
		t.Fatal(err)
	}
	saved, _, err := Import(folder, "", DataConfig{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := saved.preparation()
	if err != nil {
		t.Fatal(err)
	}
	if words := p.Describe(saved.Net.Spec().Input); !p.BGR || p.Pixels != "bn_inception" || !slices.Equal(p.Mean,
		[]float32{104. / 255, 117. / 255, 128. / 255}) || !strings.HasPrefix(words, "BGR; ") {
		t.Errorf("%+v, in words %s", p, words)
	}
	m, err := onnxexport.Export(saved.Net, p)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(dir, "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := m.Write(file); err != nil {
		t.Fatal(err)
	}
	imported, _, err := Import(file.Name(), "", DataConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for name, model := range map[string]*Model{"saved": saved, "imported": imported} {
		e, err := model.EmbedPart(t.Context(), d.All())
		if err != nil {
			t.Fatal(err)
		}
		for c, want := range []float64{4 - 104, 0, 200 - 128} {
			if got := float64(e.X.At(0, c)); math.Abs(got-want) > 1e-3 {
				t.Errorf("%s, %s: channel %d is %v, want %v", name, model.Config.Data.Pixels, c, got, want)
			}
		}
	}
}
