package onnxnet

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/format/safetensors"
	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// onnxRuntime is the judge of what Export writes, from the npm registry.
const (
	runtimeName = "onnxruntime-node"
	onnxRuntime = runtimeName + "@1.30.0"
)

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

// envRuntime names a folder that has onnxRuntime in its node_modules, or where npm installs
// it. Without it the folder of this name in the user's cache is used, if onnxRuntime has been
// installed there; npm is not run.
const envRuntime = "KINDRED_ONNXRUNTIME"

// npmPatience is how long npm may take to install onnxRuntime.
const npmPatience = time.Minute

// installed is the folder node_modules with onnxRuntime, found or made once for all tests, or
// the reason why there is none.
var installed = sync.OnceValues(func() (modules string, err error) {
	if _, err := exec.LookPath("node"); err != nil {
		return "", err
	}
	if dir := os.Getenv(envRuntime); dir != "" {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return "", err
		}
		return install(dir)
	}
	cache, err := os.UserCacheDir()
	if err == nil {
		modules = filepath.Join(cache, "kindred-onnxruntime", "node_modules")
		_, err = os.Stat(filepath.Join(modules, runtimeName))
	}
	if err != nil {
		return "", fmt.Errorf("%s, a folder for npm to install %s in, is not set: %w", envRuntime, onnxRuntime, err)
	}
	return modules, nil
})

// install makes npm install onnxRuntime in dir, unless dir has it.
func install(dir string) (modules string, err error) {
	modules = filepath.Join(dir, "node_modules")
	has := func() bool {
		_, err := os.Stat(filepath.Join(modules, runtimeName))
		return err == nil
	}
	if has() {
		return modules, nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	part, err := os.MkdirTemp(dir, "part-") // of an install that is stopped half way, dir shows nothing
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(part)
	ctx, cancel := context.WithTimeout(context.Background(), npmPatience)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund",
		"--fetch-retries=0", "--fetch-timeout="+strconv.FormatInt(npmPatience.Milliseconds()/2, 10), "--prefix", part,
		onnxRuntime)
	npm.WaitDelay = time.Second // for what npm started and left running
	if out, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm does not install %s: %w\n%s", onnxRuntime, errors.Join(err, ctx.Err()), out)
	}
	// Another process may have installed it meanwhile.
	if err := os.Rename(filepath.Join(part, "node_modules"), modules); err != nil && !has() {
		return "", err
	}
	return modules, nil
}

// runtime returns what runs cases by the judge, with its files in dir.
func runtime(t *testing.T, dir string) func([]*judged) {
	t.Helper()
	modules, err := installed()
	if err != nil {
		t.Skipf("onnxruntime does not run the exported models: %v", err)
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
	m, err := export(net.Spec, net.Weights, Preparation{})
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
