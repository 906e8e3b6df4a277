package onnxnet_test

import (
	"bytes"
	"fmt"

	"github.com/kindred-ml/kindred/internal/network/onnxexport"
	"github.com/kindred-ml/kindred/internal/network/onnxnet"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// Example imports a network and runs it on one image.
func Example() {
	imported, err := onnxnet.Read("testdata/residual.onnx", onnxnet.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	net, err := nn.New(imported.Spec, nn.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := net.SetState(imported.Weights); err != nil {
		fmt.Println(err)
		return
	}
	in := imported.Spec.Input
	features := net.Infer(make([]float32, in.Len()), 1)
	fmt.Println("images of", in, "in,", features.Cols, "features out")
	// Output:
	// images of 32 x 32 x 3 in, 12 features out
}

// ExampleExport writes a network as ONNX, with how its images are prepared.
func ExampleExport() {
	spec, err := zoo.Network("conv4", zoo.Options{Input: nn.Shape{H: 40, W: 40, C: 1}, Dim: 64})
	if err != nil {
		fmt.Println(err)
		return
	}
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := onnxexport.Export(net, onnxnet.Preparation{Pixels: "inverted", Mean: []float32{1}, Std: []float32{-1},
		Fit: "stretch"})
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	if err := m.Write(&file); err != nil {
		fmt.Println(err)
		return
	}
	m, err = onnxnet.Parse(file.Bytes())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Graph.Inputs[0].Name, m.Graph.Inputs[0].String())
	fmt.Println(m.Graph.Outputs[0].Name, m.Graph.Outputs[0].String())
	fmt.Println(m.Meta[1].Key, m.Meta[1].Value)
	// Output:
	// image FLOAT [batch, 1, 40, 40]
	// embedding FLOAT [batch, 64]
	// kindred.pixels inverted
}
