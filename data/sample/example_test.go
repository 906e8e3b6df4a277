package sample_test

import (
	"fmt"

	"github.com/kindred-ml/kindred/data/sample"
)

func ExampleBalanced() {
	labels := []int64{7, 7, 7, 8, 8, 8, 8, 9, 9, 9}
	s, err := sample.NewBalanced(labels, sample.BalancedConfig{Classes: 2, PerClass: 2, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Batches(), "batches of", s.BatchSize(), "samples")
	for _, batch := range s.Epoch() {
		var drawn []int64
		for _, i := range batch {
			drawn = append(drawn, labels[i])
		}
		fmt.Println(drawn)
	}
	// Output:
	// 3 batches of 4 samples
	// [8 8 9 9]
	// [7 7 9 9]
	// [7 7 8 8]
}

// An anchor finds near relatives, of its fine class, and far ones, of its coarse
// class, in the batch.
func ExampleHierarchical() {
	coarse := []int64{1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}
	fine := []int64{10, 10, 11, 11, 12, 12, 20, 20, 20, 21, 21, 21}
	s, err := sample.NewHierarchical(coarse, fine, sample.HierarchyConfig{Coarse: 2, Fine: 2, PerClass: 2, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, batch := range s.Epoch() {
		var drawn []string
		for _, i := range batch {
			drawn = append(drawn, fmt.Sprint(coarse[i], "/", fine[i]))
		}
		fmt.Println(drawn)
	}
	// Output:
	// [1/11 1/11 1/12 1/12 2/21 2/21 2/20 2/20]
	// [2/20 2/20 2/21 2/21 1/10 1/10 1/11 1/11]
}
