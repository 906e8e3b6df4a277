package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/matrix"
)

// Pair is two rows of a matrix of embeddings, and whether they are of one class.
type Pair struct {
	A, B int
	Same bool
	// Fold is the part of the list that the pair is in, from 0; see Listed.Accuracy.
	Fold int
}

// PairList is a list of pairs with their distances. It does not change.
type PairList struct {
	*Counts
	pairs []Pair
	keys  []key // of each pair
	folds int
	rows  int
}

// CompareList computes the distance of each pair of rows of x. A pair that is listed twice counts twice.
//
// It returns an error if the distance is unknown, if a row is not finite, or if a pair names a row that
// does not exist. It returns ErrNoGenuine or ErrNoImpostor without pairs of a kind, and ctx.Err(),
// wrapped, once ctx is done.
func CompareList(ctx context.Context, x *matrix.Dense, pairs []Pair, opt CompareOptions) (*PairList, error) {
	if err := opt.Distance.Check(); err != nil {
		return nil, err
	}
	if x == nil || x.Rows == 0 {
		return nil, errors.New("no embeddings")
	}
	if err := exact.CheckFinite(x, "query"); err != nil {
		return nil, err
	}
	l := &PairList{Counts: &Counts{keyScale: newKeyScale(x, x, opt.Distance)}, pairs: pairs,
		keys: make([]key, len(pairs)),
		rows: x.Rows}
	for n, p := range pairs {
		if p.A < 0 || p.A >= x.Rows || p.B < 0 || p.B >= x.Rows || p.Fold < 0 {
			return nil, fmt.Errorf("pair %d has rows %d and %d of %d rows, in fold %d", n, p.A, p.B, x.Rows, p.Fold)
		}
		l.folds = max(l.folds, p.Fold+1)
	}
	distance, distances := DistanceFunc(x, x, opt.Distance), make([]float64, len(pairs))
	err := par.ForContext(ctx, len(pairs), 256, func(lo, hi int) {
		for n := lo; n < hi; n++ {
			d := distance(pairs[n].A, pairs[n].B)
			l.keys[n], distances[n] = l.roundUp(d), d-l.zero
		}
	})
	if err != nil {
		return nil, fmt.Errorf("comparing %d pairs: %w", len(pairs), err)
	}
	l.Counts = l.countWhere(func(Pair) bool { return true })
	var kinds [2][]float64
	for n, p := range pairs {
		kind := 0
		if p.Same {
			kind = 1
		}
		kinds[kind] = append(kinds[kind], distances[n])
	}
	l.area = exactAUC(kinds[1], kinds[0])
	return l, l.check()
}

// countWhere counts the pairs for which some returns true.
func (l *PairList) countWhere(some func(Pair) bool) *Counts {
	var order []int
	for n, p := range l.pairs {
		if some(p) {
			order = append(order, n)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return int(l.keys[a]) - int(l.keys[b]) })
	c := &Counts{keyScale: l.keyScale}
	for at := 0; at < len(order); {
		k := l.keys[order[at]]
		var genuine, impostor int64
		for ; at < len(order) && l.keys[order[at]] == k; at++ {
			if l.pairs[order[at]].Same {
				genuine++
			} else {
				impostor++
			}
		}
		c.add(k, genuine, impostor)
	}
	return c
}

// NumFolds returns the number of parts of the list: one more than the largest Fold.
func (l *PairList) NumFolds() int { return l.folds }

// Accuracy returns the share of correct decisions by a threshold, cross-validated as in LFW (Huang et
// al. 2007). The pairs of each fold are decided by the threshold with the most correct decisions on the
// other folds, or the lowest of several. Accuracy returns the mean over the folds and its standard
// error: the standard deviation (divisor n - 1) over the square root of the number of folds. Folds
// without pairs do not count. At least two folds must have pairs.
func (l *PairList) Accuracy() (mean, standardError float64, err error) {
	var shares []float64
	for f := range l.folds {
		here := l.countWhere(func(p Pair) bool { return p.Fold == f })
		others := l.countWhere(func(p Pair) bool { return p.Fold != f })
		if len(here.keys) == 0 {
			continue
		}
		if len(others.keys) == 0 {
			return 0, 0, errors.New("the accuracy of a list needs two folds or more, because each fold is decided " +
				"by the threshold of the " +
				"others")
		}
		threshold, _ := others.bestThreshold()
		g, i := here.pairsUpTo(here.numDistances(threshold))
		last := len(here.keys) - 1
		shares = append(shares, float64(g+here.impostor[last]-i)/float64(here.genuine[last]+here.impostor[last]))
	}
	for _, s := range shares {
		mean += s / float64(len(shares))
	}
	var square float64
	for _, s := range shares {
		square += (s - mean) * (s - mean)
	}
	n := float64(len(shares))
	return mean, math.Sqrt(square / (n - 1) / n), nil
}

// bestThreshold returns the lowest threshold with the most correct decisions, and how many more these are
// than with a threshold that accepts nothing.
func (c *Counts) bestThreshold() (threshold key, more int64) {
	threshold = c.keys[0] - 1
	for n, k := range c.keys {
		if m := c.genuine[n] - c.impostor[n]; m > more {
			threshold, more = k, m
		}
	}
	return threshold, more
}

// Resample is ResamplePairs for a list. Items that genuine pairs join, directly or through others, are
// one identity. Every other item is a separate identity. An impostor pair whose items other pairs join
// counts with its identity.
func (l *PairList) Resample(ctx context.Context, metrics []Metric, b Bootstrap) ([][]float64, error) {
	if err := checkResamplable(metrics); err != nil {
		return nil, err
	}
	identity := l.identities()
	used := make([]int64, 0, 2*len(l.pairs))
	for _, p := range l.pairs {
		used = append(used, identity[p.A], identity[p.B])
	}
	groups, _, n := assignGroups(used, nil, b.Seed)
	cells := newGroupCells(l.resamplingThresholds(metrics), n)
	here := make([]int64, len(cells.levels)+1)
	for i, p := range l.pairs {
		here[cells.intervalOf(l.keys[i])]++
		cells.addPairs(groups[2*i], groups[2*i+1], p.Same, here)
	}
	return cells.resample(ctx, l.Counts, metrics, b)
}

// identities returns the identity of each row, named by its lowest row.
func (l *PairList) identities() []int64 {
	parent := make([]int64, l.rows)
	for i := range parent {
		parent[i] = int64(i)
	}
	root := func(i int) int64 {
		r := int64(i)
		for parent[r] != r {
			parent[r] = parent[parent[r]]
			r = parent[r]
		}
		return r
	}
	for _, p := range l.pairs {
		if p.Same {
			a, b := root(p.A), root(p.B)
			parent[max(a, b)] = min(a, b)
		}
	}
	for i := range parent {
		parent[i] = root(i)
	}
	return parent
}
