package discover

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/kindred-ml/kindred/internal/compute/ward"
	"github.com/kindred-ml/kindred/matrix"
)

// minGroupRows is the least number of rows of a group that counts.
const minGroupRows = 4

// Rows are dealt into folds, and each fold is held out once. With ten folds, sub-classes of five rows keep four
// rows when one is held out. Rows are dealt several times, because a single deal depends on chance.
const (
	folds      = 10
	partitions = 2
)

// gaps counts the rows between the groups of a class and at the groups' ends, in windows of the number of
// groups in Ward's agglomeration: 3 or 4 groups, then up to 8, 16, 32 and 64. The dip test covers the division
// into two.
type gaps [windows]struct{ middle, side float64 }

const windows = 5

// evidence holds the evidence for gaps in a class.
type evidence struct {
	gaps gaps
	// dip is the dip along the line of the first division, and rows the number of rows on it.
	dip, rows float64
}

// pValue returns the smaller of the probabilities of the dip and of the gaps, doubled if there are both.
func (e *evidence) pValue() float64 {
	p := dipPValue(e.dip, int(e.rows+0.5))
	if e.gaps == (gaps{}) {
		return p
	}
	return min(1, 2*min(p, e.gaps.pValue()))
}

// add adds up the counts of two classes.
func (g *gaps) add(o gaps) {
	for w := range g {
		g[w].middle += o[w].middle
		g[w].side += o[w].side
	}
}

// pValue returns the probability of so few rows in the middle for any distribution with a single mode. Under a single
// mode, at least half of the rows in the middle and at the thinner end are in the middle. The probability is
// binomial, with Bonferroni's correction for the windows that have rows. It is continuous in the counts, which
// may be fractions.
func (g *gaps) pValue() float64 {
	p, used := 1.0, 0.0
	for _, c := range g {
		if c.middle+c.side > 0 {
			used++
			if c.side > 0 {
				p = min(p, mathext.RegIncBeta(c.side, c.middle+1, 0.5))
			}
		}
	}
	return min(1, p*max(used, 1))
}

// findGaps returns the mean evidence of several deals, which varies less than a single deal. Its small
// probabilities are conservative.
func findGaps(ctx context.Context, y *matrix.Dense, rng *rand.Rand) (out evidence, err error) {
	for range partitions {
		e, err := findGapsOnce(ctx, y, rng)
		if err != nil {
			return out, err
		}
		out.gaps.add(e.gaps)
		out.dip += e.dip * e.rows
		out.rows += e.rows
	}
	for w := range out.gaps {
		out.gaps[w].middle /= partitions
		out.gaps[w].side /= partitions
	}
	out.dip /= max(out.rows, 1)
	out.rows /= partitions
	return out, nil
}

// firstWindow is the largest number of groups in the first window. Each further window goes to twice as many.
const firstWindow = 4

// maxDivisions returns the largest number of groups for n rows, such that each has few rows and there are enough
// windows.
func maxDivisions(n int) int { return min(n*(folds-1)/folds/minGroupRows, firstWindow<<(windows-1)) }

// findGapsOnce searches gaps between rows. It goes through Ward's agglomeration of nine tenths of the rows from
// above. Every group is divided into two, and the held-out rows that are nearest to that group are counted along
// the line through the two middles, which are at 0 and 1. A distribution with a single mode is at least as dense
// from 1/3 to 2/3 as around one of the ends, from -1/6 to 1/6 or from 5/6 to 7/6. Most are much denser. Heavy
// tails, skewness and outliers have no influence. Along the first line all held-out rows are used; see firstDivision.
func findGapsOnce(ctx context.Context, y *matrix.Dense, rng *rand.Rand) (out evidence, err error) {
	most := maxDivisions(y.Rows)
	if most < 2 {
		return out, nil
	}
	order := rng.Perm(y.Rows)
	var seen [folds][]division
	first := firstDivision{middle: geometricMedian(y)}
	for f := range folds {
		var held, rest []int
		for k, i := range order {
			if k%folds == f {
				held = append(held, i)
			} else {
				rest = append(rest, i)
			}
		}
		slices.Sort(held)
		slices.Sort(rest)
		known, asked := y.RowsAt(rest), y.RowsAt(held)
		merges, err := ward.Tree(ctx, ward.Squared(known))
		if err != nil {
			return out, err
		}
		first.add(known, merges, most, asked)
		seen[f] = make([]division, most+1)
		for k := 3; k <= most; k++ {
			if err := ctx.Err(); err != nil {
				return out, err
			}
			seen[f][k] = divideGroup(known, merges, k, asked)
		}
	}
	w, last := 0, firstWindow
	for k := 3; k <= most; k++ {
		if k > last {
			w, last = w+1, 2*last
		}
		m, s := countRows(&seen, k)
		out.gaps[w].middle += m
		out.gaps[w].side += s
	}
	out.dip, out.rows = dipStatistic(first.positions), float64(len(first.positions))
	return out, nil
}

// division is the division of a group into two. It has the places of the held-out rows on the line from the
// middle of the larger part to that of the smaller one, by the nearer end, and whether fewer of the divided rows
// are around the first end.
type division struct {
	positions [2][]float64
	first     bool
}

// divideGroup returns the division that turns k - 1 groups of known into k.
func divideGroup(known *matrix.Dense, merges []ward.Merge, k int, asked *matrix.Dense) (out division) {
	above, below := ward.Cut(merges, known.Rows, k-1), ward.Cut(merges, known.Rows, k)
	m := merges[known.Rows-k]
	ends, size := groupMeans(known, below, k)
	a, b := below[m.A], below[m.B]
	if size[a] < size[b] {
		a, b = b, a
	}
	if size[b] < minGroupRows {
		return out
	}
	line := newLine(ends.Row(a), ends.Row(b))
	line.turnToDiscriminant(residuals(known, below, ends, a, b))
	if own := line.project(known, above, above[m.A]); len(own[0]) > 0 && len(own[1]) > 0 {
		l, _, r := countThirds(own, median(own[0]), median(own[1]))
		out.first = l < r
	}
	centre, _ := groupMeans(known, above, k-1)
	out.positions = line.project(asked, assignToNearest(asked, centre), above[m.A])
	return out
}

// countRows counts the rows in the middle of the divisions into k groups, and the rows at the end with fewer rows. The
// divided rows show which end that is. The ends are placed by the held-out rows of the other folds, because
// groups look farther apart to the divided rows, and a row that places an end would be counted there.
func countRows(seen *[folds][]division, k int) (middle, side float64) {
	for fold := range folds {
		var ends [2][]float64
		for f := range folds {
			if f != fold {
				for e, list := range seen[f][k].positions {
					ends[e] = append(ends[e], list...)
				}
			}
		}
		if len(ends[0]) == 0 || len(ends[1]) == 0 {
			continue
		}
		left, mid, right := countThirds(seen[fold][k].positions, median(ends[0]), median(ends[1]))
		middle += mid
		if seen[fold][k].first {
			side += left
		} else {
			side += right
		}
	}
	return middle, side
}

// countThirds returns the numbers of places around from, in the middle, and around to.
func countThirds(places [2][]float64, from, to float64) (left, middle, right float64) {
	for _, list := range places {
		for _, t := range list {
			switch t = (t - from) / (to - from); {
			case t >= -1./6 && t <= 1./6:
				left++
			case t > 1./3 && t < 2./3:
				middle++
			case t >= 5./6 && t <= 7./6:
				right++
			}
		}
	}
	return left, middle, right
}

// line is the line through two points, which are at 0 and 1.
type line struct {
	from, direction []float32
	square          float64
}

func newLine(a, b []float32) *line {
	l := &line{from: a, direction: make([]float32, len(a))}
	for j := range a {
		l.direction[j] = b[j] - a[j]
		l.square += float64(l.direction[j]) * float64(l.direction[j])
	}
	l.square = max(l.square, math.SmallestNonzeroFloat64)
	return l
}

// project returns the places of the rows of a group on the line: those nearer to 0 and those nearer to 1.
func (l *line) project(x *matrix.Dense, group []int, of int) (out [2][]float64) {
	for i, g := range group {
		if g != of {
			continue
		}
		var sum float64
		for j, v := range x.Row(i) {
			sum += (float64(v) - float64(l.from[j])) * float64(l.direction[j])
		}
		t, end := sum/l.square, 0
		if t >= 0.5 {
			end = 1
		}
		out[end] = append(out[end], t)
	}
	return out
}

// groupMeans returns the means of n groups and their sizes.
func groupMeans(x *matrix.Dense, group []int, n int) (*matrix.Dense, []int) {
	sum, size := make([]float64, n*x.Cols), make([]int, n)
	for i, g := range group {
		size[g]++
		for j, v := range x.Row(i) {
			sum[g*x.Cols+j] += float64(v)
		}
	}
	out := matrix.New(n, x.Cols)
	for g, s := range size {
		for j := range x.Cols {
			out.Row(g)[j] = float32(sum[g*x.Cols+j] / float64(max(s, 1)))
		}
	}
	return out, size
}

// assignToNearest returns the nearest centre to each row of x.
func assignToNearest(x, centre *matrix.Dense) []int {
	d := matrix.New(x.Rows, centre.Rows)
	matrix.SquaredDistances(x, centre, d)
	out := make([]int, x.Rows)
	for i := range out {
		for g, v := range d.Row(i) {
			if v < d.Row(i)[out[i]] {
				out[i] = g
			}
		}
	}
	return out
}
