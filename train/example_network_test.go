package train_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/data/sample"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/train"
)

// gains is a network of your own: it multiplies each number of a sample by a gain
// that it learns, and adds nothing.
type gains struct {
	gain *nn.Param
	x    *matrix.Dense // what Forward was given
}

func newGains(dim int) *gains {
	p := &nn.Param{Name: "gain", Shape: []int{dim}, Value: make([]float32, dim), Grad: make([]float32, dim)}
	for j := range p.Value {
		p.Value[j] = 1
	}
	return &gains{gain: p}
}

func (g *gains) Params() []*nn.Param { return []*nn.Param{g.gain} }
func (g *gains) Dim() int            { return len(g.gain.Value) }

func (g *gains) Infer(x []float32, n int) *matrix.Dense {
	e := matrix.New(n, g.Dim())
	for k, v := range x {
		e.Data[k] = v * g.gain.Value[k%g.Dim()]
	}
	return e
}

func (g *gains) Forward(x []float32, n int) *matrix.Dense {
	g.x = matrix.FromSlice(n, g.Dim(), x)
	return g.Infer(x, n)
}

func (g *gains) Backward(grad *matrix.Dense) {
	clear(g.gain.Grad)
	for k, d := range grad.Data {
		g.gain.Grad[k%g.Dim()] += d * g.x.Data[k]
	}
}

// ExampleNetwork trains a network of your own: it learns which of three numbers
// tells the classes apart.
func ExampleNetwork() {
	rng := rand.New(rand.NewPCG(1, 1))
	x, labels := matrix.New(200, 3), make([]int64, 200)
	for i := range labels {
		labels[i] = int64(i % 2)
		copy(x.Row(i), []float32{2 * rng.Float32(), float32(i%2) + rng.Float32()/5, 2 * rng.Float32()})
	}
	net := newGains(3)
	pairs := objective.MiningConfig{Positives: objective.RandomPositive, Negatives: objective.HardNegative}
	obj, err := objective.New(objective.Options{Mine: pairs})
	if err != nil {
		log.Fatal(err)
	}
	draw, err := sample.NewBalanced(labels, sample.BalancedConfig{Classes: 2, PerClass: 16, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	opt, err := train.NewOptimizer(train.OptimizerConfig{Rate: 0.01}, train.Params(net, obj))
	if err != nil {
		log.Fatal(err)
	}
	_, err = train.Loop(context.Background(), train.Config{
		Network: net, Data: train.Rows{X: x}, Labels: labels,
		Sampler: draw, Objective: obj, Optimizer: opt, Epochs: 20,
	})
	if err != nil {
		log.Fatal(err)
	}
	w := net.gain.Value

	fmt.Println("the second gain is the largest:", w[1] > 2*w[0] && w[1] > 2*w[2])
	// Output: the second gain is the largest: true
}
