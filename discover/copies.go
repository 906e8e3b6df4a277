package discover

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/matrix"
)

// copyShare is the share of the usual distance to the nearest row within which rows count as copies.
const copyShare = 0.1

// distinctRows returns one row of each group of copies, in ascending order, given the squared distances of the
// rows. Copies are rows joined by a chain of steps of at most a tenth of the median distance to the nearest
// row that is not a copy. Copies count only once as evidence.
func distinctRows(d *matrix.Dense) []int {
	least := make([]float32, 0, d.Rows)
	for i := range d.Rows {
		v := float32(math.Inf(1))
		for j, w := range d.Row(i) {
			if i != j && w > 0 {
				v = min(v, w)
			}
		}
		least = append(least, v)
	}
	slices.Sort(least)
	limit := float32(0)
	if m := least[len(least)/2]; !math.IsInf(float64(m), 1) {
		limit = copyShare * copyShare * m
	}
	seen := make([]bool, d.Rows)
	var out, todo []int
	for i := range seen {
		if seen[i] {
			continue
		}
		out = append(out, i)
		seen[i], todo = true, append(todo[:0], i)
		for len(todo) > 0 {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for j, v := range d.Row(at) {
				if !seen[j] && v <= limit {
					seen[j], todo = true, append(todo, j)
				}
			}
		}
	}
	return out
}
