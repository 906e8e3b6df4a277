package decide

import (
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// Means has the mean of the items of each class of a gallery. Items without a label are ignored. With the cosine
// distance every item is scaled to length 1 before.
type Means struct {
	distance   eval.Distance
	dim        int
	labels     []string
	index      map[string]int // number of each label
	count      []float64      // number of items of each class
	sumSquares []float64      // sum of the squared distances of the items of a class to its mean
	rows       []float32      // means, one after the other
}

// NewMeans returns the means of no items of dim numbers.
func NewMeans(dim int, by eval.Distance) *Means {
	return &Means{distance: by, dim: dim, index: make(map[string]int)}
}

// Add adds an item. It is an error if the vector has another length or, with the cosine distance, only zeros.
func (m *Means) Add(label string, vector []float32) error {
	if len(vector) != m.dim {
		return fmt.Errorf("an item has %d numbers, but the others have %d", len(vector), m.dim)
	}
	if label == "" {
		return nil
	}
	i, ok := m.index[label]
	if !ok {
		i = len(m.labels)
		m.index[label] = i
		m.labels, m.count, m.sumSquares = append(m.labels, label), append(m.count, 0), append(m.sumSquares, 0)
		m.rows = append(m.rows, make([]float32, m.dim)...)
	}
	m.count[i]++
	scale := 1.0
	if m.distance == eval.Cosine {
		if scale = 1 / norm(vector); math.IsInf(scale, 0) {
			return fmt.Errorf("an item is all zeros: it has no direction, and no cosine")
		}
	}
	mean, n := m.rows[i*m.dim:][:m.dim], m.count[i]
	for k, v := range vector { // Welford 1962
		off := scale*float64(v) - float64(mean[k])
		mean[k] += float32(off / n)
		m.sumSquares[i] += off * off * (n - 1) / n
	}
	return nil
}

func norm(v []float32) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// numClasses returns the number of classes.
func (m *Means) numClasses() int { return len(m.labels) }

// squaredDistances returns the squared distances of each row of x to each mean.
func (m *Means) squaredDistances(x *matrix.Dense) *matrix.Dense {
	out := matrix.New(x.Rows, m.numClasses())
	matrix.SquaredDistances(x, matrix.FromSlice(m.numClasses(), m.dim, m.rows), out)
	return out
}

// statsWithout returns the counts and squares of the classes without some items. The squared distances of
// photo x to the means are changed accordingly.
func (m *Means) statsWithout(items []Member, x []float32, distances []float32) (count, square []float64) {
	if len(items) == 0 {
		return m.count, m.sumSquares
	}
	count, square = slices.Clone(m.count), slices.Clone(m.sumSquares)
	sums := make(map[int][]float64) // of the items of a class that stay
	for _, e := range items {
		i, ok := m.index[e.Label]
		if !ok || count[i] == 0 || len(e.Vector) != m.dim {
			continue
		}
		mean := m.rows[i*m.dim:][:m.dim]
		if sums[i] == nil {
			sums[i] = make([]float64, m.dim)
			for k, v := range mean {
				sums[i][k] = m.count[i] * float64(v)
			}
		}
		scale := 1.0
		if m.distance == eval.Cosine {
			scale = 1 / norm(e.Vector)
		}
		off := 0.0
		for k, v := range e.Vector {
			v := scale * float64(v)
			sums[i][k] -= v
			off += (v - float64(mean[k])) * (v - float64(mean[k]))
		}
		square[i] = max(0, square[i]-off*m.count[i]/max(1, m.count[i]-1))
		count[i]--
	}
	for i, sum := range sums {
		d := 0.0
		for k, v := range x {
			off := float64(v) - sum[k]/max(1, count[i])
			d += off * off
		}
		distances[i] = float32(d)
	}
	return count, square
}

// subtractOne takes the photo out of the mean of class i.
func subtractOne(i int, distances []float32, count, square []float64) {
	n, d := count[i], float64(distances[i])
	if count[i]--; count[i] > 0 {
		distances[i] = float32(d * n * n / ((n - 1) * (n - 1)))
		square[i] = max(0, square[i]-d*n/(n-1))
	}
}

// shrunkScatter returns the mean squared distance of the items of a class to its mean, drawn towards that of other
// classes with the weight of five items.
func shrunkScatter(square, count, others float64) float64 {
	const prior = 5
	return (square + prior*others) / (max(1, count) - 1 + prior)
}
