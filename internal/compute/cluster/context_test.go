package cluster

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/ctxtest"
	"github.com/kindred-ml/kindred/matrix"
)

func TestLongFunctionsStop(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	x, few := matrix.New(900, 4), matrix.New(900, 4)
	for i := range x.Rows {
		for j := range x.Row(i) {
			x.Row(i)[j] = rng.Float32()
			if i >= 800 { // the others are equal
				few.Row(i)[j] = rng.Float32()
			}
		}
	}
	// Classes of many sizes: the expectation behind AMI goes over pairs of sizes.
	var classes, clusters []int64
	for size := range 40 {
		for range size {
			classes = append(classes, int64(size))
			clusters = append(clusters, int64(rng.IntN(30)))
		}
	}
	table, err := NewTable(classes, clusters)
	if err != nil {
		t.Fatal(err)
	}
	kmeans := func(x *matrix.Dense, cfg Config) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			_, err := KMeans(ctx, x, cfg)
			return err
		}
	}
	for _, c := range []struct {
		name    string
		atLeast int
		compute func(ctx context.Context) error
	}{
		// One look for each of 200 centroids and each block of each round.
		{"k-means++", 200 + 10*8, kmeans(x, Config{K: 200, Iterations: 10, Restarts: 2})},
		{"many clusters of one round", 600, kmeans(x, Config{K: 600, Iterations: 1})},
		{"random start", 5 * 8, kmeans(x, Config{K: 50, Init: Random, Iterations: 30})},
		{"empty clusters", 80, kmeans(few, Config{K: 100, Init: Random, Iterations: 5})},
		{"mini-batches", 50 + 40, kmeans(x, Config{K: 50, Iterations: 40, BatchSize: 64})},
		{"AMI", 38 * 10, func(ctx context.Context) error {
			_, err := table.AMI(ctx, Geometric)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) { ctxtest.CheckStops(t, c.atLeast, c.compute) })
	}
}
