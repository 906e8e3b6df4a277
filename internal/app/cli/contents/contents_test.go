package contents

import (
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// TestNetwork: the sums are those of the layers, and the table has a line for each.
func TestNetwork(t *testing.T) {
	spec, err := zoo.Network("mobilenet_v1", zoo.Options{Input: nn.Shape{H: 128, W: 128, C: 3}})
	if err != nil {
		t.Fatal(err)
	}
	n, err := NewNetwork(spec)
	if err != nil {
		t.Fatal(err)
	}
	var params, macs int64
	for _, l := range n.Layers {
		params, macs = params+int64(l.Params), macs+l.MACs
	}
	if n.Params != params || n.MACs != macs || params != 3338176 || n.Dim != spec.OutDim() {
		t.Errorf("%d weights of %d, %d multiply-adds of %d", n.Params, params, n.MACs, macs)
	}
	n.Preparation = &Preparation{Pixels: "unit"}
	var b strings.Builder
	if err := n.Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if !strings.Contains(text, "prepared with pixels unit, fit unknown\n") || !strings.Contains(text, "3 338 176") ||
		strings.Count(text, "\n") != len(n.Layers)+5 {
		t.Errorf("%d layers:\n%s", len(n.Layers), text)
	}
	if _, err := NewNetwork(&nn.Spec{Layers: []nn.Layer{{Kind: "none"}}}); err == nil {
		t.Error("what is no network has layers")
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{0: "", 7: "7", 999: "999", 1000: "1 000", 1234567: "1 234 567"} {
		if got := FormatCount(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

// TestModel: nodes come in their order, with what they take and give.
func TestModel(t *testing.T) {
	m := &onnx.Model{Opsets: []onnx.Opset{{Version: 13}}, Meta: []onnx.Entry{{Key: "made", Value: "by hand"}},
		Graph: onnx.Graph{Inputs: []onnx.Value{{Name: "image", Type: 1}},
			Nodes: []onnx.Node{{Name: "a", Op: "Relu", Inputs: []string{"image"}, Outputs: []string{"y"}}}}}
	if got := NewModel(m); got.Opset != 13 || len(got.Nodes) != 1 || got.Nodes[0].Op != "Relu" {
		t.Errorf("%+v", got)
	}
	var b strings.Builder
	if err := WriteModel(&b, "x.onnx", m); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"x.onnx: by ? , opset 13\n", "input   image: FLOAT of unknown shape\n",
		"made = by hand\n", "a     Relu      y       image\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestWeights(t *testing.T) {
	w := NewWeights(&safetensors.File{Tensors: []safetensors.Tensor{
		safetensors.Float32("a", []int{40, 50}, make([]float32, 2000)),
		safetensors.Int64("b", []int{2}, []int64{1, 2})}})
	var b strings.Builder
	if err := w.Write(&b, "w.pth"); err != nil {
		t.Fatal(err)
	}
	if w.Values != 2002 || !strings.HasPrefix(b.String(), "w.pth: 2 tensors, 2 002 values\n") ||
		!strings.Contains(b.String(), "[40 50]") {
		t.Errorf("%d values\n%s", w.Values, b.String())
	}
}
