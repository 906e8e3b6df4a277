package cluster_test

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/internal/compute/cluster"
	"github.com/kindred-ml/kindred/matrix"
)

func ExampleKMeans() {
	x := matrix.FromSlice(6, 2, []float32{0, 0, 0, 1, 1, 0, 8, 8, 9, 8, 8, 9})
	labels := []int64{1, 1, 2, 2, 2, 2}
	res, err := cluster.KMeans(context.Background(), x, cluster.Config{K: 2, Seed: 1})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d clusters from %v after %d rounds, inertia %.3f\n", res.K, res.Init, res.Iterations, res.Inertia)
	t, err := cluster.NewTable(labels, res.Assignment)
	if err != nil {
		panic(err)
	}
	fmt.Printf("NMI %.3f, ARI %.3f, purity %.3f\n", t.NMI(cluster.Arithmetic), t.ARI(), t.Purity())
	// Output:
	// 2 clusters from k-means++ after 2 rounds, inertia 2.667
	// NMI 0.479, ARI 0.324, purity 0.833
}
