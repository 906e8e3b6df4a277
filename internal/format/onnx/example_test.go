package onnx_test

import (
	"bytes"
	"fmt"

	"github.com/kindred-ml/kindred/internal/format/onnx"
)

// Example writes a model of one layer and reads it again.
func Example() {
	m := &onnx.Model{
		Producer: "example",
		Opsets:   []onnx.Opset{{Version: 17}},
		Graph: onnx.Graph{
			Inputs:  []onnx.Value{{Name: "x", Type: onnx.Float32, Shape: []onnx.Dim{{Name: "batch"}, {Size: 2}}}},
			Outputs: []onnx.Value{{Name: "y", Type: onnx.Float32, Shape: []onnx.Dim{{Name: "batch"}, {Size: 1}}}},
			Initializers: []onnx.Tensor{
				onnx.Floats("w", []int64{2, 1}, []float32{3, 4}),
			},
			Nodes: []onnx.Node{{Name: "product", Op: "MatMul", Inputs: []string{"x", "w"}, Outputs: []string{"y"}}},
		},
	}
	var file bytes.Buffer
	if err := m.Write(&file); err != nil {
		fmt.Println(err)
		return
	}
	m, err := onnx.Parse(file.Bytes())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Graph.Inputs[0].Name, m.Graph.Inputs[0].String())
	for _, n := range m.Graph.Nodes {
		fmt.Println(n.String(), n.Inputs, n.Outputs)
	}
	// Output:
	// x FLOAT [batch, 2]
	// node "product" (MatMul) [x w] [y]
}
