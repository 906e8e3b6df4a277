package onnxnet

import (
	"math"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/onnxexport"
	"github.com/kindred-ml/kindred/nn"
)

// Causal attention is written with a mask, which is read as such; a mask with any other value
// is refused.
func TestCausalAttention(t *testing.T) {
	const positions = 6
	net, err := nn.New(&nn.Spec{Name: "causal", Input: nn.Shape{H: 2, W: 3, C: 3}, Layers: []nn.Layer{
		{Kind: nn.Conv, Name: "patch", Out: 4, Kernel: 1}, {Kind: nn.Positions, Name: "pos"},
		{Kind: nn.Residual, Layers: []nn.Layer{{Kind: nn.Linear, Name: "qkv", Out: 12},
			{Kind: nn.Attention, Heads: 2, Causal: true}}},
		{Kind: nn.TakeToken, At: 2}}}, nn.Options{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, net.Spec().Input.Len())
	for i := range x {
		x[i] = float32(math.Sin(float64(i)))
	}
	want := net.Infer(x, 1).Data
	for i, c := range []struct {
		at   int // of the mask, row after row; -1: none is changed
		to   float32
		fits bool
	}{
		{at: -1, fits: true}, {at: 1, to: float32(math.Inf(-1)), fits: true}, {at: 1, to: -1e4, fits: true},
		{at: 1, to: -9999}, {at: 1}, {at: 1, to: float32(math.NaN())}, {at: 7, to: -1e9}, {at: 0, to: 1},
		{at: positions*positions - 1, to: -1},
	} {
		m, err := onnxexport.Export(net, Preparation{})
		if err != nil {
			t.Fatal(err)
		}
		for k := range m.Graph.Initializers {
			mask := &m.Graph.Initializers[k]
			if mask.Name == "causal6" && c.at >= 0 {
				v, err := mask.Float32s()
				if err != nil {
					t.Fatal(err)
				}
				v[c.at] = c.to
				*mask = onnx.Floats(mask.Name, []int64{positions, positions}, v)
			}
		}
		back, err := Import(m, Options{Trainable: true})
		if !c.fits {
			if err == nil || !strings.Contains(err.Error(), "adds a bias to it") {
				t.Errorf("case %d: error %v", i, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("case %d: %v", i, err)
			continue
		}
		for k, v := range built(t, back).Infer(x, 1).Data {
			if math.Abs(float64(v-want[k])) > 1e-6 {
				t.Errorf("case %d: value %d is %g, want %g", i, k, v, want[k])
			}
		}
	}
}
