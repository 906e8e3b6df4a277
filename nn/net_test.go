package nn_test

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/train"
)

// trainSteps takes a few steps and returns all values of the network.
func trainSteps(t *testing.T, name string, side, n, steps int) []float32 {
	t.Helper()
	net, x, g := setupNarrow(t, name, side, n)
	opt, err := train.NewOptimizer(train.OptimizerConfig{ClipNorm: 5}, net.Params())
	if err != nil {
		t.Fatal(err)
	}
	for range steps {
		net.Forward(x, n)
		net.Backward(g)
		opt.Step()
	}
	var all []float32
	for _, p := range net.Params() {
		all = append(all, p.Value...)
	}
	return append(all, net.Infer(x, n).Data...)
}

func TestSameBitsOnAnyNumberOfCores(t *testing.T) {
	for _, name := range []string{"conv4", "resnet18", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0",
		"convnext_tiny", "vit_s14", "clip_vit_b32"} {
		var want []float32
		for _, procs := range []int{1, 2, 5} {
			old := runtime.GOMAXPROCS(procs)
			got := trainSteps(t, name, 33, 5, 2)
			runtime.GOMAXPROCS(old)
			if want == nil {
				want = got
			}
			for i := range want {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("%s: value %d is %v on one core, %v with GOMAXPROCS %d", name, i, want[i], got[i], procs)
				}
			}
		}
	}
}

// TestBatchSizes holds that batches of any size in any order give what a fresh
// network gives.
func TestBatchSizes(t *testing.T) {
	used, x, g := setup(t, "conv4", 24, 1, 8, 9)
	for _, n := range []int{4, 9, 1, 7} {
		fresh, _, _ := setup(t, "conv4", 24, 1, 8, 9)
		for i, p := range used.Params() {
			if p.Buffer {
				copy(p.Value, fresh.Params()[i].Value)
			}
		}
		in := x[:n*24*24]
		used.Infer(x, 9) // leaves other values in the buffers
		if a, b := used.Forward(in, n), fresh.Forward(in, n); !slices.Equal(a.Data, b.Data) {
			t.Errorf("%d images: forward differs", n)
		}
		used.Backward(g.RowRange(0, n))
		fresh.Backward(g.RowRange(0, n))
		for i, p := range used.Params() {
			if !slices.Equal(p.Grad, fresh.Params()[i].Grad) {
				t.Errorf("%d images: gradient of %s differs", n, p.Name)
			}
		}
	}
}

func TestDropout(t *testing.T) {
	spec := &nn.Spec{Name: "d", Input: nn.Shape{H: 1, W: 1, C: 1000}, Layers: []nn.Layer{{Kind: nn.Dropout, Rate: 0.3}}}
	net, err := nn.New(spec, nn.Options{Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	x := slices.Repeat([]float32{1}, 3000)
	run := func(step uint64) []float32 {
		net.SetStep(step)
		return slices.Clone(net.Forward(x, 3).Data)
	}
	a := run(5)
	if !slices.Equal(a, run(5)) {
		t.Error("the same step drops other values")
	}
	if slices.Equal(a, run(6)) || slices.Equal(a[:1000], a[1000:2000]) {
		t.Error("steps or images drop the same values")
	}
	zero := 0
	for _, v := range a {
		switch v {
		case 0:
			zero++
		case float32(1 / 0.7):
		default:
			t.Fatalf("value %v", v)
		}
	}
	// 3000 draws: the standard deviation is 25.
	if zero < 800 || zero > 1000 {
		t.Errorf("%d of 3000 dropped at rate 0.3", zero)
	}
	if !slices.Equal(net.Infer(x, 3).Data, x) {
		t.Error("evaluation drops values")
	}
}

func TestFreeze(t *testing.T) {
	spec, err := zoo.Network("conv4", zoo.Options{Input: nn.Shape{H: 16, W: 16, C: 1}, Dim: 4, Width: 8})
	if err != nil {
		t.Fatal(err)
	}
	make4 := func(o nn.Options) *nn.Net {
		o.Seed = 2
		net, err := nn.New(spec, o)
		if err != nil {
			t.Fatal(err)
		}
		return net
	}
	x, g := make([]float32, 5*256), matrix.New(5, 4)
	for i := range x {
		x[i] = float32(i%17) / 17
	}
	for i := range g.Data {
		g.Data[i] = float32(i) - 9
	}
	full, part := make4(nn.Options{}), make4(nn.Options{Freeze: []string{"conv1", "bn1", "conv2.weight", "fc.bias"}})
	for _, net := range []*nn.Net{full, part} {
		net.Forward(x, 5)
		net.Backward(g)
	}
	for i, p := range part.Params() {
		frozen := strings.HasPrefix(p.Name, "conv1") || strings.HasPrefix(p.Name, "bn1.") || p.Name == "conv2.weight" ||
			p.Name == "fc.bias"
		if !p.Buffer && (frozen != p.Frozen || frozen != (p.Grad == nil)) {
			t.Errorf("%s: frozen %v, gradient of %d values", p.Name, p.Frozen, len(p.Grad))
		}
		if p.Grad != nil && !slices.Equal(p.Grad, full.Params()[i].Grad) {
			t.Errorf("%s: another gradient than without freezing", p.Name)
		}
	}
	if _, err := nn.New(spec, nn.Options{Freeze: []string{"conv"}}); err == nil ||
		!strings.Contains(err.Error(), `"conv"`) {
		t.Errorf("a prefix that ends within a name: error %v", err)
	}
	all := make4(nn.Options{Freeze: []string{"conv1", "conv2", "conv3", "conv4", "bn1", "bn2", "bn3", "bn4", "fc"}})
	all.Forward(x, 5)
	all.Backward(g) // has nothing to do
	norm := make4(nn.Options{FrozenNorm: true})
	a := slices.Clone(norm.Forward(x, 5).Data)
	for _, p := range norm.Params() {
		for _, v := range p.Value {
			if p.Buffer && v != 0 && v != 1 {
				t.Fatalf("%s moved to %v", p.Name, v)
			}
		}
	}
	for i, v := range norm.Infer(x, 5).Data {
		if math.Abs(float64(v-a[i])) > 1e-5 {
			t.Errorf("output %d: %v in training with frozen statistics, %v in evaluation", i, a[i], v)
		}
	}
}

func TestDiagnose(t *testing.T) {
	net, x, _ := setup(t, "conv4", 24, 1, 8, 3)
	if err := net.Diagnose(x, 3); err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(net.Param("bn1.running_mean").Value)
	expect := func(words ...string) {
		t.Helper()
		err := net.Diagnose(x, 3)
		if !errors.Is(err, nn.ErrNotFinite) {
			t.Fatalf("error %v", err)
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("error %q does not say %q", err, w)
			}
		}
	}
	w := net.Param("conv3.weight").Value
	keep := w[7]
	w[7] = float32(math.NaN())
	expect("conv3.weight", "NaN")
	w[7] = 3e38 // finite, but its products are not
	w[8] = 3e38
	expect("layer conv3")
	w[7], w[8] = keep, keep
	net.Param("fc.bias").Grad[0] = float32(math.Inf(1))
	expect("gradient of fc.bias", "+Inf")
	x[24*24+1] = float32(math.NaN())
	expect("input", "image 1")
	if !slices.Equal(before, net.Param("bn1.running_mean").Value) || net.Step() != 0 {
		t.Error("looking changed the network")
	}
}

func TestMisuse(t *testing.T) {
	net, x, g := setup(t, "mnist", 12, 1, 2, 2)
	panics := func(what string, f func()) {
		t.Helper()
		defer func() {
			if r, ok := recover().(string); !ok || !strings.HasPrefix(r, "nn: ") {
				t.Errorf("%s: recovered %v", what, r)
			}
		}()
		f()
	}
	panics("backward first", func() { net.Backward(g) })
	panics("no images", func() { net.Forward(nil, 0) })
	panics("wrong length", func() { net.Forward(x[1:], 2) })
	net.Forward(x, 2)
	panics("gradient of another size", func() { net.Backward(matrix.New(3, 2)) })
	net.Forward(x, 2)
	net.Infer(x, 2)
	panics("backward after evaluation", func() { net.Backward(g) })
	net.DuringPass(func() { net.Infer(x, 2) })
	panics("a pass during a pass", func() { net.Infer(x, 2) })
	net.DuringPass(func() {})
	net.Infer(x, 2) // the pass that panicked has ended
}

// TestMemory holds the bounds for training steps, with buffers, weights, gradients
// and Adam's moments together: ResNet-50 with 16 images below 4 GiB, ViT-S/16 with
// 32 below 3 GiB.
func TestMemory(t *testing.T) {
	for _, c := range []struct {
		name     string
		n, bound int
	}{{"resnet50", 16, 4 << 30}, {"vit_s16", 32, 3 << 30}} {
		spec, err := zoo.Network(c.name, zoo.Options{Input: nn.Shape{H: 224, W: 224, C: 3}})
		if err != nil {
			t.Fatal(err)
		}
		net, err := nn.New(spec, nn.Options{})
		if err != nil {
			t.Fatal(err)
		}
		total := c.n * net.ArenaBytes()
		for _, p := range net.Params() {
			total += 16 * len(p.Value)
		}
		t.Logf("%s, %d images: %.2f GiB", c.name, c.n, float64(total)/(1<<30))
		if total > c.bound {
			t.Errorf("%s: %d bytes", c.name, total)
		}
	}
}

// TestDiagnoseNamesTheLayer: in a transformer and in a network that squeezes and
// excites, the layer whose products overflow is named.
func TestDiagnoseNamesTheLayer(t *testing.T) {
	for _, c := range []struct{ network, param, layer string }{
		{"vit_s14", "blocks.1.attn.qkv.weight", "blocks.1.attn.qkv"},
		{"vit_s14", "blocks.0.norm2.weight", "blocks.0.norm2"},
		{"vit_s14", "pos_embed", "blocks.0.norm1"},
		{"mobilenet_v3_small", "features.4.block.2.fc1.weight", "features.4.block.2.fc1"},
		{"efficientnet_b0", "features.2.0.block.0.0.weight", "features.2.0.block.0.0"},
	} {
		net, x, _ := setupNarrow(t, c.network, 32, 2)
		if err := net.Diagnose(x, 2); err != nil {
			t.Fatal(err)
		}
		for i := range net.Param(c.param).Value {
			net.Param(c.param).Value[i] = 3e38
			if i%8 == 0 { // far from the mean of the others
				net.Param(c.param).Value[i] = -3e38
			}
		}
		err := net.Diagnose(x, 2)
		if !errors.Is(err, nn.ErrNotFinite) || !strings.Contains(err.Error(), "layer "+c.layer+" makes") {
			t.Errorf("%s with a huge %s: %v", c.network, c.param, err)
		}
	}
}
