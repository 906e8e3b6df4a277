package nn_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/netcases"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// TestBodyAndHead: a network without its head makes the features that the head
// projects, by the same parameters, and takes another head.
func TestBodyAndHead(t *testing.T) {
	for name, features := range map[string]int{
		"resnet18": 32, "mobilenet_v1": 64, "mobilenet_v2": 1280, "conv4": 256, "mlp": 64, "mnist": 128,
	} {
		o := zoo.Options{Input: nn.Shape{H: 40, W: 40, C: 3}, Dim: 7, Normalize: true, HeadNorm: true,
			Dropout: 0.2, Multiple: 1. / 16, Width: 64}
		whole, err := zoo.Network(name, o)
		if err != nil {
			t.Fatal(err)
		}
		body, err := whole.Body()
		if err != nil {
			t.Fatal(err)
		}
		o.NoHead, o.Normalize, o.HeadNorm = true, false, false
		bare, err := zoo.Network(name, o)
		if err != nil {
			t.Fatal(err)
		}
		if body.OutDim() != features || bare.OutDim() != features || whole.OutDim() != 7 {
			t.Errorf("%s: features of %d and %d values, want %d", name, body.OutDim(), bare.OutDim(), features)
		}
		again, err := bare.Body()
		if err != nil || again.OutDim() != features && name != "mlp" && name != "mnist" {
			t.Errorf("%s: the body's body makes %d values: %v", name, again.OutDim(), err)
		}
		headed, err := zoo.WithHead(bare, zoo.Options{Dim: 5, Normalize: true})
		if err != nil || headed.OutDim() != 5 {
			t.Fatalf("%s: another head: %v", name, err)
		}
		a, err := nn.New(body, nn.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		b, err := nn.New(headed, nn.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range a.Params() {
			if q := b.Params()[i]; p.Name != q.Name || !slices.Equal(p.Value, q.Value) {
				t.Errorf("%s: parameter %d is %s without a head, %s with one", name, i, p.Name, q.Name)
			}
		}
		w := b.Param("head.weight")
		if w == nil || !slices.Equal(w.Shape, []int{5, features}) {
			t.Errorf("%s: head.weight is %+v", name, w)
		}
	}
	img := &nn.Spec{Name: "img", Input: nn.Shape{H: 4, W: 4, C: 3}, Layers: []nn.Layer{{Kind: nn.ReLU}}}
	if _, err := zoo.WithHead(img, zoo.Options{}); err == nil || !strings.Contains(err.Error(), "4 x 4 x 3 image") {
		t.Errorf("a head on an image: error %v", err)
	}
	only := &nn.Spec{Name: "only", Input: nn.Shape{H: 1, W: 1, C: 3}, Layers: []nn.Layer{
		{Kind: nn.Dense, Name: "fc", Out: 2}}}
	if _, err := only.Body(); err == nil || !strings.Contains(err.Error(), "without its head") {
		t.Errorf("nothing but a head: error %v", err)
	}
}

// TestParts: the two halves of a network make of an image, alone or in any batch, the bits
// that the whole makes, and training the head by itself gives the gradients that
// the whole gives a head behind a frozen body.
func TestParts(t *testing.T) {
	for _, name := range []string{"resnet18", "mobilenet_v1", "mobilenet_v2", "mobilenet_v3_small", "conv4",
		"convnext_tiny", "vit_t16", "mnist"} {
		o := zoo.Options{Input: nn.Shape{H: 48, W: 48, C: 3}, Dim: 7, Normalize: true, HeadNorm: true,
			Multiple: 1. / 8, Depth: 2}
		if name == "conv4" {
			o.Width = 16
		}
		spec, err := zoo.Network(name, o)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := nn.New(spec, nn.Options{Seed: 4, FreezeBody: true, FrozenNorm: true})
		if err != nil {
			t.Fatal(err)
		}
		body, err := whole.Body()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		head, err := whole.Tail()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, p := range whole.Params() {
			b, h := body.Param(p.Name), head.Param(p.Name)
			if b == nil && h == nil || b != nil && b != p || h != nil && h != p || b != nil && p.Grad != nil ||
				h != nil && !p.Buffer && p.Grad == nil {
				t.Fatalf("%s: %s is neither the body's, frozen, nor the head's, trained", name, p.Name)
			}
		}
		const n = 21
		x := netcases.Values(name, n*spec.Input.Len())
		want := slices.Clone(whole.Infer(x, n).Data)
		features := slices.Clone(body.Infer(x, n).Data)
		if got := head.Infer(features, n).Data; !slices.Equal(got, want) {
			t.Errorf("%s: the halves make other embeddings", name)
		}
		for _, size := range []int{1, 2, 16} {
			for lo := 0; lo < n; lo += size {
				hi := min(lo+size, n)
				got := body.Infer(x[lo*spec.Input.Len():hi*spec.Input.Len()], hi-lo).Data
				if !slices.Equal(got, features[lo*body.Dim():hi*body.Dim()]) {
					t.Fatalf("%s: images %d to %d have other features in a batch of their own", name, lo, hi-1)
				}
			}
		}
		gradients := func(net *nn.Net, x []float32) []float32 {
			net.Forward(x, n)
			net.Backward(matrix.FromSlice(n, 7, netcases.Values("objective", n*7)))
			var out []float32
			for _, p := range net.Params() {
				out = append(out, p.Grad...)
			}
			return out
		}
		a, b := gradients(whole, x), gradients(head, features)
		if len(a) != len(b) || !(relative(b, a) < 1e-5) {
			t.Errorf("%s: the head's gradients differ by %g of their norm", name, relative(b, a))
		}
	}
}
