package nn_test

import (
	"fmt"

	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/optim"
)

// Example trains a network for one step on two images, with a made-up gradient
// of the embeddings.
func Example() {
	spec, err := nn.Network("conv4", nn.NetworkOptions{Input: nn.Shape{H: 40, W: 40, C: 1}, Dim: 16, Normalize: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	opt, err := optim.New(optim.Config{Method: optim.AdamW, Rate: 1e-3}, net.Params())
	if err != nil {
		fmt.Println(err)
		return
	}
	images := make([]float32, 2*40*40) // two images, rows of pixels
	images[0] = 1
	e := net.Forward(images, 2)
	fmt.Println(e.Rows, "embeddings of", e.Cols)
	dE := mat.New(2, 16)
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
	_, err := nn.Network("conv4", nn.NetworkOptions{Input: nn.Shape{H: 12, W: 12, C: 3}})
	fmt.Println(err)
	// Output:
	// network conv4: layer max_pool#16 (max_pool): its 2 x 2 kernel is larger than its 1 x 1 input
}
