package discover

import (
	"math"

	"github.com/kindred-ml/kindred/internal/compute/ward"
	"github.com/kindred-ml/kindred/matrix"
)

// firstDivision holds the places of the rows of a class along the line of its first division. Each fold has its own
// line, from the rows that are not held out, and adds the places of the held-out rows. Places are lengths from a
// common middle of all folds, in the direction of the first fold's line. If each fold measured by the ends of
// its own line, as in later divisions, errors of the ends would widen both sub-classes. Under a single mode the
// line of any division is valid.
type firstDivision struct {
	middle    []float64
	direction []float32 // direction from the first part to the second in the first fold
	positions []float64
}

// add adds the held-out rows. The first division is the first one from above whose parts both have at least few
// rows. Without one, add adds nothing.
func (l *firstDivision) add(known *matrix.Dense, merges []ward.Merge, most int, asked *matrix.Dense) {
	for k := 2; k <= most; k++ {
		below, m := ward.Cut(merges, known.Rows, k), merges[known.Rows-k]
		ends, size := groupMeans(known, below, k)
		a, b := below[m.A], below[m.B]
		if min(size[a], size[b]) < minGroupRows {
			continue
		}
		line := newLine(ends.Row(a), ends.Row(b))
		if l.direction == nil {
			l.direction = line.direction
		}
		sign := 1.0
		if dot(line.direction, l.direction) < 0 {
			sign = -1
		}
		line.turnToDiscriminant(residuals(known, below, ends, a, b))
		norm := sign * math.Sqrt(dot(line.direction, line.direction))
		if norm == 0 {
			return
		}
		for i := range asked.Rows {
			var sum float64
			for j, v := range asked.Row(i) {
				sum += (float64(v) - l.middle[j]) * float64(line.direction[j])
			}
			l.positions = append(l.positions, sum/norm)
		}
		return
	}
}

func dot(a, b []float32) (sum float64) {
	for j, v := range a {
		sum += float64(v) * float64(b[j])
	}
	return sum
}

// geometricMedian returns the geometric median of the rows, after 30 of Weiszfeld's steps from the mean. Lines of
// different folds that cross near the mode do not turn one mode into two.
func geometricMedian(x *matrix.Dense) []float64 {
	m, _ := meanAndScatter(x)
	for range 30 {
		next, total := make([]float64, len(m)), 0.0
		for i := range x.Rows {
			square := 1e-12
			for j, v := range x.Row(i) {
				square += (float64(v) - m[j]) * (float64(v) - m[j])
			}
			w := 1 / math.Sqrt(square)
			total += w
			for j, v := range x.Row(i) {
				next[j] += w * float64(v)
			}
		}
		for j := range next {
			m[j] = next[j] / max(total, math.SmallestNonzeroFloat64)
		}
	}
	return m
}
