package run

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/train"
)

// planSpec returns the network that a configuration comes to on images of 32 pixels.
func planSpec(t *testing.T, set ...string) (*nn.Spec, error) {
	t.Helper()
	cfg, err := Parse("test", nil, append([]string{"network.width=24", "network.dim=4"}, set...)...)
	if err != nil {
		return nil, err
	}
	return networkSpec(&cfg, nil, 32, 32, 3)
}

// countLayers counts the layers of a kind, wherever they are.
func countLayers(layers []nn.Layer, is func(nn.Layer) bool) int {
	n := 0
	for _, l := range layers {
		if is(l) {
			n++
		}
		n += countLayers(l.Layers, is) + countLayers(l.Shortcut, is)
	}
	return n
}

// TestShapingKeys: the keys that shape a network reach its layers, and one that the
// network has no use for is an error.
func TestShapingKeys(t *testing.T) {
	kind := func(k nn.Kind) func(nn.Layer) bool { return func(l nn.Layer) bool { return l.Kind == k } }
	for _, c := range []struct {
		set  []string
		is   func(nn.Layer) bool
		want int
	}{
		{[]string{"network.name=resnet18"}, kind(nn.GEMPool), 0},
		{[]string{"network.name=resnet18", "network.pool=gem"}, kind(nn.GEMPool), 1},
		{[]string{"network.name=resnet18", "network.pool=mean"}, kind(nn.GlobalAvgPool), 1},
		{[]string{"network.name=bn_inception", "network.pool=gem"}, kind(nn.GEMPool), 1},
		{[]string{"network.name=vit_t16"}, kind(nn.TakeToken), 1},
		{[]string{"network.name=vit_t16", "network.pool=cls"}, kind(nn.TakeToken), 1},
		{[]string{"network.name=vit_t16", "network.pool=mean"}, kind(nn.GlobalAvgPool), 1},
		{[]string{"network.name=vit_t16", "network.patch=8"},
			func(l nn.Layer) bool { return l.Name == "patch_embed.proj" && l.Kernel == 8 }, 1},
		{[]string{"network.name=vit_t16", "network.patch=16"},
			func(l nn.Layer) bool { return l.Name == "patch_embed.proj" && l.Kernel == 16 }, 1},
		{[]string{"network.name=vit_t16", "network.registers=3"},
			func(l nn.Layer) bool { return l.Name == "reg_token" && l.Out == 3 }, 1},
		{[]string{"network.name=vit_t16", "network.drop_path=0.2"}, kind(nn.StochasticDepth), 22},
		{[]string{"network.name=convnext_tiny", "network.drop_path=0.2"}, kind(nn.StochasticDepth), 17},
	} {
		spec, err := planSpec(t, c.set...)
		if err != nil {
			t.Errorf("%v: %v", c.set, err)
		} else if n := countLayers(spec.Layers, c.is); n != c.want {
			t.Errorf("%v: %d layers of the kind, want %d", c.set, n, c.want)
		}
	}
	for want, set := range map[string][]string{
		"network.pool: network conv4 does not":    {"network.name=conv4", "network.pool=gem"},
		"network.registers: network resnet18":     {"network.name=resnet18", "network.registers=2"},
		"network.drop_path: network mobilenet_v2": {"network.name=mobilenet_v2", "network.drop_path=0.1"},
		"has no class token":                      {"network.name=resnet18", "network.pool=cls"},
		"has no pool":                             {"network.name=vit_t16", "network.pool=gem"},
		"not whole patches of 7 x 7":              {"network.name=vit_t16", "network.patch=7"},
		`network.pool: "max": must be one of`:     {"network.pool=max"},
		`network.resample: "cubic"`:               {"network.resample=cubic"},
		"network.registers: only for networks":    {"network.pretrained=a.onnx", "network.registers=2"},
		"network.drop_path: 1: must be":           {"network.drop_path=1"},
	} {
		if _, err := planSpec(t, set...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", set, err, want)
		}
	}
}

// TestResampledPositions: position embeddings of another image size are made to fit
// in the way that is asked for.
func TestResampledPositions(t *testing.T) {
	dir := t.TempDir()
	small := func(side int) *nn.Net {
		t.Helper()
		spec, err := zoo.Network("vit_t16", zoo.Options{Input: nn.Shape{H: side, W: side, C: 3}, Width: 24,
			Depth: 12, Heads: 1, NoHead: true})
		if err != nil {
			t.Fatal(err)
		}
		net, err := nn.New(spec, nn.Options{Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		return net
	}
	if err := small(96).Save(dir); err != nil {
		t.Fatal(err)
	}
	weights := func(context.Context, string) (Start, error) {
		return Start{Name: "small", Path: dir + "/" + nn.WeightsFile, Network: "vit_t16", Size: 96,
			Pixels: "imagenet"}, nil
	}
	tables := map[string][]float32{}
	for _, how := range []string{"", "timm", "dino"} {
		cfg, err := Parse("test", nil, "network.width=24", "data.size=64", "network.resample="+how)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := newPlan(t.Context(), cfg, Options{Dataset: newPhotos(8, 10, 64), Weights: weights})
		if err != nil {
			t.Fatalf("%q: %v", how, err)
		}
		tables[how] = tr.network.net.Param("pos_embed").Value
		if len(tables[how]) != 17*24 || !slices.Contains(tr.network.imported.Adapted, "pos_embed") {
			t.Errorf("%q: %d values, adapted %v", how, len(tables[how]), tr.network.imported.Adapted)
		}
		tr.close()
	}
	if !slices.Equal(tables[""], tables["timm"]) || slices.Equal(tables["timm"], tables["dino"]) {
		t.Error("timm is not the default, or dino is the same")
	}
}

// TestPretrained starts a run with another embedding length from the weights of
// one that has ended: all but the embedding layer fit, and observers hear of it.
func TestPretrained(t *testing.T) {
	cfg := smallConfig(t)
	cfg.Train.Epochs = 1
	dir := t.TempDir()
	first, err := Train(context.Background(), cfg, Options{Dir: filepath.Join(dir, "a"), Dataset: newBlobs(4, 12, 16)})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Network.Pretrained = filepath.Join(dir, "a", nn.WeightsFile)
	cfg.Network.Dim = 5
	var got *zoo.ImportReport
	begin := func(s Setup) { got = s.Imported }
	tr, err := newPlan(t.Context(), cfg, Options{Dataset: newBlobs(4, 12, 16), OnSetup: begin})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range tr.network.net.Params() {
		if q := first.Net.Params()[i]; !strings.HasPrefix(p.Name, "fc.") && !slices.Equal(p.Value, q.Value) {
			t.Errorf("%s does not start from the file", p.Name)
		}
	}
	if _, err := (&trainer{plan: tr}).start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got == nil || len(got.MisShaped) != 2 || len(got.Loaded) != len(tr.network.net.Params())-2 ||
		len(got.Missing)+len(got.Unexpected) != 0 {
		t.Errorf("report %+v", got)
	}
	cfg.Network.Pretrained = filepath.Join(dir, "none.pth")
	if _, err := newPlan(t.Context(), cfg, Options{Dataset: newBlobs(4, 12, 16)}); err == nil ||
		!strings.Contains(err.Error(), "network.pretrained") {
		t.Errorf("missing file: error %v", err)
	}
}

// TestRates follows the rate of the first steps, and the step of a parameter of
// the network and one of the loss, which Adam moves by its rate at first.
//
// Long: a way to take steps, and a table of them.
func TestRates(t *testing.T) {
	const batches = 4
	steps := func(cfg TrainConfig, rate float64, n int) (rates []float64, net, own float32) {
		c := Default()
		c.Network.Name, c.Network.Dim = "linear", 2
		spec, err := networkSpec(&c, nil, 1, 1, 3)
		if err != nil {
			t.Fatal(err)
		}
		nn, _, err := newNetwork(&c, nil, "", spec)
		if err != nil {
			t.Fatal(err)
		}
		p := &loss.Param{Name: "beta", Shape: []int{1}, Value: []float32{1}, Grad: []float32{1}, Rate: rate}
		o, err := newOptimizer(&cfg, batches, &networks{trained: nn}, paramObjective{param: p})
		if err != nil {
			t.Fatal(err)
		}
		w := nn.Params()[0]
		for i := range n {
			for k := range w.Grad {
				w.Grad[k] = 1
			}
			p.Grad[0] = 1
			before, ours := w.Value[0], p.Value[0]
			var s train.GradientStats = o.Step()
			rates = append(rates, s.Rate)
			if i == 0 {
				net, own = before-w.Value[0], ours-p.Value[0]
			}
		}
		return rates, net, own
	}
	near := func(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 }
	base := Default().Train
	base.LR = 0.01
	for name, c := range map[string]struct {
		rate   float64
		change func(*TrainConfig)
		own    float64
	}{
		"as the network": {0, func(*TrainConfig) {}, 0.01},
		"of the loss":    {0.5, func(*TrainConfig) {}, 0.5},
		"as set":         {0.5, func(c *TrainConfig) { c.LossLR = 0.25 }, 0.25},
	} {
		cfg := base
		c.change(&cfg)
		if _, net, own := steps(cfg, c.rate, 1); !near(float64(net), 0.01) || !near(float64(own), c.own) {
			t.Errorf("%s: steps of %v and %v, want 0.01 and %v", name, net, own, c.own)
		}
	}
	warm := base
	warm.Warmup, warm.Schedule, warm.Steps, warm.Gamma = 0.4, "step", []int{1, 2}, 0.5 // 1.6 steps are 2
	rates, _, _ := steps(warm, 0, 9)
	for i, want := range []float64{0.005, 0.01, 0.01, 0.01, 0.005, 0.005, 0.005, 0.005, 0.0025} {
		if !near(rates[i], want) {
			t.Errorf("step %d: rate %v, want %v (all: %v)", i, rates[i], want, rates)
		}
	}
	cosine := base
	cosine.Schedule, cosine.Epochs = "cosine", 2
	rates, _, _ = steps(cosine, 0, 9)
	if !near(rates[4], 0.005) || rates[7] <= 0 || !near(rates[8], 0) {
		t.Errorf("cosine over 8 steps: %v", rates)
	}
	// Momentum is of sgd alone: of a steady gradient the second step repeats 0.9
	// of the first and adds its own.
	for optimizer, want := range map[string]float64{"sgd": 1.9, "adam": 1} {
		cfg := base
		cfg.Optimizer, cfg.Momentum = optimizer, 0.9
		if got := secondStepRatio(t, cfg); !near(got, want) {
			t.Errorf("%s: the second step is %v of the first, want %v", optimizer, got, want)
		}
	}
	decay := base
	decay.Optimizer = "adamw"
	if _, net, _ := steps(decay, 0, 1); !near(float64(net), 0.01) {
		t.Errorf("adamw without decay: a step of %v", net)
	}
	decay.WeightDecay = 0.5 // of the network, by rate x decay, and not of the loss
	if _, net, own := steps(decay, 0, 1); near(float64(net), 0.01) || !near(float64(own), 0.01) {
		t.Errorf("adamw with decay: steps of %v and %v", net, own)
	}
}

// secondStepRatio returns how long the second step of a parameter is, as a multiple of
// the first, under a gradient of 1.
func secondStepRatio(t *testing.T, cfg TrainConfig) float64 {
	t.Helper()
	c := Default()
	c.Network.Name, c.Network.Dim = "linear", 2
	spec, err := networkSpec(&c, nil, 1, 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	net, _, err := newNetwork(&c, nil, "", spec)
	if err != nil {
		t.Fatal(err)
	}
	p := &loss.Param{Name: "beta", Shape: []int{1}, Value: []float32{0}, Grad: []float32{1}}
	o, err := newOptimizer(&cfg, 4, &networks{trained: net}, paramObjective{param: p})
	if err != nil {
		t.Fatal(err)
	}
	var at [3]float64
	for i := 1; i < 3; i++ {
		p.Grad[0] = 1
		o.Step()
		at[i] = float64(p.Value[0])
	}
	return (at[2] - at[1]) / at[1]
}

// What an epoch adds up is of its steps: nothing is taken away, nothing missed.
func TestSumsOfAnEpoch(t *testing.T) {
	cfg, err := Parse("test", nil, "network.name=mlp", "network.width=8", "network.dim=2", "sample.classes=2",
		"sample.per_class=16",
		"sample.batches=5", "train.epochs=1", "train.optimizer=sgd", "train.lr=1e-12", "loss.margin=100")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Train(t.Context(), cfg, Options{Dataset: newHiddenClasses(1)})
	if err != nil {
		t.Fatal(err)
	}
	// A margin that no triplet keeps and a rate that moves nothing: every triplet
	// is active, and the loss is about the margin in each step.
	s := r.LastEpoch().Totals
	if s.Steps != 5 || s.Samples != 5*32 || s.Anchors != 5*32 || s.Tuples != 5*32 || s.Active != s.Tuples {
		t.Errorf("%+v: want 5 steps of 32 samples, an active triplet each", s)
	}
	if s.Gradient <= 0 || s.MeanLoss() < 50 || s.MeanLoss() > 110 {
		t.Errorf("gradient %v, mean loss %v: want a positive one, and about the margin of 100", s.Gradient,
			s.MeanLoss())
	}
}

// TestByDepth: rates grow from the first parameter to the last.
func TestByDepth(t *testing.T) {
	params := []*nn.Param{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	g := layerDecayGroups(0.01, params)
	if len(g) != 3 || math.Abs(g[0].Scale-0.01) > 1e-12 || math.Abs(g[1].Scale-0.1) > 1e-12 || g[2].Scale != 1 {
		t.Errorf("%+v", g)
	}
	if layerDecayGroups(1, params) != nil || layerDecayGroups(0, params) != nil ||
		layerDecayGroups(0.1, params[:1]) != nil {
		t.Error("groups where there is nothing to scale")
	}
}
