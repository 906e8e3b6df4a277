package clean

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/matrix"
)

// Outlier is an item unlike all others.
type Outlier struct {
	Item int
	// Score is 1 minus the false discovery rate at which it counts as odd.
	Score float64
	// DistanceRatio is its distance from its neighbours, divided by their distance from their own
	// neighbours.
	DistanceRatio float64
}

// The distance ratio of an odd item is at least clearly, even if the others' distances are very similar. If
// most distances are equal, as on a grid or among copies, it is at least minOddRatioEven, because the end of
// an evenly spaced line has a ratio of 1.6.
const (
	minOddRatio     = 1.5
	minOddRatioEven = 2
)

// FindOutliers finds rows of x that are far from their neighbours, relative to the neighbours' own distances.
// The measure is the mean distance to the k nearest rows, divided by the mean of the same over these
// neighbours (the idea of the local outlier factor, Breunig et al. 2000). The logarithm of this ratio is
// assumed to be normal with the observed median and median absolute deviation, or with the mean absolute
// deviation if the median one is 0 because most ratios are equal. The one-sided tail probabilities are
// adjusted for their number (Benjamini and Hochberg 1995). Outliers returns the rows with a false
// discovery rate of at most level and a ratio of at least 1.5, or 2 if most ratios are equal. The surest
// are first.
//
// k is at least 1 and less than the number of rows. 0 means 10, or all other rows if there are fewer.
func FindOutliers(ctx context.Context, x *matrix.Dense, k int, level float64) ([]Outlier, error) {
	if x == nil || x.Rows < 3 {
		return nil, nil
	}
	k = cmp.Or(k, min(10, x.Rows-1))
	if !(level > 0 && level < 1) {
		return nil, fmt.Errorf("the level of outliers is %g: must be above 0 and below 1", level)
	}
	nb, err := eval.Nearest(ctx, x, nil, k, eval.RankOptions{})
	if err != nil {
		return nil, err
	}
	far := make([]float64, x.Rows)
	for e, v := range nb.Value {
		far[e/k] += math.Sqrt(v) / float64(k)
	}
	times, logs := make([]float64, x.Rows), make([]float64, x.Rows)
	for i := range times {
		var theirs float64
		for _, j := range nb.Row[i*k : (i+1)*k] {
			theirs += far[j] / float64(k)
		}
		switch {
		case theirs > 0:
			times[i] = far[i] / theirs
		case far[i] == 0:
			times[i] = 1
		default: // beside copies of each other
			times[i] = math.MaxFloat64
		}
		logs[i] = math.Log(max(times[i], 1e-300))
	}
	middle := median(logs)
	off := make([]float64, len(logs))
	var mean float64
	for i, v := range logs {
		off[i] = math.Abs(v - middle)
		if times[i] < math.MaxFloat64 {
			mean += off[i] / float64(len(logs))
		}
	}
	// In units of a normal distribution's deviation (Iglewicz and Hoaglin 1993).
	sd := 1.4826 * median(off)
	clearly := minOddRatio
	if sd < 1e-9 {
		sd, clearly = 1.2533*mean+1e-9, minOddRatioEven
	}
	order := lists.Indices(len(logs))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(logs[b], logs[a]) })
	var out []Outlier
	n := float64(len(logs))
	rate := math.MaxFloat64 // the least rate so far
	for r := len(order) - 1; r >= 0; r-- {
		i := order[r]
		p := math.Erfc((logs[i]-middle)/sd/math.Sqrt2) / 2
		if rate = min(rate, p*n/float64(r+1)); rate <= level && times[i] >= clearly {
			out = append(out, Outlier{i, 1 - rate, times[i]})
		}
	}
	slices.Reverse(out)
	return out, nil
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// ClassOverlap is two classes that overlap.
type ClassOverlap struct {
	A, B int64
	// Mixing is the degree of overlap. It is 0 if no item's nearest neighbour among both classes is in
	// the other class, and 1 if neighbours are in the other class as often as by chance.
	Mixing float64
	// Low and High are the bounds of Mixing, at 95 %.
	Low, High float64
}

// FindOverlaps returns the pairs of classes whose mixing is at least least, the most mixed first. Mixing is the
// share of items whose nearest neighbour among both classes is of the other class, divided by the share
// for random labels, which is 2 n_a n_b / (n (n - 1)) (Schilling's and Henze's count of neighbours, for
// two samples). Low and High are the normal bounds of the share of n items.
//
// A pair of classes is examined if an item of one class has an item of the other among its k nearest. For
// k, 0 means 10, or all others if there are fewer.
func FindOverlaps(ctx context.Context, x *matrix.Dense, labels []int64, k int, least float64) ([]ClassOverlap, error) {
	if x == nil || x.Rows != len(labels) {
		return nil, errors.New("the numbers of labels and rows differ")
	}
	if x.Rows < 3 {
		return nil, nil
	}
	k = cmp.Or(k, min(10, x.Rows-1))
	nb, err := eval.Nearest(ctx, x, nil, k, eval.RankOptions{})
	if err != nil {
		return nil, err
	}
	y, ids := lists.Rank[int](labels)
	rows := lists.Places(y, len(ids))
	met := map[[2]int]bool{}
	for e, j := range nb.Row {
		a, b := y[e/k], y[j]
		if a != b {
			met[[2]int{min(a, b), max(a, b)}] = true
		}
	}
	var out []ClassOverlap
	for p := range met {
		a, b := rows[p[0]], rows[p[1]]
		n := float64(len(a) + len(b))
		if len(a) < 2 || len(b) < 2 {
			continue
		}
		both := x.RowsAt(slices.Concat(a, b))
		one, err := eval.Nearest(ctx, both, nil, 1, eval.RankOptions{})
		if err != nil {
			return nil, err
		}
		cross := 0.0
		for i, j := range one.Row {
			if (i < len(a)) != (int(j) < len(a)) {
				cross++
			}
		}
		chance := 2 * float64(len(a)) * float64(len(b)) / (n * (n - 1))
		share := cross / n
		sd := 1.96 * math.Sqrt(share*(1-share)/n)
		if m := share / chance; m >= least {
			out = append(out, ClassOverlap{ids[p[0]], ids[p[1]], m, max(share-sd, 0) / chance, (share + sd) / chance})
		}
	}
	slices.SortFunc(out, func(p, q ClassOverlap) int {
		return cmp.Or(cmp.Compare(q.Mixing, p.Mixing), cmp.Compare(p.A, q.A), cmp.Compare(p.B, q.B))
	})
	return out, nil
}
