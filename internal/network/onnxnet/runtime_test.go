package onnxnet

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/onnxexport"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// onnxRuntime is the judge of what Export writes, from the npm registry.
const onnxRuntime = "onnxruntime-node@1.30.0"

// judged is one model and what it must give for its images, in float64.
type judged struct {
	Model  string `json:"model"`
	Input  string `json:"input"`
	Dims   []int  `json:"dims"`
	Output string `json:"output"`
	want   []float64
	spec   string // the description, for messages
}

// TestONNXRuntime runs exported models by onnxruntime. Its values must be those of
// the plain loops in float64, and those of the engine: for the networks that are
// known by name, of which the engine runs all.
func TestONNXRuntime(t *testing.T) {
	if testing.Short() {
		t.Skip("runs " + onnxRuntime)
	}
	dir := t.TempDir()
	run := runtime(t, dir)
	var cases []*judged
	for name, net := range exported(t) {
		x := images(net.Spec.Input, 3, uint64(len(name)))
		c := writeCase(t, dir, name, net, x, 3)
		n := newNaive(net.Weights)
		for i := range 3 {
			in := net.Spec.Input
			p := newPicture(in.H, in.W, in.C)
			for k, v := range x[i*in.Len() : (i+1)*in.Len()] {
				p.v[k] = float64(v)
			}
			c.want = append(c.want, n.sequence(net.Spec.Layers, "", p).v...)
		}
		cases = append(cases, c)
	}
	for _, named := range named(t) {
		net, err := nn.New(named, nn.Options{Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		if err := trained(net); err != nil {
			t.Fatal(err)
		}
		x := images(named.Input, 3, 7)
		c := writeCase(t, dir, "named_"+named.Name, &Network{Spec: net.Spec(), Weights: net.State()}, x, 3)
		y := net.Infer(x, 3)
		for i := range 3 {
			for _, v := range y.Row(i) {
				c.want = append(c.want, float64(v))
			}
		}
		cases = append(cases, c)
	}
	run(cases)
	for _, c := range cases {
		got := floats(t, c.Output)
		if len(got) != len(c.want) {
			t.Errorf("%s: %d values, want %d", filepath.Base(c.Model), len(got), len(c.want))
			continue
		}
		worst, largest := 0.0, 0.0
		for i, w := range c.want {
			worst, largest = max(worst, math.Abs(float64(got[i])-w)), max(largest, math.Abs(w))
		}
		t.Logf("%-32s differs by %.1e, of %.3g", filepath.Base(c.Model), worst, largest)
		if !(worst <= 1e-4*max(1, largest)) {
			t.Errorf("%s: differs by %g, of %g", filepath.Base(c.Model), worst, largest)
		}
	}
}

// envRuntime names the folder in which npm has installed onnxRuntime: make npm does.
const envRuntime = "KINDRED_ONNXRUNTIME"

// runtime returns what runs cases by the judge, with its files in dir.
func runtime(t *testing.T, dir string) func([]*judged) {
	t.Helper()
	if os.Getenv(envRuntime) == "" {
		t.Skipf("%s, a folder in which npm has installed %s, is not set", envRuntime, onnxRuntime)
	}
	modules, err := filepath.Abs(filepath.Join(os.Getenv(envRuntime), "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	return func(cases []*judged) {
		list, err := json.Marshal(cases)
		if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "cases.json"), list, 0o666)); err != nil {
			t.Fatal(err)
		}
		node := exec.Command("node", filepath.Join("testdata", "run.js"), filepath.Join(dir, "cases.json"))
		node.Env = append(os.Environ(), "NODE_PATH="+modules)
		if out, err := node.CombinedOutput(); err != nil {
			t.Fatalf("onnxruntime: %v\n%s", err, out)
		}
	}
}

// writeCase writes a network as a model, and its images.
func writeCase(t *testing.T, dir, name string, net *Network, x []float32, n int) *judged {
	t.Helper()
	m, err := onnxexport.FromSpec(net.Spec, net.Weights, nil, Preparation{})
	if err != nil {
		t.Fatal(err)
	}
	return writeModel(t, filepath.Join(dir, name), m, net.Spec.Input, x, n)
}

// writeModel writes a model and its images, channels in front.
func writeModel(t *testing.T, stem string, m *onnx.Model, in nn.Shape, x []float32, n int) *judged {
	t.Helper()
	c := &judged{Model: stem + ".onnx", Input: stem + ".x", Output: stem + ".y", Dims: []int{n, in.C, in.H, in.W}}
	f, err := os.Create(c.Model)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Write(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	var raw []byte
	for i := range n {
		for k := range in.C {
			for p := range in.H * in.W {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x[(i*in.H*in.W+p)*in.C+k]))
			}
		}
	}
	if err := os.WriteFile(c.Input, raw, 0o666); err != nil {
		t.Fatal(err)
	}
	return c
}

// images are n images, channels last.
func images(in nn.Shape, n int, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 5))
	x := make([]float32, n*in.Len())
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

func floats(t *testing.T, path string) []float32 {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, len(raw)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return x
}

// named are the networks known by name, with few channels and blocks.
func named(t *testing.T) []*nn.Spec {
	t.Helper()
	var out []*nn.Spec
	for _, name := range zoo.Networks() {
		o := zoo.Options{Input: nn.Shape{H: 64, W: 64, C: 3}, Dim: 24, Normalize: true, Stem: zoo.StemLarge}
		switch {
		case name == "mnist":
			o.Input = nn.Shape{H: 28, W: 28, C: 1}
		case strings.Contains(name, "vit"), strings.HasPrefix(name, "dino"):
			o.Width, o.Depth, o.Stem = 24, 2, zoo.StemAuto
			o.Heads = 3
			if strings.HasSuffix(name, "14") {
				o.Input = nn.Shape{H: 56, W: 56, C: 3}
			}
		case name != "conv4" && name != "mlp" && name != "linear":
			o.Multiple = 0.25
		}
		spec, err := zoo.Network(name, o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, spec)
	}
	return out
}

// trained gives norms running statistics and weights as training does.
func trained(net *nn.Net) error {
	rng := rand.New(rand.NewPCG(9, 9))
	f := net.State()
	for i := range f.Tensors {
		t := &f.Tensors[i]
		v, err := t.Float32s()
		if err != nil {
			return err
		}
		if len(t.Shape) == 1 {
			for k := range v {
				v[k] = v[k]*(0.8+0.4*rng.Float32()) + 0.05*rng.Float32()
			}
		}
		f.Tensors[i] = safetensors.Float32(t.Name, t.Shape, v)
	}
	return net.SetState(f)
}
