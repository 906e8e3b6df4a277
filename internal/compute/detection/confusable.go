package detection

import (
	"math"

	"github.com/kindred-ml/kindred/matrix"
)

// ConfusableClasses lists for each of a number of classes the others, most at most, whose means
// are nearest to its own by Euclidean distance, the nearest first and of equal ones the
// lower. Row i of x is of class y[i]; the mean of a class without rows is the origin.
func ConfusableClasses(x *matrix.Dense, y []int, classes, most int) [][]int {
	means, size := matrix.New(classes, x.Cols), make([]float32, classes)
	for i, c := range y {
		size[c]++
		for j, v := range x.Row(i) {
			means.Row(c)[j] += v
		}
	}
	for c := range classes {
		for j := range means.Cols {
			means.Row(c)[j] /= max(size[c], 1)
		}
	}
	out := make([][]int, classes)
	d := matrix.New(1, classes)
	for c := range classes {
		matrix.SquaredDistances(means.RowRange(c, c+1), means, d)
		row := d.Row(0)
		row[c] = float32(math.Inf(1))
		for range min(most, classes-1) {
			near := 0
			for k, v := range row {
				if v < row[near] {
					near = k
				}
			}
			out[c] = append(out[c], near)
			row[near] = float32(math.Inf(1))
		}
	}
	return out
}
