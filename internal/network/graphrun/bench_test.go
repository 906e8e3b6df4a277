package graphrun

import (
	"os"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// BenchmarkGraph runs the model that KINDRED_GRAPH names, for an image of 3 x 224 x 224 or of the
// size that the model states.
func BenchmarkGraph(b *testing.B) {
	path := os.Getenv("KINDRED_GRAPH")
	if path == "" {
		b.Skip("KINDRED_GRAPH, a model, is not set")
	}
	m, err := onnx.Read(path)
	if err != nil {
		b.Fatal(err)
	}
	in := m.Graph.Inputs[0]
	shape := []int{1, 3, 224, 224}
	for i := range shape {
		if d := in.Shape[i].Size; i > 0 && d > 0 {
			shape[i] = int(d)
		}
	}
	p, err := Compile(m, Options{Input: in.Name, Shape: shape, Type: in.Type,
		Outputs: []string{m.Graph.Outputs[0].Name}})
	if err != nil {
		b.Fatal(err)
	}
	x := make([]float32, tensor.Size(shape))
	for b.Loop() {
		if _, err := p.Run(x); err != nil {
			b.Fatal(err)
		}
	}
}
