package onnxnet

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/onnxexport"
	"github.com/kindred-ml/kindred/internal/test/netcases"
	"github.com/kindred-ml/kindred/nn"
)

// A rotary layer is written in operators that are computed on constants: with the image as one,
// the embedding is what the engine makes.
func TestRotaryIsWritten(t *testing.T) {
	for _, heads := range []int{1, 3} {
		net, err := nn.New(&nn.Spec{Name: "rotary", Input: nn.Shape{H: 3, W: 2, C: 36}, Layers: []nn.Layer{
			{Kind: nn.Rotary, Heads: heads}, {Kind: nn.Flatten, ChannelFirst: true}}}, nn.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := onnxexport.Export(net, Preparation{})
		if err != nil {
			t.Fatal(err)
		}
		x := netcases.Values("image", net.Spec().Input.Len())
		planes := make([]float32, len(x)) // channel after channel
		for i, v := range x {
			planes[i%36*6+i/36] = v
		}
		m.Graph.Initializers = append(m.Graph.Initializers, onnx.Floats("image", []int64{1, 36, 3, 2}, planes))
		other := m.Graph.Inputs[0]
		other.Name = "other"
		g, err := newGraph(m, &other, []int{1, 36, 3, 2})
		if err != nil {
			t.Fatal(err)
		}
		got := g.values["embedding"].known
		if got == nil {
			t.Fatal("the embedding is not computed")
		}
		for i, v := range net.Infer(x, 1).Data {
			if math.Abs(float64(got.Floats[i]-v)) > 1e-6 {
				t.Fatalf("%d heads: value %d is %g, want %g", heads, i, got.Floats[i], v)
			}
		}
		shared := 0
		for i := range m.Graph.Initializers {
			if strings.HasPrefix(m.Graph.Initializers[i].Name, "cos") {
				shared++
			}
		}
		if shared != 1 {
			t.Errorf("%d tables of cosines", shared)
		}
	}
}

// A network with adapters is written as the one in which they are merged.
func TestAdaptersAreMerged(t *testing.T) {
	spec, err := netcases.Layers()["transformer"].WithLoRA(2, 1)
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(spec, nn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := net.MergeLoRA()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range net.Params() {
		if p.IsAdapter() {
			p.FromTorch(netcases.Values(p.Name, len(p.Value)))
		}
	}
	merged, err := net.MergeLoRA()
	if err != nil {
		t.Fatal(err)
	}
	var files [3]bytes.Buffer
	for i, n := range []*nn.Net{net, merged, plain} {
		m, err := onnxexport.Export(n, Preparation{})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Write(&files[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) || bytes.Equal(files[0].Bytes(), files[2].Bytes()) {
		t.Error("the network is not written as the merged one, or as it was without adapters")
	}
}
