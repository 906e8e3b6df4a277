package onnxnet

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// tensor returns a tensor of a file of reference values.
func weightTensor(t *testing.T, f *safetensors.File, name string) ([]float32, []int) {
	t.Helper()
	x := f.Tensor(name)
	if x == nil {
		t.Fatalf("no tensor %q", name)
	}
	v, err := x.Float32s()
	if err != nil {
		t.Fatal(err)
	}
	return v, x.Shape
}

// kindsOf lists the kinds of a description's layers.
func kindsOf(layers []nn.Layer) string {
	var b strings.Builder
	for i, l := range layers {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(string(l.Kind))
		if l.Layers != nil {
			b.WriteString("(" + kindsOf(l.Layers))
			if l.Shortcut != nil {
				b.WriteString(" | " + kindsOf(l.Shortcut))
			}
			b.WriteByte(')')
		}
	}
	return b.String()
}

// Models as PyTorch exports them (testdata/gen_models.py) become networks whose
// values, computed by plain loops in float64, are PyTorch's: of the features
// before the classifier by default, and of the whole.
func TestModelsOfPyTorch(t *testing.T) {
	const block = "residual(layer_norm linear attention linear) residual(layer_norm linear gelu linear)"
	for name, want := range map[string]string{
		"residual": "conv relu max_pool residual(conv relu conv) relu residual(conv relu conv | conv) relu " +
			"global_avg_pool",
		"residual_batchnorm": "conv batch_norm relu max_pool residual(conv batch_norm relu conv batch_norm) relu " +
			"residual(conv batch_norm relu conv batch_norm | conv batch_norm) relu global_avg_pool",
		"gates_13": "conv hard_swish multiply(global_avg_pool conv relu conv hard_sigmoid) conv silu " +
			"multiply(global_avg_pool conv silu conv sigmoid) conv relu6 global_avg_pool",
		"gates_14": "conv hard_swish multiply(global_avg_pool conv relu conv hard_sigmoid) avg_pool global_avg_pool",
		"pools":    "conv relu6 max_pool conv max_pool global_avg_pool",
		"next": "conv layer_norm residual(conv layer_norm linear gelu linear scale) layer_norm conv " +
			"residual(conv layer_norm linear gelu linear scale) global_avg_pool layer_norm",
		"dense":     "conv relu max_pool flatten dense relu dense relu",
		"inside":    "scale shift scale conv relu global_avg_pool",
		"vit_fused": "conv tokens positions " + block + " " + block + " layer_norm take_token",
		"vit_separate": "conv positions " + strings.ReplaceAll(block+" "+block, "gelu", "gelu_tanh") +
			" layer_norm global_avg_pool",
		"vit_scaled": "conv tokens positions " + block + " " + block + " layer_norm global_avg_pool",
		"vit_registers": "conv tokens positions tokens " + strings.ReplaceAll(block+" "+block, "attention linear",
			"attention linear scale") + " layer_norm take_token",
		"last": "conv relu conv relu linear global_avg_pool",
		"vit_torch": "conv tokens positions " + strings.ReplaceAll(block+" "+block, "gelu", "relu") +
			" layer_norm take_token",
		"vit_torchvision": "conv tokens positions " + block + " layer_norm take_token",
		"fixed":           "conv tokens positions " + block + " " + block + " layer_norm take_token",
		"clip": "conv tokens positions layer_norm " + strings.ReplaceAll(block+" "+block, "gelu", "quick_gelu") +
			" layer_norm take_token dense l2_normalize",
		"inception": "conv relu concat(sequential(conv relu) sequential(conv relu concat(conv conv)) " +
			"sequential(conv relu conv conv) sequential(avg_pool conv relu)) relu concat(sequential(conv relu) " +
			"sequential(conv relu conv relu) max_pool) avg_pool global_avg_pool",
		"densenet": "conv relu concat(sequential sequential(batch_norm relu conv)) " +
			strings.Repeat("concat(sequential sequential(batch_norm relu conv)) ", 3) +
			"batch_norm relu conv avg_pool " +
			strings.Repeat("concat(sequential sequential(batch_norm relu conv)) ", 3) +
			"batch_norm relu global_avg_pool",
		"shufflenet": "conv relu concat(sequential(conv conv relu) sequential(conv relu conv conv relu)) shuffle " +
			strings.Repeat("concat(channels sequential(channels conv relu conv conv relu)) shuffle ", 2) +
			"conv relu global_avg_pool",
	} {
		t.Run(name, func(t *testing.T) {
			net, f := imported(t, name, Options{})
			if got := kindsOf(net.Spec.Layers); want != "" && got != want {
				t.Errorf("layers\n%s, want\n%s", got, want)
			}
			compare(t, net, f, "features")
			net, _ = imported(t, name, Options{Cut: "logits"})
			compare(t, net, f, "output")
		})
	}
}

func imported(t *testing.T, name string, opt Options) (*Network, *safetensors.File) {
	t.Helper()
	net, err := Read(filepath.Join("testdata", name+".onnx"), opt)
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Read(filepath.Join("testdata", name+".safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	return net, f
}

// compare runs a network over the reference's images.
func compare(t *testing.T, net *Network, f *safetensors.File, what string) {
	t.Helper()
	x, shape := weightTensor(t, f, "x")
	want, wide := weightTensor(t, f, what)
	n := newNaive(net.Weights)
	made, err := nn.New(net.Spec, nn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.SetState(net.Weights); err != nil {
		t.Fatal(err)
	}
	worst, largest, engine := 0.0, 0.0, 0.0
	for i := range shape[0] {
		p := newPicture(shape[2], shape[3], shape[1])
		for c := range shape[1] {
			for k := range shape[2] * shape[3] {
				p.v[k*shape[1]+c] = float64(x[(i*shape[1]+c)*shape[2]*shape[3]+k])
			}
		}
		y := n.sequence(net.Spec.Layers, "", p)
		if len(y.v) != wide[1] {
			t.Fatalf("%s: %d values, want %d", what, len(y.v), wide[1])
		}
		image := make([]float32, len(p.v))
		for k, v := range p.v {
			image[k] = float32(v)
		}
		e := made.Infer(image, 1).Row(0)
		for k, v := range y.v {
			w := float64(want[i*wide[1]+k])
			engine = max(engine, math.Abs(float64(e[k])-w))
			worst, largest = max(worst, math.Abs(v-w)), max(largest, math.Abs(w))
		}
	}
	if worst > 2e-5*(1+largest) || math.IsNaN(worst) {
		t.Errorf("%s: differs by %g, of %g", what, worst, largest)
	}
	if !(engine <= 1e-4*(1+largest)) {
		t.Errorf("%s: by the engine, differs by %g, of %g", what, engine, largest)
	}
	if len(n.bound) < len(n.weights) {
		t.Errorf("%s: %d of %d tensors are used", what, len(n.bound), len(n.weights))
	}
}
