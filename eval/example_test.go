package eval_test

import (
	"context"
	"fmt"
	"os"

	"github.com/kindred-ml/kindred/eval"

	"github.com/kindred-ml/kindred/matrix"
)

// Six embeddings of two classes; the last one lies among the wrong ones.
func embeddings() (*matrix.Dense, []int64) {
	return matrix.FromSlice(6, 2, []float32{0, 0, 0, 1, 1, 1, 5, 5, 5, 7, 1, 0}), []int64{1, 1, 1, 2, 2, 2}
}

func ExampleRecallAt() {
	x, labels := embeddings()
	recall, err := eval.RecallAt(context.Background(), x, labels, eval.Euclidean, 1, 2, 4)
	if err != nil {
		panic(err)
	}
	fmt.Printf("Recall@1 %.2f, Recall@2 %.2f, Recall@4 %.2f\n", recall[0], recall[1], recall[2])
	// Output: Recall@1 0.83, Recall@2 0.83, Recall@4 1.00
}

func ExampleEvaluate() {
	x, labels := embeddings()
	metrics, err := eval.ParseMetrics("recall@1,map@r,mrr,nmi")
	if err != nil {
		panic(err)
	}
	rep, err := eval.Evaluate(context.Background(), eval.Set{X: x, Labels: [][]int64{labels}}, nil,
		eval.Config{Metrics: metrics})
	if err != nil {
		panic(err)
	}
	if err := rep.WriteText(os.Stdout); err != nil {
		panic(err)
	}
	recall, err := rep.Metric("", "recall@1")
	fmt.Printf("%.2f %v\n", recall.Value, err)
	_, err = rep.Metric("", "recall@2")
	fmt.Println(err)
	// Output:
	// metric     label
	// recall@1  0.8333
	// map@r     0.5000
	// mrr       0.8750
	// nmi       0.4787
	// queries        6
	// left out       0
	// classes        2
	//
	// distance: euclidean
	// k-means: K 2, start k-means++, seed 0, restarts 1, iterations 2, inertia 4
	// nmi and ami are normalised by the arithmetic mean of the entropies unless their name says geometric
	// 0.83 <nil>
	// the report has no metric "recall@2" on column label: must be one of recall@1, map@r, mrr, nmi
}

// Photos to find, and where to find them.
func ExampleEvaluate_gallery() {
	gallery := eval.Set{X: matrix.FromSlice(3, 1, []float32{0, 1, 9}), Labels: [][]int64{{1, 2, 2}}}
	queries := eval.Set{X: matrix.FromSlice(2, 1, []float32{0.9, 8}), Labels: [][]int64{{1, 2}}}
	rep, err := eval.Evaluate(context.Background(), queries, &gallery, eval.Config{
		Metrics: []eval.Metric{{Kind: eval.Recall, K: 1}, {Kind: eval.MRR}},
	})
	if err != nil {
		panic(err)
	}
	for _, v := range rep.Columns[0].Values {
		fmt.Println(v.Metric, v.Value)
	}
	// Output:
	// recall@1 0.5
	// mrr 0.75
}
