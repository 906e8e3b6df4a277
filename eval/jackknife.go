package eval

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/compute/groups"
	"github.com/kindred-ml/kindred/matrix"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// maxParts is the largest number of parts that are left out in turn. More classes are dealt into this
// number of parts.
const maxParts = 20

// minIntervalClasses is the least number of classes for an interval by classes. With two classes, leaving one
// out leaves queries without an impostor.
const minIntervalClasses = 3

// classPartition assigns classes to parts that are left out together.
type classPartition struct {
	partOf    map[int64]int // part of each class
	numParts  int
	numGroups int // number of groups of look-alike classes; a group is in one part
}

// partitionClasses deals the classes of a column into parts, by the seed. Classes of a group are in one part. The
// classes are those of queries and gallery, because an item of a class without queries is an impostor
// too.
func partitionClasses(ctx context.Context, queries Set, gallery *Set, column int, distance Distance,
	seed uint64) (*classPartition, error) {
	sets := []Set{queries}
	if gallery != nil {
		sets = append(sets, *gallery)
	}
	var classes []int64
	for _, s := range sets {
		classes = append(classes, s.Labels[column]...)
	}
	slices.Sort(classes)
	classes = slices.Compact(classes)
	unit, err := groups.Find(ctx, len(classes), queries.X.Cols, func(add func(class int, row []float32)) {
		for _, s := range sets {
			rows := s.X
			if distance == Cosine {
				rows = NormalizeRows(rows)
			}
			for i, y := range s.Labels[column] {
				c, _ := slices.BinarySearch(classes, y)
				add(c, rows.Row(i))
			}
		}
	}, seed)
	if err != nil {
		return nil, err
	}
	out := &classPartition{partOf: make(map[int64]int, len(classes))}
	if unit == nil {
		unit = make([]int, len(classes))
		for c := range unit {
			unit[c] = c
		}
	} else {
		for _, size := range groups.Sizes(unit) {
			if size > 1 {
				out.numGroups++
			}
		}
	}
	order := rand.New(rand.NewPCG(seed, 1)).Perm(slices.Max(unit) + 1)
	out.numParts = min(len(order), maxParts)
	for c, y := range classes {
		out.partOf[y] = order[unit[c]] % out.numParts
	}
	return out, nil
}

// withoutPart returns a set without the classes of a part, with only one column of labels.
func withoutPart(s Set, column int, of map[int64]int, part int) (rest Set, rows []int) {
	for i, y := range s.Labels[column] {
		if of[y] != part {
			rows = append(rows, i)
		}
	}
	out := Set{X: matrix.New(len(rows), s.X.Cols), Labels: [][]int64{make([]int64, len(rows))}}
	for r, i := range rows {
		copy(out.X.Row(r), s.X.Row(i))
		out.Labels[0][r] = s.Labels[column][i]
	}
	return out, rows
}

// addClassIntervals adds the intervals by classes to values. Each part of the classes is left out of queries and
// gallery in turn, and the rest is ranked again. The variance is that of the jackknife (Tukey 1958), so
// that it includes the contribution of the gallery's classes. The interval is that of Clopper and
// Pearson for the number of independent queries with that variance, reduced by the quantile of Student's
// t for the number of parts (Korn and Graubard 1998).
func (t *queryMeasures) addClassIntervals(ctx context.Context, queries Set, gallery *Set, column int,
	opt RankOptions, cfg Config,
	confidence float64, values []Value) error {
	dealt, err := partitionClasses(ctx, queries, gallery, column, opt.Distance, cfg.Seed)
	if err != nil {
		return err
	}
	of, n := dealt.partOf, dealt.numParts
	var means [][]float64
	for part := range n {
		if n < minIntervalClasses {
			break
		}
		rest, kept := withoutPart(queries, column, of, part)
		var items *Set
		others := rest.X.Rows - 1
		if gallery != nil {
			g, rows := withoutPart(*gallery, column, of, part)
			opt.SelfRows = restrictSelfRows(cfg.SelfRows, kept, rows)
			items, others = &g, exact.Self{Item: opt.SelfRows}.MaxOthers(g.X.Rows)
		}
		if rest.X.Rows == 0 || others < 1 {
			continue
		}
		left := newQueryMeasures(t.metrics, rest.Labels[0], others, false)
		if err := RankPositives(ctx, rest, items, opt, left.add); err != nil {
			return fmt.Errorf("ranking without part %d of %d of the classes: %w", part+1, n, err)
		}
		if left.queries > 0 {
			means = append(means, left.means())
		}
		if cfg.Progress != nil {
			cfg.Progress("leaving classes out", float64(part+1)/float64(n))
		}
	}
	for k := range t.metrics {
		// With fewer classes nothing is known.
		values[k].ByClass = &Interval{High: 1, Confidence: confidence, Groups: dealt.numGroups}
		if len(means) >= minIntervalClasses && len(means) == n {
			low, high := shareInterval(values[k].Value, jackknifeVariance(means, k), float64(t.queries),
				degreesOfFreedom(means, k),
				confidence)
			values[k].ByClass.Low, values[k].ByClass.High = low, high
		}
	}
	return nil
}

// jackknifeVariance returns the variance of measure k from its means without each part.
func jackknifeVariance(means [][]float64, k int) (variance float64) {
	var all distanceMoments
	for _, m := range means {
		all.add(m[k], 1)
	}
	return all.square * (all.n - 1) / all.n
}

// degreesOfFreedom returns the degrees of freedom of the jackknife's variance: one less than the number of parts,
// and fewer if a few parts have most of the variance (Satterthwaite 1946; with the fourth moment of a
// normal distribution none are lost).
func degreesOfFreedom(means [][]float64, k int) float64 {
	n := float64(len(means))
	var mean, square, fourth float64
	for _, m := range means {
		mean += m[k] / n
	}
	for _, m := range means {
		d := (m[k] - mean) * (m[k] - mean)
		square, fourth = square+d, fourth+d*d
	}
	if fourth == 0 {
		return n - 1
	}
	return max(1, min(n-1, 3*square*square/fourth-1))
}

// shareInterval returns the interval of a share, given its variance, the degrees of freedom of the
// variance, and the largest number of queries.
func shareInterval(value, variance, queries, degrees, confidence float64) (low, high float64) {
	tail := (1 - confidence) / 2
	n := queries
	if variance > 0 && value > 0 && value < 1 {
		n = min(n, value*(1-value)/variance)
	}
	ratio := distuv.UnitNormal.Quantile(tail) / distuv.StudentsT{Sigma: 1, Nu: degrees}.Quantile(tail)
	n *= ratio * ratio
	hits := value * n
	low, high = 0, 1
	if hits > 0 {
		low = mathext.InvRegIncBeta(hits, n-hits+1, tail)
	}
	if hits < n {
		high = mathext.InvRegIncBeta(hits+1, n-hits, 1-tail)
	}
	return low, high
}

// intervalNote explains what the intervals of retrieval cover.
const intervalNote = "intervals by classes cover sets of as many new classes, drawn alike for queries and gallery; " +
	"intervals by queries cover other queries of these classes with this gallery"
