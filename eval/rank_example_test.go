package eval_test

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

func ExampleNearest() {
	gallery := matrix.FromSlice(4, 2, []float32{0, 0, 3, 4, 1, 0, -6, 8})
	query := matrix.FromSlice(1, 2, []float32{3, 3})
	nb, err := eval.Nearest(context.Background(), query, gallery, 3, eval.RankOptions{})
	if err != nil {
		panic(err)
	}
	for i, row := range nb.Row {
		fmt.Printf("row %d at squared distance %g\n", row, nb.Value[i])
	}
	// Output:
	// row 1 at squared distance 1
	// row 2 at squared distance 13
	// row 0 at squared distance 18
}

// The mean reciprocal rank, as a function of the ranks of the positives.
func ExampleRankPositives() {
	set := eval.Set{X: matrix.FromSlice(4, 1, []float32{0, 1, 5, 7}), Labels: [][]int64{{1, 2, 1, 2}}}
	var sum float64
	err := eval.RankPositives(context.Background(), set, nil, eval.RankOptions{FirstOnly: true},
		func(q eval.RankedQuery) {
			fmt.Printf("query %d: %d positive, the nearest at rank %d\n", q.Index, q.Positives, q.Ranks[0])
			sum += 1 / float64(q.Ranks[0])
		})
	if err != nil {
		panic(err)
	}
	fmt.Printf("MRR %.3f\n", sum/4)
	// Output:
	// query 0: 1 positive, the nearest at rank 2
	// query 1: 1 positive, the nearest at rank 3
	// query 2: 1 positive, the nearest at rank 3
	// query 3: 1 positive, the nearest at rank 2
	// MRR 0.417
}
