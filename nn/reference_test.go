package nn_test

import (
	"math"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/netcases"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// startValue is start() of testdata/gen_reference.py.
func startValue(p *nn.Param) []float32 {
	v := netcases.Values(p.Name, len(p.Value))
	fanIn := 1
	for _, d := range p.Shape[1:] {
		fanIn *= d
	}
	scale := float64(float32(math.Sqrt(3/float64(fanIn)) * 1.5))
	for i, u := range v {
		switch {
		case strings.HasSuffix(p.Name, "running_var"):
			v[i] = 1 + u/2
		case strings.HasSuffix(p.Name, "gamma"), strings.HasSuffix(p.Name, "layer_scale"):
			v[i] = 0.5 + u/4
		case strings.HasSuffix(p.Name, "_token"), p.Name == "pos_embed":
			v[i] = u / 2
		case strings.HasSuffix(p.Name, "bn3.weight"):
			v[i] = 0.25 + u/8
		case len(p.Shape) == 1 && strings.HasSuffix(p.Name, "weight"):
			v[i] = 1 + u/4
		case len(p.Shape) == 1:
			v[i] = u / 4
		default:
			v[i] = float32(float64(u) * scale)
		}
	}
	return v
}

// sample returns the n values that the reference holds: every step-th one.
func sample(got []float32, n int) []float32 {
	step := max(1, len(got)/max(n, 1))
	v := make([]float32, n)
	for i := range v {
		v[i] = got[i*step]
	}
	return v
}

// relative returns |got - want| / |want|.
func relative(got, want []float32) float64 {
	var diff, size float64
	for i, w := range want {
		d := float64(got[i]) - float64(w)
		diff += d * d
		size += float64(w) * float64(w)
	}
	return math.Sqrt(diff / size)
}

// TestAgainstPyTorch compares activations, every parameter's gradient, running
// statistics and evaluation with what PyTorch and torchvision computed in
// float64 for the same weights and images: all within 1e-4 of the tensor's norm.
//
// Long: a table of networks, and what is compared of each.
func TestAgainstPyTorch(t *testing.T) {
	vit := zoo.Options{Width: 24, Depth: 3, Heads: 4, Registers: 2}
	clip := zoo.Options{Width: 24, Depth: 2, Heads: 2}
	for _, c := range []struct {
		network   string
		dim, side int
		options   zoo.Options
	}{
		{"resnet18", 6, 96, zoo.Options{Multiple: 1. / 8}},
		{"resnet50", 5, 96, zoo.Options{Multiple: 1. / 8}},
		{"mobilenet_v1", 6, 64, zoo.Options{Multiple: 0.25}},
		{"mobilenet_v2", 7, 96, zoo.Options{Multiple: 0.1}},
		{"mobilenet_v3_small", 5, 64, zoo.Options{Multiple: 0.25}},
		{"mobilenet_v3_large", 5, 96, zoo.Options{Multiple: 0.25}},
		{"efficientnet_b0", 6, 64, zoo.Options{Multiple: 0.25}},
		{"convnext_tiny", 6, 64, zoo.Options{Multiple: 1. / 8}},
		{"bn_inception", 6, 96, zoo.Options{Multiple: 1. / 8}},
		{"vit_s14", 5, 56, vit}, {"clip_vit_b32", 7, 96, clip},
	} {
		t.Run(c.network, func(t *testing.T) {
			ref, err := safetensors.Read("testdata/" + c.network + ".safetensors")
			if err != nil {
				t.Fatal(err)
			}
			n, side := 3, c.side
			o := c.options
			o.Input, o.Dim, o.Stem = nn.Shape{H: side, W: side, C: 3}, c.dim, zoo.StemLarge
			spec, err := zoo.Network(c.network, o)
			if err != nil {
				t.Fatal(err)
			}
			net, err := nn.New(spec, nn.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range net.Params() {
				p.FromTorch(startValue(p))
			}
			got := map[string][]float32{}
			out := net.ForwardSeen(netcases.Values("input", n*side*side*3), n, func(label string, v []float32) {
				// Pools without a name are called by their place.
				if kind, _, ok := strings.Cut(label, "#"); ok {
					label = strings.ReplaceAll(kind, "_", "")
				}
				got["act:"+label] = append([]float32(nil), v...)
			})
			got["out"] = append([]float32(nil), out.Data...)
			net.Backward(matrix.FromSlice(n, c.dim, netcases.Values("objective", n*c.dim)))
			for _, p := range net.Params() {
				if p.Buffer {
					got["stat:"+p.Name] = p.Value
					continue
				}
				g := *p
				g.Value = p.Grad
				v := make([]float32, len(p.Grad))
				g.ToTorch(v)
				got["grad:"+p.Name] = v
				got["norm:"+p.Name] = []float32{float32(norm(v))}
			}
			got["eval"] = net.Infer(netcases.Values("input", n*side*side*3), n).Data
			worst, worstName := 0.0, ""
			for _, r := range ref.Tensors {
				v, ok := got[r.Name]
				if !ok {
					t.Errorf("%s: the engine has none", r.Name)
					continue
				}
				want, err := r.Float32s()
				if err != nil {
					t.Fatal(err)
				}
				v = sample(v, len(want))
				if kind, name, _ := strings.Cut(r.Name, ":"); kind != "act" && norm(want) < 1e-9 {
					// Zero in exact arithmetic: a bias that the next norm subtracts.
					// What is left is rounding of the gradients beside it.
					// Of weights: those before or behind a rectifier that lets nothing through.
					beside := 0.0
					if weight := net.Param(strings.TrimSuffix(name, "bias") + "weight"); weight != nil {
						beside = norm(weight.Grad)
					}
					if norm(v) > 1e-4*beside {
						t.Errorf("%s: %.2g instead of 0, beside %.2g", r.Name, norm(v), beside)
					}
					continue
				}
				d := relative(v, want)
				if d > worst {
					worst, worstName = d, r.Name
				}
				if !(d < 1e-4) {
					t.Errorf("%s: off by %.2g of its norm", r.Name, d)
				}
			}
			for name := range got {
				if kind, _, _ := strings.Cut(name, ":"); kind != "act" && ref.Tensor(name) == nil {
					t.Errorf("%s: the reference has none", name)
				}
			}
			t.Logf("largest difference %.2g of the norm, %s", worst, worstName)
		})
	}
}
