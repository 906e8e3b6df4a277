package train_test

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

// hinge is a loss of your own: max(0, 0.3 + S_an - S_ap) for every triplet.
type hinge struct{}

func (hinge) Traits() loss.Traits { return loss.Traits{Measure: loss.Similarity} }

func (l hinge) Terms() loss.Terms { return loss.TupleTerms(l) }

func (hinge) Tuples(ap, an, val, dap, dan []float32) {
	for k := range ap {
		val[k], dap[k], dan[k] = max(0, 0.3+an[k]-ap[k]), 0, 0
		if val[k] > 0 {
			dap[k], dan[k] = -1, 1
		}
	}
}

// points are n rows of 8 numbers in 4 classes, which differ in the first two
// numbers alone; the others are larger, and noise.
func points(n int, seed uint64) (*matrix.Dense, []int64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	x, labels := matrix.New(n, 8), make([]int64, n)
	for i := range n {
		labels[i] = int64(i % 4)
		for j := range x.Cols {
			x.Row(i)[j] = float32(5 * rng.NormFloat64())
		}
		x.Row(i)[0] = float32(i%2*4) + rng.Float32()
		x.Row(i)[1] = float32(i%4/2*4) + rng.Float32()
	}
	return x, labels
}

// ExampleLoop trains a linear layer with a loss of your own.
func ExampleLoop() {
	ctx := context.Background()
	x, labels := points(400, 1)
	input := nn.Shape{H: 1, W: 1, C: x.Cols}
	spec, err := zoo.Network("linear", zoo.Options{Input: input, Dim: 3, Normalize: true})
	if err != nil {
		log.Fatal(err)
	}
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	obj, err := objective.New(objective.Options{Loss: hinge{}})
	if err != nil {
		log.Fatal(err)
	}
	draw, err := sample.NewBalanced(labels, sample.BalancedConfig{Classes: 4, PerClass: 8, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	opt, err := train.NewOptimizer(train.OptimizerConfig{Rate: 0.01}, train.Params(net, obj))
	if err != nil {
		log.Fatal(err)
	}
	res, err := train.Loop(ctx, train.Config{
		Network: net, Data: train.Rows{X: x}, Labels: labels,
		Sampler: draw, Objective: obj, Optimizer: opt, Epochs: 30,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(res.History), "epochs")

	test, want := points(200, 2)
	e, _, err := train.Embed(ctx, net, train.Rows{X: test}, test.Rows, 0)
	if err != nil {
		log.Fatal(err)
	}
	for _, x := range []*matrix.Dense{test, e} {
		recall, err := eval.RecallAt(ctx, x, want, eval.Euclidean, 1)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d numbers: Recall@1 above 0.9 is %v\n", x.Cols, recall[0] > 0.9)
	}
	// Output:
	// 30 epochs
	// 8 numbers: Recall@1 above 0.9 is false
	// 3 numbers: Recall@1 above 0.9 is true
}
