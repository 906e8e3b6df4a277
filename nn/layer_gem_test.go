package nn_test

import (
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
)

// TestGEMAboveFrozenLayers: the exponent learns though nothing below it does, and though the
// layer above it has nothing to learn.
func TestGEMAboveFrozenLayers(t *testing.T) {
	spec := &nn.Spec{Name: "gem", Input: nn.Shape{H: 4, W: 4, C: 3}, Layers: []nn.Layer{
		{Kind: nn.Conv, Name: "conv", Out: 4, Kernel: 1}, {Kind: nn.GEMPool, Name: "gem"}, {Kind: nn.L2Normalize}}}
	x, g := make([]float32, 2*48), matrix.New(2, 4)
	for i := range x {
		x[i] = float32(i%7) / 7
	}
	for i := range g.Data {
		g.Data[i] = float32(i*i%5) - 2
	}
	var want []float32
	for _, freeze := range [][]string{nil, {"conv"}} {
		net, err := nn.New(spec, nn.Options{Seed: 1, Freeze: freeze})
		if err != nil {
			t.Fatal(err)
		}
		net.Forward(x, 2)
		net.Backward(g)
		params := net.Params()
		got := params[len(params)-1].Grad
		if want == nil {
			want = slices.Clone(got)
		}
		if !slices.Equal(got, want) || got[0] == 0 {
			t.Errorf("frozen %q: the gradient of the exponent is %v, want %v", freeze, got, want)
		}
	}
}
