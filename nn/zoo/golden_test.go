package zoo_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// split takes the tensors of a file whose names start with "check." out of it.
func split(t *testing.T, f *safetensors.File) (rest *safetensors.File, checks map[string][]float32) {
	t.Helper()
	rest, checks = &safetensors.File{}, map[string][]float32{}
	for i := range f.Tensors {
		name, ok := strings.CutPrefix(f.Tensors[i].Name, "check.")
		if !ok {
			rest.Tensors = append(rest.Tensors, f.Tensors[i])
			continue
		}
		v, err := f.Tensors[i].Float32s()
		if err != nil {
			t.Fatal(err)
		}
		checks[name] = v
	}
	return rest, checks
}

// distance returns |got - want| / |want|.
func distance(got, want []float32) float64 {
	var diff, size float64
	for i, w := range want {
		d := float64(got[i]) - float64(w)
		diff += d * d
		size += float64(w) * float64(w)
	}
	return math.Sqrt(diff / size)
}

// TestGoldenTransformers reads networks with the names of timm and Hugging Face, which are
// guessed, and compares their embeddings and every gradient with those of PyTorch.
func TestGoldenTransformers(t *testing.T) {
	const n, h, w = 3, 40, 24
	for file, name := range map[string]string{"dinov3_timm": "dinov3_vit_s16", "dinov3_hugging": "dinov3_vit_s16",
		"dinov3_plus_timm": "dinov3_vit_s16plus", "siglip_timm": "siglip_vit_b16", "siglip_hugging": "siglip_vit_b16"} {
		t.Run(file, func(t *testing.T) {
			weights, err := safetensors.Read(filepath.Join("testdata", file+".safetensors"))
			if err != nil {
				t.Fatal(err)
			}
			slopes, err := safetensors.Read(filepath.Join("testdata", file+"_grad.safetensors"))
			if err != nil {
				t.Fatal(err)
			}
			slopes, checks := split(t, slopes)
			guessed, o, err := zoo.Guess(weights)
			if err != nil || guessed != name {
				t.Fatalf("guessed %q: %v", guessed, err)
			}
			o.Input, o.NoHead, o.Heads = nn.Shape{H: h, W: w, C: 3}, true, 2
			spec, err := zoo.Network(name, o)
			if err != nil {
				t.Fatal(err)
			}
			var nets [2]*nn.Net // the second holds gradients in place of parameters
			for i, f := range []*safetensors.File{weights, slopes} {
				if nets[i], err = nn.New(spec, nn.Options{}); err != nil {
					t.Fatal(err)
				}
				r, err := zoo.Import(nets[i], f, zoo.ImportOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if !r.IsComplete() {
					t.Fatalf("file %d: %s", i, r)
				}
			}
			net, x := nets[0], make([]float32, n*h*w*3)
			for i, v := range checks["image"] { // channels last
				at, c, p := i/(3*h*w), i/(h*w)%3, i%(h*w)
				x[(at*h*w+p)*3+c] = v
			}
			for mode, out := range map[string]*matrix.Dense{"evaluation": net.Infer(x, n),
				"training": net.Forward(x, n)} {
				if d := distance(out.Data, checks["embedding"]); !(d < 3e-6) {
					t.Errorf("%s: embeddings are off by %.2g", mode, d)
				}
			}
			net.Backward(matrix.FromSlice(n, net.Dim(), checks["slope"]))
			worst, at := 0.0, ""
			for i, p := range net.Params() {
				d := distance(p.Grad, nets[1].Params()[i].Value)
				if d > worst {
					worst, at = d, p.Name
				}
				if !(d < 5e-5) {
					t.Errorf("the gradient of %s is off by %.2g of its norm", p.Name, d)
				}
			}
			t.Logf("embeddings are off by %.2g, gradients by at most %.2g (%s)", distance(net.Infer(x, n).Data,
				checks["embedding"]), worst, at)
		})
	}
}
