package clean_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/clean"
	"github.com/kindred-ml/kindred/matrix"
)

// Two hundred items of four classes; the label of one is wrong.
func Example() {
	rng := rand.New(rand.NewPCG(1, 2))
	x, labels := matrix.New(200, 6), make([]int64, 200)
	for i := range x.Rows {
		labels[i] = int64(i % 4)
		for j := range x.Cols {
			x.Row(i)[j] = float32(rng.NormFloat64())
		}
		x.Row(i)[labels[i]] += 8
	}
	labels[42] = 0 // it is a 2
	res, err := clean.FindLabelErrors(context.Background(), labels, clean.Options{}, clean.Fold{X: x})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, i := range res.Suspects(0.5) {
		fmt.Printf("item %d is labelled %d; %d of its %d neighbours are %d\n", i, labels[i], res.Votes[i],
			res.Neighbours, res.Suggested[i])
	}
	// Output:
	// item 42 is labelled 0; 15 of its 15 neighbours are 2
}
