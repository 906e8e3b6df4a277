package objective_test

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"

	"github.com/kindred-ml/kindred/objective"
)

func Example() {
	obj, err := objective.New(objective.Options{
		Normalize: true,
		Loss:      loss.Triplet{Margin: new(0.5)},
		Mine:      objective.MiningConfig{Positives: objective.EasyPositive, Negatives: objective.HardNegative},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	embeddings := matrix.FromSlice(4, 2, []float32{1, 0, 1, 1, 0, 1, -1, 1})
	gradient := matrix.New(4, 2)
	r, err := obj.Step(context.Background(), embeddings, objective.Batch{Labels: []int64{0, 0, 1, 1}}, gradient)
	fmt.Printf("loss %.3f over %d triplets, %d of them active: %v\n", r.Value, r.Tuples, r.Active, err)
	// Output: loss 0.250 over 4 triplets, 2 of them active: <nil>
}
