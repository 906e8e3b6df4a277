package onnxnet

import (
	"bytes"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/onnxexport"
	"github.com/kindred-ml/kindred/internal/network/published"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// written exports a network, writes the model and reads it.
func written(t *testing.T, spec *nn.Spec, weights *safetensors.File, p Preparation) *onnx.Model {
	t.Helper()
	m, err := onnxexport.FromSpec(spec, weights, nil, p)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	if m, err = onnx.Parse(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	return m
}

// exported are networks of every kind of layer, with weights: those of the
// models in testdata, and one of what no exporter writes.
func exported(t *testing.T) map[string]*Network {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.onnx"))
	if err != nil || len(files) < 10 {
		t.Fatal(err, len(files))
	}
	out := map[string]*Network{}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".onnx")
		if name == "resize" {
			continue
		}
		if out[name], err = Read(path, Options{Cut: "logits"}); err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(3, 1))
	odd := &Network{Weights: &safetensors.File{}, Spec: &nn.Spec{Name: "odd", Input: nn.Shape{H: 9, W: 9, C: 3},
		Layers: []nn.Layer{
			{Kind: nn.Shift, Name: "shift"}, {Kind: nn.Scale, Name: "scale"},
			{Kind: nn.Sequential, Name: "body", Layers: []nn.Layer{
				{Kind: nn.Conv, Name: "conv", Out: 6, Kernel: 3, Stride: 2, Pad: 1, PadEnd: 1, Groups: 3},
				{Kind: nn.GELUTanh},
				{Kind: nn.Residual, Name: "r", Layers: []nn.Layer{{Kind: nn.LayerNorm, Name: "ln"}, {Kind: nn.Linear,
					Name: "l", Out: 6}}},
				{Kind: nn.AvgPool, Kernel: 3, Stride: 1, Pad: 1},
				{Kind: nn.Dropout, Rate: 0.5}, {Kind: nn.StochasticDepth,
					Rate: 0.1},
				{Kind: nn.Multiply, Layers: []nn.Layer{{Kind: nn.GlobalAvgPool}, {Kind: nn.Dense, Name: "gate", Out: 6},
					{Kind: nn.Sigmoid}}},
				{Kind: nn.Multiply, Layers: []nn.Layer{{Kind: nn.SiLU}}},
			}},
			{Kind: nn.GEMPool, Name: "gem"}, {Kind: nn.Scale, Name: "s2"},
			{Kind: nn.Dense, Name: "fc", Out: 5, NoBias: true},
			{Kind: nn.BatchNorm, Name: "head"}, {Kind: nn.L2Normalize},
		}}}
	add := func(name string, positive bool, shape ...int) {
		n := 1
		for _, d := range shape {
			n *= d
		}
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(rng.NormFloat64())
			if positive {
				v[i] = 1 + v[i]*v[i]
			}
		}
		odd.Weights.Tensors = append(odd.Weights.Tensors, safetensors.Float32(name, shape, v))
	}
	add("shift", false, 3)
	add("scale", false, 3)
	add("body.conv.weight", false, 6, 1, 3, 3)
	add("body.conv.bias", false, 6)
	add("body.r.ln.weight", false, 6)
	add("body.r.ln.bias", false, 6)
	add("body.r.l.weight", false, 6, 6)
	add("body.r.l.bias", false, 6)
	add("body.gate.weight", false, 6, 6)
	add("body.gate.bias", false, 6)
	add("gem", true, 1)
	add("s2", false, 6)
	add("fc.weight", false, 5, 6)
	for _, name := range []string{"weight", "bias", "running_mean", "running_var"} {
		add("head."+name, name == "running_var", 5)
	}
	out["odd"] = odd
	return out
}

// What Export writes, Import reads: the network has the same values again.
func TestExportedModelsAreRead(t *testing.T) {
	p := Preparation{Pixels: "symmetric", Mean: []float32{0.5, 0.5, 0.5}, Std: []float32{0.5, 0.5, 0.25}, Fit: "cover",
		Shorter: 256, Resample: "bicubic"}
	for name, net := range exported(t) {
		p.BGR = !p.BGR
		if err := net.Spec.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m := written(t, net.Spec, net.Weights, p)
		if d := m.Graph.Inputs[0].Shape[0]; d.Size != 0 || d.Name != "batch" || m.Opset() != 17 {
			t.Errorf("%s: batch %+v, opset %d", name, d, m.Opset())
		}
		back, err := Import(m, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := p
		want.Source = published.FromMetadata
		if !reflect.DeepEqual(back.Preparation, want) {
			t.Errorf("%s: preparation %+v", name, back.Preparation)
		}
		if name == "odd" { // no reference of PyTorch's
			same(t, net, back)
			continue
		}
		f, err := safetensors.Read(filepath.Join("testdata", name+".safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		compare(t, back, f, "output")
	}
}

// Names tell how the networks under them were trained; others tell nothing.
func TestGuessedPreparation(t *testing.T) {
	for name, want := range map[string]string{
		"mobilenet_v1_075_224": "symmetric", "resnet50-v1-7": "imagenet", "CLIP-ViT-B-32": "clip", "model": "",
		"iresnet50": "symmetric", "w600k_r50": "symmetric", "mnasnet0_5": "",
		"vit-base-patch16-224": "symmetric", "dinov2_vits14": "imagenet",
		"efficientnet-lite4": "symmetric", "bn_inception-52deb4733": "bn_inception", "BNInception": "bn_inception",
		"inception-v3": "symmetric",
	} {
		if got := guessPixels(name); got.Pixels != want || (got.Source == fromName) != (want != "") {
			t.Errorf("%s: %+v, want %q", name, got, want)
		}
	}
}

// same compares two networks on one image.
func same(t *testing.T, a, b *Network) {
	t.Helper()
	in := a.Spec.Input
	p := newPicture(in.H, in.W, in.C)
	for i, v := range images(in, 1, 11) {
		p.v[i] = float64(v)
	}
	x, y := newNaive(a.Weights).sequence(a.Spec.Layers, "", p), newNaive(b.Weights).sequence(b.Spec.Layers, "", p)
	for i, v := range x.v {
		if math.Abs(v-y.v[i]) > 1e-5 {
			t.Fatalf("value %d: %g and %g", i, v, y.v[i])
		}
	}
}

func TestPreparationInWords(t *testing.T) {
	p := Preparation{Pixels: "imagenet", Mean: []float32{0.5}, Std: []float32{1}, Fit: "cover"}
	for _, c := range []struct {
		in   nn.Shape
		fit  string
		want string
	}{
		{nn.Shape{H: 64, W: 48, C: 3}, "stretch",
			"BGR; resized to 64 x 48 (height x width), bilinear with antialiasing; " +
				"(v / 255 - mean) / std with mean [0.5] and std [1]; float32, batch x channels x height x width"},
		{nn.Shape{H: 64, W: 64, C: 3}, "cover",
			"RGB; shorter side resized to 64 pixels, middle 64 x 64 cut out (height x width), " +
				"bilinear with antialiasing; " +
				"(v / 255 - mean) / std with mean [0.5] and std [1]; float32, batch x channels x height x width"},
		{nn.Shape{H: 28, W: 28, C: 1}, "stretch",
			"grey (ITU-R 601 luma); resized to 28 x 28 (height x width), bilinear with " +
				"antialiasing; " +
				"(v / 255 - mean) / std with mean [0.5] and std [1]; float32, batch x channels x height x width"},
		{nn.Shape{H: 1, W: 1, C: 30}, "", ""},
	} {
		p.Fit, p.BGR = c.fit, strings.HasPrefix(c.want, "BGR")
		if got := p.Describe(c.in); got != c.want {
			t.Errorf("%s", got)
		}
	}
}

// Every network known by name comes back from its ONNX file with the same values. Rotary
// positions and pools by attention are not read as layers: such a network runs as it stands.
func TestNamedNetworksComeBack(t *testing.T) {
	for _, spec := range named(t) {
		net, err := nn.New(spec, nn.Options{Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		if err := trained(net); err != nil {
			t.Fatal(err)
		}
		back, err := Import(written(t, net.Spec(), net.State(), Preparation{Pixels: "unit"}), Options{})
		if err != nil {
			t.Errorf("%s: %v", spec.Name, err)
			continue
		}
		again, err := nn.New(back.Spec, nn.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := again.SetState(back.Weights); err != nil {
			t.Errorf("%s: %v", spec.Name, err)
			continue
		}
		x := images(spec.Input, 2, 3)
		want := append([]float32(nil), net.Infer(x, 2).Data...)
		for i, v := range again.Infer(x, 2).Data {
			if math.Abs(float64(v-want[i])) > 1e-5 {
				t.Errorf("%s: value %d is %g, was %g", spec.Name, i, v, want[i])
				break
			}
		}
	}
}
