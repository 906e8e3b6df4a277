package clean

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/matrix"
)

// Limits of groups of failed photos.
const (
	MinFailedClasses  = 3 // least number of classes of a group
	MinFailedPhotos   = 4 // least number of photos of a group
	maxFailedDistance = 0.25
	maxFailedLinks    = 15 // nearest photos that may be linked to a photo
)

// FindFailedPhotos returns the rows of failed photos, ascending: photos that are nearly the same whatever
// their class, such as of a lens cap or black frames. They are groups of at least MinFailedPhotos photos of
// at least MinFailedClasses classes, linked by distances of at most a quarter of the usual one within a
// class. The usual distance is the median, over the classes, of the median distance of two photos of a
// class. Each photo of a group has MinFailedPhotos - 1 links.
//
// No class has more than three quarters of a group. Classes that have more than half of their photos in groups are
// one thing under several names, not failed photos: a group where most photos are of such classes does not count.
// Nor does a group if most of its photos have another photo of their class at half of the usual distance.
func FindFailedPhotos(ctx context.Context, x *matrix.Dense, labels []int64, distance eval.Distance) ([]int, error) {
	if x == nil || x.Rows != len(labels) {
		return nil, errors.New("the numbers of labels and rows differ")
	}
	reach, apart := maxFailedDistance, 2.0
	switch distance {
	case eval.Cosine: // it grows with the square of the angle
		reach, apart = reach*reach, apart*apart
	case eval.Dot: // products have no scale
		distance = eval.Euclidean
	}
	y, ids := lists.Rank[int](labels)
	if len(ids) < MinFailedClasses || x.Rows < MinFailedPhotos {
		return nil, nil
	}
	k := min(maxFailedLinks, x.Rows-1)
	nb, err := eval.Nearest(ctx, x, nil, k, eval.RankOptions{Distance: distance})
	if err != nil {
		return nil, err
	}
	usual, err := medianClassDistance(ctx, x, y, len(ids), distance)
	if err != nil {
		return nil, err
	}
	linked := func(e int) bool { return distance.FromValue(nb.Value[e]) <= reach*usual }
	group := make([]int, x.Rows) // -1 without enough links
	for i := range group {
		if group[i] = i; !linked(i*k + MinFailedPhotos - 2) {
			group[i] = -1
		}
	}
	root := func(i int) int {
		for group[i] != i {
			group[i] = group[group[i]]
			i = group[i]
		}
		return i
	}
	for e, j := range nb.Row {
		if i := e / k; group[i] >= 0 && group[j] >= 0 && linked(e) {
			group[root(i)] = root(int(j))
		}
	}
	groups := map[int][]int{}
	for i, g := range group {
		if g >= 0 {
			groups[root(i)] = append(groups[root(i)], i)
		}
	}
	of := lists.Places(y, len(ids))
	var out []int
	for _, rows := range mixedGroups(groups, y, of) {
		near := 0
		for _, i := range rows {
			others := slices.DeleteFunc(slices.Clone(of[y[i]]), func(j int) bool { return slices.Contains(rows, j) })
			if len(others) == 0 {
				continue
			}
			nb, err := eval.Nearest(ctx, x.RowsAt([]int{i}), x.RowsAt(others), 1,
				eval.RankOptions{Distance: distance})
			if err != nil {
				return nil, err
			}
			if distance.FromValue(nb.Value[0]) <= reach*usual*apart {
				near++
			}
		}
		if 2*near <= len(rows) {
			out = append(out, rows...)
		}
	}
	slices.Sort(out)
	return out, nil
}

// mixedGroups returns the groups of photos of many classes that are not classes under several names. of has the rows of
// each class.
func mixedGroups(groups map[int][]int, y []int, of [][]int) (out [][]int) {
	in := make([]int, len(of))
	for g, rows := range groups {
		count, most := lists.Count(lists.At(y, rows)), 0
		for _, n := range count {
			most = max(most, n)
		}
		if len(rows) < MinFailedPhotos || len(count) < MinFailedClasses || 4*most > 3*len(rows) {
			delete(groups, g)
			continue
		}
		for c, n := range count {
			in[c] += n
		}
	}
	for _, rows := range groups {
		named := 0
		for _, i := range rows {
			if 2*in[y[i]] > len(of[y[i]]) {
				named++
			}
		}
		if 2*named <= len(rows) {
			out = append(out, rows)
		}
	}
	return out
}

// medianClassDistance returns the median, over the classes with two photos or more, of the median distance
// of two photos. Of large classes it compares every so many.
func medianClassDistance(ctx context.Context, x *matrix.Dense, y []int, classes int, distance eval.Distance) (float64,
	error) {
	const compared = 30
	var usual []float64
	for _, of := range lists.Places(y, classes) {
		if len(of) < 2 {
			continue
		}
		some := make([]int, min(len(of), compared))
		for k := range some {
			some[k] = of[k*len(of)/len(some)]
		}
		nb, err := eval.Nearest(ctx, x.RowsAt(some), nil, len(some)-1, eval.RankOptions{Distance: distance})
		if err != nil {
			return 0, err
		}
		usual = append(usual, distance.FromValue(median(nb.Value)))
	}
	if len(usual) == 0 {
		return math.Inf(-1), nil
	}
	return median(usual), nil
}
