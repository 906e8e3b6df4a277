package discover

import (
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/internal/compute/ward"
	"github.com/kindred-ml/kindred/matrix"
)

const (
	// halvings is the number of times that the rows are dealt into two halves for chains.
	halvings = 10
)

// facingCounts is the number of rows on each side of a joint whose distances are averaged, at most a third
// of a side. One row sees a narrow gap between few rows, and several rows see the gap that single rows
// between two kinds hide.
var facingCounts = [2]int{1, 5}

// chains counts isolated rows in windows of the number of groups: 2 groups, then 3 or 4, up to 8, 16, 32 and 64.
type chains [windows + 1][len(facingCounts)]float64

// chainProbability returns the probability that a class without a gap along it has parts as isolated, however the class
// bends. The lines of gaps.go cut across a class: halves of an arc or of a helix look apart on them, but a chain
// of near rows joins them. The class is compared with lines of as many rows. The window of k groups has lines with
// k dense places. Bonferroni's correction is for the windows and the two numbers of facing rows.
func chainProbability(ctx context.Context, y *matrix.Dense, rng *rand.Rand) (float64, error) {
	c, err := measureIsolation(ctx, y, rng)
	p, used := 1.0, 0.0
	for w := range c {
		for f, rows := range c[w] {
			if rows > 0 && (f == 0 || rows != c[w][0]) {
				used++
				p = min(p, linesPValue(rows, lineKey{y.Rows, w}, f))
			}
		}
	}
	return min(1, p*max(used, 1)), err
}

// measureIsolation deals the rows into halves. Ward's tree of one half divides the rows of the other half.
// Each division counts the rows of the more isolated of its two parts; see isolated. A part must be isolated
// from all other rows, because neighbouring turns of a helix can be the parts of one division.
func measureIsolation(ctx context.Context, y *matrix.Dense, rng *rand.Rand) (out chains, err error) {
	for range halvings {
		order := rng.Perm(y.Rows)
		middle := y.Rows / 2
		for _, halves := range [2][2][]int{{order[:middle], order[middle:]}, {order[middle:], order[:middle]}} {
			known, asked := y.RowsAt(halves[0]), y.RowsAt(halves[1])
			merges, err := ward.Tree(ctx, ward.Squared(known))
			if err != nil {
				return out, err
			}
			d, group := ward.Squared(asked), make([]int, asked.Rows)
			was := make([]int, known.Rows) // groups by the numbers of the division in which they arose
			for k := 2; k <= maxParts(known.Rows); k++ {
				below, m := ward.Cut(merges, known.Rows, k), merges[known.Rows-k]
				centre, size := groupMeans(known, below, k)
				a, b := below[m.A], below[m.B]
				from := was[m.A]
				for i, g := range below {
					if g == b {
						was[i] = k
					}
				}
				ends := matrix.New(2, y.Cols)
				copy(ends.Row(0), centre.Row(a))
				copy(ends.Row(1), centre.Row(b))
				for i, e := range assignToNearest(asked, ends) {
					if group[i] == from && e == 1 {
						group[i] = k
					}
				}
				if min(size[a], size[b]) >= minPartRows(known.Rows) {
					one, two := countIsolated(d, group, from), countIsolated(d, group, k)
					for f := range facingCounts {
						out[windowOf(k)][f] += max(one[f], two[f]) / (2 * halvings)
					}
				}
			}
		}
	}
	return out, nil
}

// windowOf returns the window of k groups.
func windowOf(k int) int { return bits.Len(uint(k-1)) - 1 }

// maxParts returns the largest number of groups of n rows, and minPartRows the least number of rows of a part.
func maxParts(n int) int    { return max(2, min(n/minGroupRows, firstWindow<<(windows-1))) }
func minPartRows(n int) int { return max(2, min(minGroupRows-1, n/3)) }

// numFacing returns the number of facing rows of a part of n rows and the m other rows.
func numFacing(most, n, m int) int { return max(1, min(most, min(n, m)/3)) }

// countIsolated counts the rows that are nearer to their side of a joint than the sides are to each other. The joint is
// between a group and all other rows, where these are nearest to each other. d has the squared distances. A side
// is a few rows of the group, or of the others, that are nearest to the other end of the joint.
func countIsolated(d *matrix.Dense, group []int, of int) (count [len(facingCounts)]float64) {
	var sides [2][]int
	for i, g := range group {
		if g == of {
			sides[0] = append(sides[0], i)
		} else {
			sides[1] = append(sides[1], i)
		}
	}
	if min(len(sides[0]), len(sides[1])) < 2 {
		return count
	}
	ends := [2]int{sides[0][0], sides[1][0]}
	least := float32(math.Inf(1))
	for _, i := range sides[0] {
		row := d.Row(i)
		for _, j := range sides[1] {
			if row[j] < least {
				least, ends = row[j], [2]int{i, j}
			}
		}
	}
	for f, most := range facingCounts {
		n := numFacing(most, len(sides[0]), len(sides[1]))
		near := [2][]int{nearestRows(d.Row(ends[1]), sides[0], n), nearestRows(d.Row(ends[0]), sides[1], n)}
		across := meanSquare(d, near[0], near[1])
		for s, side := range sides {
			for _, i := range side {
				within := meanSquare(d, []int{i}, near[s])
				if n > 1 && slices.Contains(near[s], i) {
					within *= float64(n) / float64(n-1) // the row itself is at a distance of 0
				}
				if within < across {
					count[f]++
				}
			}
		}
	}
	return count
}

// nearestRows returns the n rows with the least distances d, in ascending order of these.
func nearestRows(d []float32, rows []int, n int) []int {
	out := make([]int, 0, n+1)
	for _, i := range rows {
		if len(out) == n && d[i] >= d[out[n-1]] {
			continue
		}
		at := len(out)
		for at > 0 && d[i] < d[out[at-1]] {
			at--
		}
		out = slices.Insert(out, at, i)
		out = out[:min(n, len(out))]
	}
	return out
}

// meanSquare returns the mean squared distance between two sets of rows.
func meanSquare(d *matrix.Dense, a, b []int) (sum float64) {
	for _, i := range a {
		for _, j := range b {
			sum += float64(d.Row(i)[j])
		}
	}
	return sum / float64(len(a)*len(b))
}
