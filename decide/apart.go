package decide

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/mat"
)

// Apart holds how near the classes of a gallery are to each other. Every item is a stranger to the
// other classes, so Apart shows if a calibration's promise about strangers fails for the gallery. That
// happens if the gallery's photos differ from those of the calibration, for example in the camera or the
// crop.
type Apart struct {
	Classes int `json:"classes"`
	// Near has the distances of items to the nearest item of another class, ascending, with the same
	// number of items of every class as far as possible.
	Near []float64 `json:"near"`
}

// mostApart is the approximate number of items that are measured.
const mostApart = 1000

// NewApart measures a gallery x (n x d). Items with an empty label are left out. Near is empty for fewer
// than two classes. It returns an error if labels do not fit or x has NaN, and ctx.Err(), wrapped.
func NewApart(ctx context.Context, x *mat.Dense, labels []string, by rank.Distance) (*Apart, error) {
	if len(labels) != x.Rows {
		return nil, fmt.Errorf("%d items with %d labels", x.Rows, len(labels))
	}
	number := make(map[string]int64)
	of := make(map[int64][]int)
	items, rows := Labelled{}, []int{}
	for i, l := range labels {
		if l == "" {
			continue
		}
		if _, ok := number[l]; !ok {
			number[l] = int64(len(number))
		}
		of[number[l]] = append(of[number[l]], len(rows))
		items.Labels, rows = append(items.Labels, number[l]), append(rows, i)
	}
	if len(number) < 2 {
		return &Apart{Classes: len(number)}, nil
	}
	if items.X = x; len(rows) < x.Rows {
		items.X = taken(x, rows)
	}
	var probes []int
	each := max(1, mostApart/len(number))
	step := max(1, len(number)/mostApart)
	for c := 0; c < len(number); c += step {
		mine := of[int64(c)]
		n := min(each, len(mine))
		for k := range n {
			probes = append(probes, mine[k*len(mine)/n])
		}
	}
	photos := Labelled{X: taken(items.X, probes)}
	for _, p := range probes {
		photos.Labels = append(photos.Labels, items.Labels[p])
	}
	if err := errors.Join(rank.Finite(items.X, "items"), by.Check()); err != nil {
		return nil, err
	}
	near, err := LookUpStrangers(ctx, photos, items, by)
	if err != nil {
		return nil, err
	}
	out := &Apart{Classes: (len(number) + step - 1) / step}
	for _, s := range near {
		out.Near = append(out.Near, s.Distance)
	}
	slices.Sort(out.Near)
	return out, nil
}

// share returns the share of the items with an item of another class within a distance.
func (a *Apart) share(distance float64) float64 {
	return float64(sort.Search(len(a.Near), func(i int) bool { return a.Near[i] > distance })) / float64(len(a.Near))
}

// drifted returns t, or another threshold if the gallery's own classes contradict t. They contradict it
// if more of the items than its rate have an item of another class within the distance, beyond what
// chance among the number of classes explains (Clopper and Pearson, one-sided at 95 %, where a class is
// one observation).
//
// The new distance is the largest one within which at most the rate of the gallery's own items have an
// item of another class. The bound is that of Clopper and Pearson.
func (a *Apart) drifted(t Threshold) Threshold {
	if a == nil || len(a.Near) == 0 || t.Rate == 0 {
		return t
	}
	n := float64(a.Classes)
	own := a.share(t.Distance)
	if k := own * n; own <= t.Rate || (distuv.Beta{Alpha: k, Beta: n - k + 1}).Quantile(1-Confidence) <= t.Rate {
		return t
	}
	i := int(t.Rate * float64(len(a.Near)))
	for i > 0 && a.Near[i-1] == a.Near[i] { // equal distances are accepted together
		i--
	}
	t.Drift = own
	if i == 0 {
		t.Distance = math.Nextafter(a.Near[0], math.Inf(-1))
	} else {
		t.Distance = a.Near[i-1]
	}
	t.Measured = a.share(t.Distance)
	t.Bound = 1
	if k := t.Measured * n; k < n {
		t.Bound = distuv.Beta{Alpha: k + 1, Beta: n - k}.Quantile(Confidence)
	}
	return t
}
