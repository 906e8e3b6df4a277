package train_test

import (
	"fmt"

	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/train"
)

// ExampleOptimizer minimises (2 w - 6)^2 over the one weight of a network, by gradient
// descent whose rate falls along a cosine.
func ExampleOptimizer() {
	spec := &nn.Spec{Name: "line", Input: nn.Shape{H: 1, W: 1, C: 1}, Layers: []nn.Layer{
		{Kind: nn.Dense, Name: "w", Out: 1, NoBias: true}}}
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	const steps = 30
	opt, err := train.NewOptimizer(train.OptimizerConfig{Method: train.SGD, Rate: 0.2,
		Schedule: train.RateSchedule{Kind: train.CosineRate, Warmup: 3, Total: steps}}, net.Params())
	if err != nil {
		fmt.Println(err)
		return
	}
	for range steps {
		y := net.Forward([]float32{2}, 1)
		net.Backward(matrix.FromSlice(1, 1, []float32{2 * (y.At(0, 0) - 6)}))
		opt.Step()
	}
	fmt.Printf("w = %.3f\n", net.Param("w.weight").Value[0])
	// Output:
	// w = 3.000
}

// ExampleRateSchedule_Factor prints a warm-up of two steps and a cosine to a tenth.
func ExampleRateSchedule_Factor() {
	s := train.RateSchedule{Kind: train.CosineRate, Warmup: 2, Total: 6, Floor: 0.1}
	for step := range 7 {
		fmt.Printf("%.2f ", s.Factor(step))
	}
	fmt.Println()
	// Output:
	// 0.50 1.00 1.00 0.87 0.55 0.23 0.10
}
