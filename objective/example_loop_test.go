package objective_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/data/sample"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/train"
)

// draw returns n samples of four classes, which differ in their first two numbers.
// The others are noise.
func draw(rng *rand.Rand, n int) (x *matrix.Dense, labels []int64) {
	x = matrix.New(n, 16)
	for i := range n {
		class := i % 4
		labels = append(labels, int64(class))
		v := x.Row(i)
		for k := range v {
			v[k] = float32(5 * rng.NormFloat64())
		}
		v[0] = float32(float64(6*(class%2)) + rng.NormFloat64())
		v[1] = float32(float64(6*(class/2)) + rng.NormFloat64())
	}
	return x, labels
}

func recall(x *matrix.Dense, labels []int64) float64 {
	r, err := eval.RecallAt(context.Background(), x, labels, eval.Euclidean, 1)
	if err != nil {
		log.Fatal(err)
	}
	return r[0]
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// A training loop of your own: a sampler draws batches, a network embeds them, an
// objective says how the embeddings should move, and an optimizer changes the
// network.
func Example_loop() {
	rng := rand.New(rand.NewPCG(1, 2))
	x, labels := draw(rng, 400)

	spec := must(zoo.Network("mlp", zoo.Options{
		Input: nn.Shape{H: 1, W: 1, C: x.Cols}, Width: 32, Dim: 8, Normalize: true,
	}))
	net := must(nn.New(spec, nn.Options{Seed: 1}))
	optimizer := must(train.NewOptimizer(train.OptimizerConfig{Rate: 3e-3}, net.Params()))
	sampler := must(sample.NewBalanced(labels, sample.BalancedConfig{Classes: 4, PerClass: 8, Seed: 1}))
	obj := must(objective.New(objective.Options{
		Loss: loss.Triplet{},
		Mine: objective.MiningConfig{Positives: objective.RandomPositive, Negatives: objective.HardNegative},
	}))

	size := sampler.BatchSize()
	input, y, gradient := matrix.New(size, x.Cols), make([]int64, size), matrix.New(size, net.Dim())
	for range 30 {
		for _, batch := range sampler.Epoch() {
			for k, i := range batch {
				copy(input.Row(k), x.Row(i))
				y[k] = labels[i]
			}
			e := net.Forward(input.Data, size)
			must(obj.Step(context.Background(), e, objective.Batch{Labels: y}, gradient))
			net.Backward(gradient)
			optimizer.Step()
		}
	}

	unseen, labels := draw(rng, 200)
	embedded := net.Infer(unseen.Data, unseen.Rows)
	fmt.Printf("the nearest neighbour has the right class in %.1f of the cases\n", recall(unseen, labels))
	fmt.Printf("after %d steps in more than 0.9: %v\n", optimizer.Steps(), recall(embedded, labels) > 0.9)
	// Output:
	// the nearest neighbour has the right class in 0.4 of the cases
	// after 390 steps in more than 0.9: true
}
