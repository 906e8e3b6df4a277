package zoo_test

import (
	"fmt"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// ExampleImport starts a network from a checkpoint of PyTorch, whose wrapper
// put "module." before every name and which holds a layer too many.
func ExampleImport() {
	spec := &nn.Spec{Name: "two", Input: nn.Shape{H: 1, W: 1, C: 3}, Layers: []nn.Layer{
		{Kind: nn.Dense, Name: "fc1", Out: 2}, {Kind: nn.ReLU}, {Kind: nn.Dense, Name: "fc2", Out: 2}}}
	net, err := nn.New(spec, nn.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	file, err := zoo.ReadWeights("testdata/tiny.pth")
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := zoo.Import(net, file, zoo.ImportOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report)
	fmt.Println(report.Renamed[0])
	fmt.Println(net.Infer([]float32{1, 2, 3}, 1).Row(0))
	// Output:
	// unexpected: module.fc3.weight
	// module.fc1.weight -> fc1.weight
	// [2 8]
}

// ExampleGuess tells which network a file of weights is for.
func ExampleGuess() {
	spec, err := zoo.Network("mobilenet_v3_small", zoo.Options{Input: nn.Shape{H: 64, W: 64, C: 3}, Multiple: 0.5})
	if err != nil {
		fmt.Println(err)
		return
	}
	net, err := nn.New(spec, nn.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	name, o, err := zoo.Guess(net.State())
	fmt.Println(name, o.Multiple, err)
	// Output:
	// mobilenet_v3_small 0.5 <nil>
}
