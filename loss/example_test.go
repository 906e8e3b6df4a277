package loss_test

import (
	"context"
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"

	"github.com/kindred-ml/kindred/objective"
)

// Exponential is exp(S_an - S_ap) for every triplet: a loss of your own.
type Exponential struct{}

func (Exponential) Traits() loss.Traits { return loss.Traits{Measure: loss.Similarity} }

func (l Exponential) Terms() loss.Terms { return loss.TupleTerms(l) }

func (Exponential) Tuples(ap, an, val, dap, dan []float32) {
	for k := range ap {
		v := float32(math.Exp(float64(an[k] - ap[k])))
		val[k], dap[k], dan[k] = v, -v, v
	}
}

func Example() {
	obj, err := objective.New(objective.Options{
		Normalize: true,
		Loss:      Exponential{},
		Mine:      objective.MiningConfig{Positives: objective.EasyPositive, Negatives: objective.HardNegative},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	embeddings := matrix.FromSlice(4, 2, []float32{1, 0, 1, 1, 0, 1, -1, 1})
	gradient := matrix.New(4, 2)
	r, err := obj.Step(context.Background(), embeddings, objective.Batch{Labels: []int64{0, 0, 1, 1}}, gradient)
	fmt.Printf("loss %.3f over %d triplets: %v\n", r.Value, r.Tuples, err)
	fmt.Printf("gradient of the first embedding: %.3f\n", gradient.Row(0))
	// Output:
	// loss 0.747 over 4 triplets: <nil>
	// gradient of the first embedding: [0.000 -0.141]
}
