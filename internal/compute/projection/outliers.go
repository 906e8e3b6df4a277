package projection

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/matrix"
)

// farFactor is the multiple of the median distance from the middle beyond which a row is pulled in.
const farFactor = 1000

// pullInOutliers returns x with rows that are very far from all others moved to farFactor times the median
// distance from the middle, along the line to the middle. It returns x itself if there are no such rows. No
// row has them among its nearest before or after, and float32 keeps digits for the differences of the
// others. The middle is the median of each coordinate over up to 1,001 rows. Rows at the middle do not count
// in the median distance.
func pullInOutliers(x *matrix.Dense) *matrix.Dense {
	n, d := x.Rows, x.Cols
	m := min(n, 1001)
	middle, values := make([]float64, d), make([]float64, m)
	for j := range d {
		for i := range m {
			values[i] = float64(x.Row(i * n / m)[j])
		}
		slices.Sort(values)
		middle[j] = values[m/2]
	}
	length := make([]float64, n)
	par.For(n, rowGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			sum := 0.0
			for j, v := range x.Row(i) {
				diff := float64(v) - middle[j]
				sum += diff * diff
			}
			length[i] = math.Sqrt(sum)
		}
	})
	sorted := slices.DeleteFunc(slices.Clone(length), func(v float64) bool { return v == 0 })
	if len(sorted) == 0 {
		return x
	}
	slices.Sort(sorted)
	most := farFactor * sorted[len(sorted)/2]
	if sorted[len(sorted)-1] <= most {
		return x
	}
	out := matrix.New(n, d)
	for i := range n {
		copy(out.Row(i), x.Row(i))
		if length[i] > most {
			for j, v := range x.Row(i) {
				out.Row(i)[j] = float32(middle[j] + (float64(v)-middle[j])*(most/length[i]))
			}
		}
	}
	return out
}
