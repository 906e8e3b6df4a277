package xla_test

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/netcases"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/xla"
)

// engineVariable names the engine to test on a machine that has an accelerator, such as
// cuda; without it the tests run on GoMLX's backend in plain Go.
const engineVariable = "KINDRED_ENGINE"

// accelerator is the one device that all tests share: a plugin that is ended and started
// again for every test costs seconds.
var accelerator = sync.OnceValues(func() ([]xla.Device, error) {
	return xla.Open(xla.Choice{Engine: os.Getenv(engineVariable), Devices: 1, Float32: true})
})

// open starts so many devices in plain Go. Under engineVariable it gives the
// accelerator's first device, and skips tests of several.
func open(t testing.TB, count int) []xla.Device {
	t.Helper()
	if os.Getenv(engineVariable) == "" {
		return openGo(t, count)
	}
	if count > 1 {
		t.Skipf("%s has one device to test", os.Getenv(engineVariable))
	}
	devices, err := accelerator()
	if err != nil {
		t.Fatal(err)
	}
	return devices
}

// openGo starts so many devices in plain Go.
func openGo(t testing.TB, count int) []xla.Device {
	t.Helper()
	devices, err := xla.Open(xla.Choice{Engine: xla.GoEngine, Devices: count})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { xla.Close(devices) })
	return devices
}

// drawn are n values in -1 to 1 that follow from name.
func drawn(name string, n int) []float32 {
	h := fnv.New64a()
	h.Write([]byte(name))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	v := make([]float32, n)
	for i := range v {
		v[i] = 2*r.Float32() - 1
	}
	return v
}

// twins are a network on the CPU and the same on the device.
func twins(t testing.TB, spec *nn.Spec, opt nn.Options) (cpu, host *nn.Net, dev *xla.Net) {
	t.Helper()
	return twinsOn(t, open(t, 1), spec, opt)
}

// twinsOn is twins on devices that are given.
func twinsOn(t testing.TB, devices []xla.Device, spec *nn.Spec, opt nn.Options) (cpu, host *nn.Net, dev *xla.Net) {
	t.Helper()
	cpu, err := nn.New(spec, opt)
	if err != nil {
		t.Fatal(err)
	}
	if host, err = nn.New(spec, opt); err != nil {
		t.Fatal(err)
	}
	if dev, err = xla.New(devices, host, xla.Options{Seed: opt.Seed, FrozenNorm: opt.FrozenNorm,
		Precision: opt.Precision}); err != nil {
		t.Fatal(err)
	}
	return cpu, host, dev
}

// TestLayers: of every kind of layer, with batch norm free and fixed, the embeddings in both modes, every gradient
// and the running statistics are those of package nn, in two steps one after the
// other.
func TestLayers(t *testing.T) {
	for name, spec := range netcases.Layers() {
		fixed := strings.Contains(name, "norm")
		for _, opt := range []nn.Options{{Seed: 3}, {Seed: 3, FrozenNorm: true}}[:1+count(fixed)] {
			t.Run(fmt.Sprintf("%s, fixed norm %v", name, opt.FrozenNorm), func(t *testing.T) {
				compare(t, name, spec, opt)
			})
		}
	}
}

// TestEveryKind: the networks of TestLayers have layers of every kind that package nn
// knows, so that one without a graph fails there. An ONNX model as it stands runs on the CPU
// alone, and is refused.
func TestEveryKind(t *testing.T) {
	seen := map[nn.Kind]bool{}
	var visit func(layers []nn.Layer)
	visit = func(layers []nn.Layer) {
		for i := range layers {
			seen[layers[i].Kind] = true
			visit(layers[i].Layers)
			visit(layers[i].Shortcut)
		}
	}
	for _, spec := range netcases.Layers() {
		visit(spec.Layers)
	}
	for _, k := range nn.Kinds() {
		if !seen[k] && k != nn.Operators {
			t.Errorf("no network of internal/test/netcases has a layer of kind %s", k)
		}
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compare takes two steps on both engines.
func compare(t *testing.T, name string, spec *nn.Spec, opt nn.Options) {
	cpu, host, dev := twins(t, spec, opt)
	const n = 4
	for step := range 2 {
		x := drawn(name+string(rune('a'+step)), n*spec.Input.Len())
		near(t, "embeddings in evaluation", cpu.Infer(x, n).Data, dev.Infer(x, n).Data)
		near(t, "embeddings in training", cpu.Forward(x, n).Data, dev.Forward(x, n).Data)
		dE := matrix.FromSlice(n, cpu.Dim(), drawn("slope"+name, n*cpu.Dim()))
		cpu.Backward(dE)
		dev.Backward(dE)
		for _, err := range []error{dev.Pull(), dev.PullGradients()} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for i, p := range cpu.Params() {
			near(t, p.Name, p.Value, host.Params()[i].Value)
			near(t, "the gradient of "+p.Name, p.Grad, host.Params()[i].Grad)
		}
	}
}

// near compares values in units of the largest.
func near(t testing.TB, what string, want, got []float32) {
	t.Helper()
	within(t, 2e-4, what, want, got)
}

// within is near with a bound of its own.
func within(t testing.TB, bound float64, what string, want, got []float32) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%s: %d values and %d", what, len(got), len(want))
	}
	top := 1e-2
	for _, v := range want {
		top = max(top, math.Abs(float64(v)))
	}
	for i, v := range want {
		if d := math.Abs(float64(v - got[i])); !(d <= bound*top) {
			t.Errorf("%s: value %d is %v, want %v (the largest is %v)", what, i, got[i], v, top)
			return
		}
	}
}

// TestBFloat16: with products and activations in bfloat16 the embeddings stay within
// two per cent, and the gradients point where those of the CPU do, which computes in
// bfloat16 by its own rules.
func TestBFloat16(t *testing.T) {
	for _, name := range []string{"residual downsample", "transformer", "conv depthwise", "concat of inception"} {
		spec := netcases.Layers()[name]
		cpu, host, dev := twins(t, spec, nn.Options{Seed: 3, Precision: nn.BFloat16})
		const n = 4
		x, dE := drawn(name, n*spec.Input.Len()), matrix.FromSlice(n, cpu.Dim(), drawn("slope", n*cpu.Dim()))
		within(t, 2e-2, name+": embeddings", cpu.Forward(x, n).Data, dev.Forward(x, n).Data)
		cpu.Backward(dE)
		dev.Backward(dE)
		if err := dev.PullGradients(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var dot, a, b float64
		for i, p := range cpu.Params() {
			for j, g := range p.Grad {
				h := host.Params()[i].Grad[j]
				dot, a, b = dot+float64(g)*float64(h), a+float64(g)*float64(g), b+float64(h)*float64(h)
			}
		}
		if cos := dot / math.Sqrt(a*b); !(cos > 0.99) {
			t.Errorf("%s: the cosine of the gradients is %v", name, cos)
		}
	}
}

// TestFailuresAreKept: a device that fails says so once, by Err, and training ends
// with that.
func TestFailuresAreKept(t *testing.T) {
	spec := netcases.Layers()["dense"]
	_, _, dev := twinsOn(t, openGo(t, 1), spec, nn.Options{Seed: 1})
	dev.Devices()[0].Backend.Finalize()
	x := drawn("x", 2*spec.Input.Len())
	if e := dev.Forward(x, 2); e.Rows != 2 {
		t.Errorf("%d embeddings", e.Rows)
	}
	err := dev.Err()
	if err == nil {
		t.Fatal("no error from a backend that has ended")
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than a line: %v", err)
	}
	dev.Backward(matrix.New(2, dev.Dim()))
	if err := dev.Pull(); err == nil {
		t.Error("weights come from a backend that has ended")
	}
}
