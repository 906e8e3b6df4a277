package train_test

import (
	"context"
	"fmt"
	"iter"
	"log"
	"math"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/data/sample"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/train"
)

// waves is a data set of your own: position i is a wave of 16 values whose
// frequency is its class, i modulo 3. Each epoch gets it with another phase.
type waves struct{ n int }

// Epoch computes the batches; any other source of samples does as well.
func (w waves) Epoch(ctx context.Context, epoch int, batches [][]int) iter.Seq2[train.Batch, error] {
	return func(yield func(train.Batch, error) bool) {
		for _, positions := range batches {
			b := train.Batch{Pos: positions}
			for _, i := range positions {
				phase := 2 * math.Pi * rand.New(rand.NewPCG(uint64(epoch), uint64(i))).Float64()
				for t := range 16 {
					b.X = append(b.X, float32(math.Sin(phase+float64((i%3+1)*t)*2*math.Pi/16)))
				}
			}
			if !yield(b, ctx.Err()) {
				return
			}
		}
	}
}

// ExampleData trains on samples that are computed when they are asked for.
func ExampleData() {
	x := waves{n: 300}
	labels := make([]int64, x.n)
	for i := range labels {
		labels[i] = int64(i % 3)
	}
	input := nn.Shape{H: 1, W: 1, C: 16}
	spec, err := zoo.Network("mlp", zoo.Options{Input: input, Dim: 4, Width: 32, Normalize: true})
	if err != nil {
		log.Fatal(err)
	}
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	obj, err := objective.New(objective.Options{})
	if err != nil {
		log.Fatal(err)
	}
	draw, err := sample.NewBalanced(labels, sample.BalancedConfig{Classes: 3, PerClass: 10, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	opt, err := train.NewOptimizer(train.OptimizerConfig{}, train.Params(net, obj))
	if err != nil {
		log.Fatal(err)
	}
	res, err := train.Loop(context.Background(), train.Config{
		Network: net, Data: x, Labels: labels,
		Sampler: draw, Objective: obj, Optimizer: opt, Epochs: 15,
	})
	if err != nil {
		log.Fatal(err)
	}
	first, last := &res.History[0], &res.History[len(res.History)-1]
	fmt.Println("the loss has become a tenth:", last.MeanLoss() < first.MeanLoss()/10)
	// Output: the loss has become a tenth: true
}
