package diagnose

import (
	"context"
	"math"

	"github.com/kindred-ml/kindred/eval/cluster"
	"github.com/kindred-ml/kindred/mat"
)

// structured is the mean silhouette from which a split counts.
const structured = 0.5

// splits are the numbers of modes that are tried.
var splits = [...]int{2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32}

// modes returns the number of modes of the rows of x, given their distances, and
// the mean silhouette of the best split into more than one.
func modes(ctx context.Context, x *mat.Dense, d []float64, seed uint64) (n int, silhouette float64, err error) {
	if x.Rows < minForModes {
		return 0, 0, nil
	}
	n = 1
	best := math.Inf(-1)
	for _, k := range splits {
		if k > x.Rows/3 {
			break
		}
		r, err := cluster.KMeans(ctx, x, cluster.Config{K: k, Restarts: 3, Iterations: 50, Seed: seed})
		if err != nil {
			return 0, 0, err
		}
		if r.Empty > 0 {
			break // fewer distinct rows than clusters
		}
		if s := meanSilhouette(d, r.Assignment, k); s > best {
			best = s
			if s >= structured {
				n = k
			}
		}
	}
	return n, max(best, -1), nil
}

// meanSilhouette is the mean over items of (b - a) / max(a, b), a being the mean
// distance from the item's own cluster and b from the nearest other one; 0 for an
// item alone (Rousseeuw 1987).
func meanSilhouette(d []float64, assignment []int64, k int) float64 {
	n := len(assignment)
	size := make([]float64, k)
	for _, a := range assignment {
		size[a]++
	}
	sum := make([]float64, k)
	var total float64
	for i, own := range assignment {
		if size[own] < 2 {
			continue
		}
		clear(sum)
		for j, a := range assignment {
			sum[a] += d[i*n+j]
		}
		a, b := sum[own]/(size[own]-1), math.Inf(1)
		for c := range sum {
			if c != int(own) && size[c] > 0 {
				b = min(b, sum[c]/size[c])
			}
		}
		if m := max(a, b); m > 0 && !math.IsInf(m, 1) {
			total += (b - a) / m
		}
	}
	return total / float64(n)
}
