package objective_test

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/objective"
)

// Mining alone: the triplets that two policies make of a batch.
func ExampleSelectTuples() {
	embeddings := matrix.FromSlice(6, 1, []float32{0, 1, 10, 3, 4, 12})
	labels := []int64{0, 0, 0, 1, 1, 1}
	chosen, err := objective.SelectTuples(embeddings, labels, objective.MiningConfig{
		Positives: objective.EasyPositive,     // the nearest of the same label
		Negatives: objective.SemiHardNegative, // the nearest of another label beyond it
	})
	for anchor, s := range chosen {
		for positive, negative := range s.Tuples() {
			fmt.Println(anchor, positive, negative)
		}
	}
	fmt.Println(err)
	// Output:
	// 0 1 3
	// 1 0 3
	// 3 4 1
	// 4 3 1
	// 5 4 1
	// <nil>
}

// Positives that the embedding already orders rightly, the farthest of them, against
// the nearest negative, and of both only what is not too near to be a copy.
func ExampleRange() {
	embeddings := matrix.FromSlice(6, 1, []float32{0, 2, 3, 9, 0.1, 4})
	labels := []int64{0, 0, 0, 0, 1, 1}
	notCopies := objective.DistanceRange{From: new(0.5)}
	chosen, err := objective.SelectTuples(embeddings, labels, objective.MiningConfig{
		Positives:     objective.SemiHardPositive,
		Negatives:     objective.HardNegative,
		PositiveRange: notCopies,
		NegativeRange: notCopies,
	})
	fmt.Println(chosen[0].Pos, chosen[0].Neg, err)
	// Output:
	// [2] [5] <nil>
}

// The negative at the median distance: a policy of your own beside one of ours.
func ExampleCustomPolicy() {
	median := &objective.CustomPolicy{Name: "median", Choose: func(a *objective.Anchor) []int {
		places := make([]int, len(a.Candidates))
		for k := range places {
			places[k] = k
		}
		slices.SortFunc(places, func(j, k int) int { return cmp.Compare(a.Distances[j], a.Distances[k]) })
		return places[len(places)/2:][:1]
	}}
	embeddings := matrix.FromSlice(5, 1, []float32{0, 1, 3, 4, 12})
	chosen, err := objective.SelectTuples(embeddings, []int64{0, 0, 1, 1, 1}, objective.MiningConfig{
		Positives:       objective.EasyPositive,
		CustomNegatives: median,
	})
	for anchor, s := range chosen {
		fmt.Println(anchor, s.Pos, s.Neg)
	}
	fmt.Println(err)
	// Output:
	// 0 [1] [3]
	// 1 [0] [3]
	// 2 [3] [0]
	// 3 [2] [0]
	// 4 [3] [0]
	// <nil>
}
