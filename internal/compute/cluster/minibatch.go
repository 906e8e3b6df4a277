package cluster

import (
	"context"

	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/matrix"
)

// runMiniBatch moves the centroids by small random batches (Sculley 2010). Each row of a batch, drawn
// with replacement, pulls its centroid towards itself by 1 over the number of rows that the centroid has
// taken so far. At the end all rows are assigned once.
func (l *lloyd) runMiniBatch(ctx context.Context, progress func(float64)) (*Result, error) {
	if err := l.chooseCentroids(ctx); err != nil {
		return nil, err
	}
	size := min(l.cfg.BatchSize, l.X.Rows)
	batch := matrix.New(size, l.X.Cols)
	assigned := make([]int32, size)
	taken := make([]float64, l.cfg.K)
	for round := range l.cfg.Iterations {
		for b := range size {
			copy(batch.Row(b), l.X.Row(l.rng.IntN(l.X.Rows)))
		}
		if _, err := exact.NewAssigner(batch).Assign(ctx, assigned, l.centroids); err != nil {
			return nil, err
		}
		for b, k := range assigned {
			taken[k]++
			rate := float32(1 / taken[k])
			c := l.centroids.Row(int(k))
			for j, v := range batch.Row(b) {
				c[j] += rate * (v - c[j])
			}
		}
		progress(float64(round+1) / float64(l.cfg.Iterations+1))
	}
	if _, err := l.assignAll(ctx); err != nil {
		return nil, err
	}
	l.updateDistances()
	return l.result(l.cfg.Iterations, false), nil
}
