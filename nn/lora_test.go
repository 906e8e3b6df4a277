package nn_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/netcases"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// adaptedCases are the networks of internal/test/netcases with linear layers that have three channels
// or more, with adapters of rank 3.
func adaptedCases(t *testing.T) map[string]*nn.Spec {
	t.Helper()
	out := map[string]*nn.Spec{}
	for name, spec := range netcases.Layers() {
		if s, err := spec.WithLoRA(3, 1.5); err == nil {
			out[name] = s
		}
	}
	if len(out) < 10 {
		t.Fatalf("%d networks", len(out))
	}
	return out
}

// adapted makes a network whose B is no longer 0.
func adapted(t *testing.T, spec *nn.Spec, opt nn.Options) *nn.Net {
	t.Helper()
	net, err := nn.New(spec, opt)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(8, 8))
	for _, p := range net.Params() {
		for i := range p.Value {
			if strings.HasSuffix(p.Name, "lora_B.weight") {
				p.Value[i] = float32(0.5 * rng.NormFloat64())
			}
		}
	}
	return net
}

// TestLoRAGradients: those of A, B and the head agree with differences, in a network where all
// else is frozen, and in one where all is trained but the layers themselves.
func TestLoRAGradients(t *testing.T) {
	for name, spec := range adaptedCases(t) {
		for _, frozen := range []bool{true, false} {
			net := adapted(t, spec, nn.Options{Seed: 3, FreezeBody: frozen})
			head, trained := spec.Head(), 0
			for _, p := range net.Params() {
				own := p.IsAdapter() || head != "" && strings.HasPrefix(p.Name, head+".")
				if frozen && (p.Grad != nil) != (own && !p.Buffer) {
					t.Errorf("%s: %s has a gradient: %v", name, p.Name, p.Grad != nil)
				}
				if p.IsAdapter() {
					trained++
				}
			}
			if trained == 0 {
				t.Errorf("%s: no adapters", name)
			}
			for _, p := range net.Params() { // what has no gradient is not compared
				p.Buffer = p.Buffer || p.Grad == nil
			}
			checkGradients(t, net, 4)
		}
	}
}

// TestLoRAAgainstNaive: training and evaluation are as the definition has them, and so is the
// merged network, which has no adapters and the same bits as evaluation.
func TestLoRAAgainstNaive(t *testing.T) {
	const n = 3
	for name, spec := range adaptedCases(t) {
		if strings.Contains(name, "drop") {
			continue
		}
		net := adapted(t, spec, nn.Options{Seed: 4})
		merged, err := net.MergeLoRA()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range merged.Params() {
			if p.IsAdapter() {
				t.Errorf("%s: the merged network has %s", name, p.Name)
			}
		}
		x := netcases.Values(name, n*spec.Input.Len())
		infer := slices.Clone(net.Infer(x, n).Data)
		if got := merged.Infer(x, n).Data; !slices.Equal(got, infer) {
			t.Errorf("%s: merged, values differ", name)
		}
		in, batch := spec.Input, make([]image, n)
		for i := range batch {
			batch[i] = newImage(in.C, in.H, in.W)
			for j := range batch[i].v {
				c, h, w := j/(in.H*in.W), j/in.W%in.H, j%in.W
				batch[i].v[j] = float64(x[((i*in.H+h)*in.W+w)*in.C+c])
			}
		}
		for training, got := range map[bool][]float32{true: net.Forward(x, n).Data, false: infer} {
			for i, y := range newNaive(net, training).sequence(spec.Layers, "", batch) {
				for j, v := range y.v {
					if d := math.Abs(float64(got[i*len(y.v)+j]) - v); !(d < 1e-5*(1+math.Abs(v))) {
						t.Fatalf("%s, training %v: value %d of image %d is %g, want %g", name, training, j, i,
							got[i*len(y.v)+j], v)
					}
				}
			}
		}
	}
}

// TestLoRAStartsAsItWas: with B of 0 the network makes what it makes without adapters, and
// these draw from streams of their own.
func TestLoRAStartsAsItWas(t *testing.T) {
	spec := netcases.Layers()["transformer scaled"]
	with, err := spec.WithLoRA(2, 0)
	if err != nil {
		t.Fatal(err)
	}
	var outs [2][]float32
	for i, s := range []*nn.Spec{spec, with} {
		net, err := nn.New(s, nn.Options{Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		outs[i] = net.Infer(netcases.Values("x", 2*spec.Input.Len()), 2).Data
	}
	if !slices.Equal(outs[0], outs[1]) {
		t.Error("values differ")
	}
	if l := with.Layers[3].Layers[1]; l.Rank != 2 || spec.Layers[3].Layers[1].Rank != 0 {
		t.Errorf("%+v, and the original %+v", l, spec.Layers[3].Layers[1])
	}
}

// TestLoRASteps: the same bits for any number of cores, and bfloat16 stays within two per cent.
func TestLoRASteps(t *testing.T) {
	const n = 3
	for name, spec := range adaptedCases(t) {
		var first []float32
		for i, c := range []struct {
			procs int
			nn.Precision
		}{{1, nn.Float32}, {2, nn.Float32}, {5, nn.Float32}, {2, nn.BFloat16}} {
			old := runtime.GOMAXPROCS(c.procs)
			net := adapted(t, spec, nn.Options{Seed: 6, FreezeBody: true, Precision: c.Precision})
			out := net.Forward(netcases.Values(name, n*spec.Input.Len()), n)
			all := slices.Clone(out.Data)
			net.Backward(matrix.FromSlice(n, out.Cols, netcases.Values("objective", n*out.Cols)))
			for _, p := range net.Params() {
				all = append(all, p.Grad...)
			}
			runtime.GOMAXPROCS(old)
			switch {
			case i == 0:
				first = all
			case c.Precision == nn.BFloat16:
				if d := relative(all, first); !(d < 0.02) {
					t.Errorf("%s: bfloat16 is off by %.2g", name, d)
				}
			default:
				if !slices.Equal(all, first) {
					t.Errorf("%s: values differ on %d cores", name, c.procs)
				}
			}
		}
	}
}

func TestLoRASaysWhatIsWrong(t *testing.T) {
	vit, conv := netcases.Layers()["transformer"], netcases.Layers()["conv"]
	wide := *vit
	wide.Layers = slices.Clone(vit.Layers)
	wide.Layers[3] = nn.Layer{Kind: nn.Linear, Name: "l", Out: 6, Alpha: 2}
	for want, make := range map[string]func() error{
		"rank 0: it must be positive":               func() error { _, err := vit.WithLoRA(0, 1); return err },
		"rank = 7; a map of 6 channels to 18":       func() error { _, err := vit.WithLoRA(7, 1); return err },
		"alpha = -1; it must be a positive number":  func() error { _, err := vit.WithLoRA(2, -1); return err },
		"alpha = NaN; it must be a positive number": func() error { _, err := vit.WithLoRA(2, math.NaN()); return err },
		"has no linear layers before its head":      func() error { _, err := conv.WithLoRA(2, 1); return err },
		"alpha = 2; it needs a rank":                wide.Check,
		"which 8 bits do not: merge them first": func() error {
			s, err := vit.WithLoRA(2, 1)
			if err != nil {
				return err
			}
			_, err = nn.New(s, nn.Options{Precision: nn.Int8, Quantization: &nn.Quantization{}})
			return err
		},
	} {
		if err := make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// BenchmarkLoRA takes a step of ViT-S/16 with all layers trained, and with adapters of rank 8.
// It reports the memory of weights, gradients and Adam's moments.
func BenchmarkLoRA(b *testing.B) {
	const n, dim = 16, 128
	spec, err := zoo.Network("vit_s16", zoo.Options{Input: nn.Shape{H: 224, W: 224, C: 3}, Dim: dim})
	if err != nil {
		b.Fatal(err)
	}
	low, err := spec.WithLoRA(8, 0)
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range []*nn.Spec{spec, low} {
		b.Run(map[bool]string{true: "full", false: "rank8"}[s == spec], func(b *testing.B) {
			net, err := nn.New(s, nn.Options{Seed: 1, FreezeBody: s == low})
			if err != nil {
				b.Fatal(err)
			}
			x, g := netcases.Values("x", n*s.Input.Len()), matrix.FromSlice(n, dim, netcases.Values("slope", n*dim))
			bytes := 0
			for _, p := range net.Params() {
				bytes += 4*len(p.Value) + 12*len(p.Grad)
			}
			for b.Loop() {
				net.Forward(x, n)
				net.Backward(g)
			}
			b.ReportMetric(float64(bytes)/1e6, "MB")
		})
	}
}
