package nn_test

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/netcases"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
)

// TestKindsSameBits: every case's gradients and embeddings have the same bits on
// one, two and five cores.
func TestKindsSameBits(t *testing.T) {
	const n = 67
	for name, spec := range netcases.Layers() {
		var first []float32
		for _, procs := range []int{1, 2, 5} {
			old := runtime.GOMAXPROCS(procs)
			net, err := nn.New(spec, nn.Options{Seed: 2})
			if err != nil {
				t.Fatal(err)
			}
			x := netcases.Values(name, n*spec.Input.Len())
			out := net.Forward(x, n)
			bits := slices.Clone(out.Data)
			net.Backward(matrix.FromSlice(n, out.Cols, netcases.Values("objective", n*out.Cols)))
			for _, p := range net.Params() {
				bits = append(append(bits, p.Value...), p.Grad...)
			}
			bits = append(bits, net.Infer(x, n).Data...)
			runtime.GOMAXPROCS(old)
			if first == nil {
				first = bits
			}
			for i, v := range bits {
				if math.Float32bits(v) != math.Float32bits(first[i]) {
					t.Fatalf("%s, GOMAXPROCS %d: value %d is %v, on one core %v", name, procs, i, v, first[i])
				}
			}
		}
	}
}

// TestFreezingAnyParameter: the gradients of the others stay, whichever is
// frozen.
func TestFreezingAnyParameter(t *testing.T) {
	const n = 3
	for name, spec := range netcases.Layers() {
		step := func(freeze []string) *nn.Net {
			net, err := nn.New(spec, nn.Options{Seed: 2, Freeze: freeze})
			if err != nil {
				t.Fatal(err)
			}
			out := net.Forward(netcases.Values(name, n*spec.Input.Len()), n)
			net.Backward(matrix.FromSlice(n, out.Cols, netcases.Values("objective", n*out.Cols)))
			return net
		}
		full := step(nil)
		for _, p := range full.Params() {
			if p.Buffer {
				continue
			}
			for i, q := range step([]string{p.Name}).Params() {
				if q.Name == p.Name {
					if q.Grad != nil {
						t.Errorf("%s: %s is frozen and has a gradient", name, p.Name)
					}
					continue
				}
				for j, g := range q.Grad {
					if want := full.Params()[i].Grad[j]; math.Abs(float64(g-want)) > 1e-5*(1+math.Abs(float64(want))) {
						t.Fatalf("%s without %s: gradient %d of %s is %v, want %v", name, p.Name, j, q.Name, g, want)
					}
				}
			}
		}
	}
}
