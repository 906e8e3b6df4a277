package onnxnet

import (
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/test/refdata"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// An ImageNet MobileNet gives as it stands the features that it gives as layers: cut at the same
// place, of images of the size that it was made for and of others.
func TestRealWeightsAsTheyStand(t *testing.T) {
	m, err := onnx.Read(refdata.Path(t, "models", "mobilenet_v1_075_224.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	image, err := findImage(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 128} {
		layers, err := Import(m, Options{Size: size, Trainable: true})
		if err != nil {
			t.Fatal(err)
		}
		whole := &Network{Weights: &safetensors.File{}}
		if err := whole.importFrozen(m, image, Options{Size: size}); err != nil {
			t.Fatal(err)
		}
		if layers.Frozen || !whole.Frozen || whole.Spec.Input != layers.Spec.Input {
			t.Fatalf("%+v beside %+v", whole.Spec.Input, layers.Spec.Input)
		}
		var out [2][]float32
		for i, net := range []*Network{layers, whole} {
			made, err := nn.New(net.Spec, nn.Options{})
			if err == nil {
				err = made.SetState(net.Weights)
			}
			if err != nil {
				t.Fatal(err)
			}
			x := images(net.Spec.Input, 2, 5)
			out[i] = slices.Clone(made.Infer(x, 2).Data)
		}
		if d := distance(out[0], out[1]); len(out[1]) != 2*768 || !(d <= 3e-6) {
			t.Errorf("size %d: %d features, which differ by %g", size, len(out[1]), d)
		}
	}
}
