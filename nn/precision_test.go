package nn_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/netcases"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// distance is the norm of a - b over that of a.
func distance(a, b []float32) float64 {
	var d, size float64
	for i := range a {
		d += float64(a[i]-b[i]) * float64(a[i]-b[i])
		size += float64(a[i]) * float64(a[i])
	}
	return math.Sqrt(d / max(size, 1e-3))
}

// passes runs a network forward, in evaluation and back, and returns the embeddings
// and all gradients.
func passes(t *testing.T, spec *nn.Spec, precision nn.Precision, n int) map[string][]float32 {
	t.Helper()
	net, err := nn.New(spec, nn.Options{Seed: 3, Precision: precision})
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	x := make([]float32, n*spec.Input.Len())
	for i := range x {
		x[i] = float32(rnd.NormFloat64())
	}
	g := matrix.New(n, net.Dim())
	for i := range g.Data {
		g.Data[i] = float32(rnd.NormFloat64())
	}
	out := map[string][]float32{"evaluation": slices.Clone(net.Infer(x, n).Data)}
	out["embeddings"] = slices.Clone(net.Forward(x, n).Data)
	net.Backward(g)
	for _, p := range net.Params() {
		if p.Grad != nil {
			out[p.Name] = slices.Clone(p.Grad)
		}
	}
	return out
}

// Every layer, and every way in which they are fused, agrees in bfloat16 with float32
// to what its rounding explains.
func TestBFloat16Layers(t *testing.T) {
	for name, spec := range netcases.Layers() {
		t.Run(name, func(t *testing.T) {
			want, got := passes(t, spec, nn.Float32, 3), passes(t, spec, nn.BFloat16, 3)
			for what, v := range want {
				if d := distance(v, got[what]); !(d < 0.1) {
					t.Errorf("%s differs by %.3g", what, d)
				}
			}
		})
	}
}

func TestBFloat16SameBitsOnAnyNumberOfCores(t *testing.T) {
	spec, err := zoo.Network("resnet18", zoo.Options{Input: nn.Shape{H: 32, W: 32, C: 3}, Dim: 16, Multiple: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	var first map[string][]float32
	for _, procs := range []int{1, 2, 5} {
		old := runtime.GOMAXPROCS(procs)
		got := passes(t, spec, nn.BFloat16, 4)
		runtime.GOMAXPROCS(old)
		if first == nil {
			first = got
		}
		for what, v := range first {
			for i := range v {
				if math.Float32bits(v[i]) != math.Float32bits(got[what][i]) {
					t.Fatalf("GOMAXPROCS %d: %s is %g at %d, with 1 %g", procs, what, got[what][i], i, v[i])
				}
			}
		}
	}
}

// A step in bfloat16 allocates nothing once its buffers are there.
func TestBFloat16NoAllocation(t *testing.T) {
	if !nn.BFloat16.IsFast() {
		t.Skip("the machine has no instructions for bfloat16")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	spec, err := zoo.Network("resnet50", zoo.Options{Input: nn.Shape{H: 32, W: 32, C: 3}, Dim: 16, Multiple: 0.25})
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(spec, nn.Options{Seed: 1, Precision: nn.BFloat16})
	if err != nil {
		t.Fatal(err)
	}
	const n = 4
	x, g := make([]float32, n*spec.Input.Len()), matrix.New(n, net.Dim())
	if allocs := testing.AllocsPerRun(10, func() {
		net.Forward(x, n)
		net.Backward(g)
		net.Infer(x, n)
	}); allocs > 0 {
		t.Errorf("%g allocations", allocs)
	}
}

// The body and the head apart give what the whole network gives.
func TestBFloat16Parts(t *testing.T) {
	spec, err := zoo.Network("resnet18", zoo.Options{Input: nn.Shape{H: 32, W: 32, C: 3}, Dim: 16, Multiple: 0.25})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := nn.New(spec, nn.Options{Seed: 1, Precision: nn.BFloat16})
	if err != nil {
		t.Fatal(err)
	}
	body, err := whole.Body()
	if err != nil {
		t.Fatal(err)
	}
	tail, err := whole.Tail()
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 2*spec.Input.Len())
	for i := range x {
		x[i] = float32(math.Sin(float64(i)))
	}
	want := slices.Clone(whole.Infer(x, 2).Data)
	if d := distance(want, tail.Infer(body.Infer(x, 2).Data, 2).Data); !(d < 0.02) {
		t.Errorf("the parts differ by %.3g", d)
	}
}

func TestPrecisionNames(t *testing.T) {
	spec := &nn.Spec{Name: "x", Input: nn.Shape{H: 1, W: 1, C: 2},
		Layers: []nn.Layer{{Kind: nn.Dense, Name: "a", Out: 2}}}
	for _, name := range []nn.Precision{nn.Float32, "float32", nn.BFloat16} {
		if _, err := nn.New(spec, nn.Options{Precision: name}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if !nn.Float32.IsFast() {
		t.Error("float32 is called slow")
	}
	if _, err := nn.New(spec, nn.Options{Precision: "half"}); err == nil {
		t.Error("an unknown precision passes")
	}
}
