package discover

import (
	"context"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/internal/compute/ward"
	"github.com/kindred-ml/kindred/matrix"
)

// silhouettes scores every cut of an agglomeration into 2 to most groups (Rousseeuw 1987). score[k] is the mean
// over rows of (b - a) / max(a, b), where a is the mean distance from the row's own group and b that from the
// nearest other group. It is 0 for a row alone. d has the n x n distances. score[0] and score[1] are 0.
//
// It goes from many groups to few and keeps each row's sum of distances to each group, so that all cuts together
// take time proportional to n (n + most^2).
func silhouettes(ctx context.Context, d *matrix.Dense, merges []ward.Merge, most int) ([]float64, error) {
	n := d.Rows
	most = min(most, n)
	score := make([]float64, max(most, 1)+1)
	if most < 2 {
		return score, nil
	}
	group := ward.Cut(merges, n, most)
	size := make([]float64, most)
	sum := make([][]float64, most) // sums of the distances from every row to each group
	for g := range sum {
		sum[g] = make([]float64, n)
	}
	for i, g := range group {
		size[g]++
		to := sum[g]
		for j, v := range d.Row(i) {
			to[j] += float64(v)
		}
	}
	alive := lists.Indices(most)
	nearest := make([]float64, n) // the least mean distance to another group
	own := make([]float64, n)
	for k := most; k >= 2; k-- {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i := range nearest {
			nearest[i], own[i] = math.Inf(1), 0
		}
		for _, g := range alive {
			for i, s := range sum[g] {
				if group[i] == g {
					own[i] = s / max(size[g]-1, 1)
				} else {
					nearest[i] = min(nearest[i], s/size[g])
				}
			}
		}
		var total float64
		for i, b := range nearest {
			if m := max(own[i], b); size[group[i]] > 1 && m > 0 {
				total += (b - own[i]) / m
			}
		}
		score[k] = total / float64(n)
		// m is the merge that leads to k - 1 groups.
		m := merges[n-k]
		a, b := group[m.A], group[m.B]
		for i, v := range sum[b] {
			sum[a][i] += v
			if group[i] == b {
				group[i] = a
			}
		}
		size[a] += size[b]
		alive = slices.DeleteFunc(alive, func(g int) bool { return g == b })
	}
	return score, nil
}

// meanSilhouette returns the silhouette of a division into n groups.
func meanSilhouette(d *matrix.Dense, group []int, n int) float64 {
	size, sum := make([]float64, n), make([]float64, n)
	for _, g := range group {
		size[g]++
	}
	var total float64
	for i, own := range group {
		clear(sum)
		for j, v := range d.Row(i) {
			sum[group[j]] += float64(v)
		}
		a, b := sum[own]/max(size[own]-1, 1), math.Inf(1)
		for g, s := range sum {
			if g != own {
				b = min(b, s/size[g])
			}
		}
		if m := max(a, b); size[own] > 1 && m > 0 && !math.IsInf(b, 1) {
			total += (b - a) / m
		}
	}
	return total / float64(len(group))
}
