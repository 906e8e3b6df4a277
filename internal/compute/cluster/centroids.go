package cluster

import (
	"context"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
)

// chooseCentroids chooses the first centroids.
func (l *lloyd) chooseCentroids(ctx context.Context) error {
	if l.cfg.Init == Random {
		for k, i := range l.drawDistinctRows() {
			copy(l.centroids.Row(k), l.X.Row(i))
		}
		return nil
	}
	return l.drawPlusPlus(ctx)
}

// drawDistinctRows draws K different row numbers (Floyd's sampling), in the order drawn.
func (l *lloyd) drawDistinctRows() []int {
	n, k := l.X.Rows, l.cfg.K
	taken := make(map[int]bool, k)
	out := make([]int, 0, k)
	for j := n - k; j < n; j++ {
		i := l.rng.IntN(j + 1)
		if taken[i] {
			i = j
		}
		taken[i] = true
		out = append(out, i)
	}
	return out
}

// drawPlusPlus draws rows with probability proportional to their squared distance
// from the nearest centroid so far; uniformly once all rows lie on centroids.
func (l *lloyd) drawPlusPlus(ctx context.Context) error {
	n := l.X.Rows
	nearest := slices.Repeat([]float64{math.Inf(1)}, n)
	cumulative := make([]float64, n)
	row := l.rng.IntN(n)
	for k := range l.cfg.K {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := l.centroids.Row(k)
		copy(c, l.X.Row(row))
		par.For(n, 512, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				nearest[i] = min(nearest[i], dot16.SquaredDistance(l.X.Row(i), c))
			}
		})
		var sum float64
		for i, d := range nearest {
			sum += d
			cumulative[i] = sum
		}
		if sum == 0 {
			row = l.rng.IntN(n)
			continue
		}
		target := l.rng.Float64() * sum
		row, _ = slices.BinarySearchFunc(cumulative, target, func(c, t float64) int {
			if c > t {
				return 1
			}
			return -1
		})
		row = min(row, n-1)
	}
	return nil
}
