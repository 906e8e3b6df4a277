package eval_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// Seven photos of three things, on a line.
var (
	photos = matrix.FromSlice(7, 1, []float32{0, 1, 2, 10, 11, 4, 5})
	things = [][]int64{{1, 1, 1, 2, 2, 3, 3}}
)

// A threshold that takes at most one in ten pairs of different things for the same.
func ExampleComparePairs() {
	set := eval.Set{X: photos, Labels: things}
	counts, err := eval.ComparePairs(context.Background(), set, nil, eval.CompareOptions{})
	if err != nil {
		panic(err)
	}
	r := counts.RatesAtFMR(0.1)
	fmt.Printf("%d genuine and %d impostor pairs\n", counts.Genuine(), counts.Impostor())
	fmt.Printf("accepted below %.3f: FMR %.4f, FNMR %.4f\n", r.Threshold, r.FMR, r.FNMR)
	eer, _ := counts.EER()
	fmt.Printf("EER %.4f, AUC %.4f\n", eer, counts.AUC())
	// Output:
	// 5 genuine and 16 impostor pairs
	// accepted below 3.000: FMR 0.0625, FNMR 0.0000
	// EER 0.0476, AUC 0.9938
}

// Who is it, or is it nobody that is known?
func ExampleIdentify() {
	gallery := eval.Set{X: matrix.FromSlice(2, 1, []float32{0, 10}), Labels: [][]int64{{1, 2}}}
	open, err := eval.Identify(context.Background(), eval.Set{X: photos, Labels: things}, &gallery,
		eval.CompareOptions{})
	if err != nil {
		panic(err)
	}
	r := open.RatesAtFPIR(0.1)
	fmt.Printf("%d photos of things in the gallery, %d of others\n", open.NumMated(), open.NumUnmated())
	fmt.Printf("rank 1 %.1f; with FPIR %.1f: FNIR %.1f, DIR %.1f\n", open.Rank1(), r.FPIR, r.FNIR, r.DIR)
	// Output:
	// 5 photos of things in the gallery, 2 of others
	// rank 1 1.0; with FPIR 0.0: FNIR 0.0, DIR 1.0
}

func ExampleReadPairs() {
	pairs, err := eval.ReadPairs(strings.NewReader("1\t1\nAnn\t1\t2\nAnn\t1\tBob\t3\n"), "pairs.txt")
	if err != nil {
		panic(err)
	}
	for _, p := range pairs {
		fmt.Println(p.A, p.B, p.Same)
	}
	// Output:
	// Ann_0001 Ann_0002 true
	// Ann_0001 Bob_0003 false
}
