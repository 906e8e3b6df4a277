package nn_test

import (
	"fmt"

	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/train"
)

// Example trains a network for one step on two images, with a made-up gradient
// of the embeddings.
func Example() {
	spec, err := zoo.Network("conv4", zoo.Options{Input: nn.Shape{H: 40, W: 40, C: 1}, Dim: 16, Normalize: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	opt, err := train.NewOptimizer(train.OptimizerConfig{Method: train.AdamW, Rate: 1e-3}, net.Params())
	if err != nil {
		fmt.Println(err)
		return
	}
	images := make([]float32, 2*40*40) // two images, rows of pixels
	images[0] = 1
	e := net.Forward(images, 2)
	fmt.Println(e.Rows, "embeddings of", e.Cols)
	dE := matrix.New(2, 16)
	dE.Row(0)[3] = 1
	net.Backward(dE)
	opt.Step()
	fmt.Println(opt.Steps(), "step,", len(net.Params()), "tensors")
	// Output:
	// 2 embeddings of 16
	// 1 step, 22 tensors
}

// ExampleSpec_Check shows what an impossible shape says.
func ExampleSpec_Check() {
	_, err := zoo.Network("conv4", zoo.Options{Input: nn.Shape{H: 12, W: 12, C: 3}})
	fmt.Println(err)
	// Output:
	// network conv4: layer max_pool#16 (max_pool): its 2 x 2 kernel is larger than its 1 x 1 input
}

// ExampleNew builds a network from layers and runs it: squeeze and excite with
// weights that make plain what happens.
func ExampleNew() {
	spec := &nn.Spec{Name: "excite", Input: nn.Shape{H: 1, W: 2, C: 2}, Layers: []nn.Layer{
		{Kind: nn.Multiply, Layers: []nn.Layer{
			{Kind: nn.GlobalAvgPool}, {Kind: nn.Linear, Name: "gate", Out: 2, NoBias: true}, {Kind: nn.ReLU}}},
		{Kind: nn.GlobalAvgPool},
	}}
	net, err := nn.New(spec, nn.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	net.Param("gate.weight").FromTorch([]float32{1, 0, 0, -1}) // the second channel is shut
	image := []float32{1, 5, 3, 7}                             // two pixels of two channels
	fmt.Println(net.Infer(image, 1).Row(0))
	// Output:
	// [4 0]
}

// ExampleSpec_Body takes the embedding layer off a network and puts a narrower one
// on.
func ExampleSpec_Body() {
	spec, err := zoo.Network("resnet18", zoo.Options{Input: nn.Shape{H: 64, W: 64, C: 3}, Dim: 128})
	if err != nil {
		fmt.Println(err)
		return
	}
	body, err := spec.Body()
	if err != nil {
		fmt.Println(err)
		return
	}
	other, err := zoo.WithHead(body, zoo.Options{Dim: 16, Normalize: true})
	fmt.Println(spec.OutDim(), body.OutDim(), other.OutDim(), err)
	// Output:
	// 128 512 16 <nil>
}
