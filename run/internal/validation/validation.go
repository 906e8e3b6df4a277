// Package validation scores the samples that choose the kept epoch of a run: by whether the nearest item of a query has
// its class, and by how much it is nearer than others.
package validation

import (
	"context"
	"math"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/matrix"
)

// Rows are embeddings with the labels of their rows.
type Rows struct {
	X      *matrix.Dense
	Labels []int64
}

// Outcome is the outcome of searching for a query.
type Outcome int8

// The outcomes.
const (
	NotSearched Outcome = iota // the gallery has no item with the label
	Miss
	Hit
)

// HitRate returns the share of hits among the queries.
func HitRate(found []Outcome) float64 {
	hits, queries := 0, 0
	for _, f := range found {
		if f != NotSearched {
			queries++
		}
		if f == Hit {
			hits++
		}
	}
	return float64(hits) / float64(max(queries, 1))
}

// Search searches samples among each other. It also returns the nearest items.
func Search(ctx context.Context, q *Rows, distance eval.Distance) ([]Outcome, *eval.Neighbours, error) {
	labels := q.Labels
	near, err := eval.Nearest(ctx, q.X, nil, 1, eval.RankOptions{Distance: distance})
	if err != nil {
		return nil, nil, err
	}
	count := lists.Count(labels)
	out := make([]Outcome, len(labels))
	for i, y := range labels {
		switch {
		case count[y] < 2: // only the query itself
		case labels[near.Row[i]] == y:
			out[i] = Hit
		default:
			out[i] = Miss
		}
	}
	return out, near, nil
}

// SearchWithDistractors searches samples among each other and among distractors with another label. At
// equal distances samples precede distractors, and lower rows precede higher ones.
func SearchWithDistractors(ctx context.Context, q, d *Rows, distance eval.Distance) ([]Outcome, error) {
	labels, others := q.Labels, d.Labels
	out, near, err := Search(ctx, q, distance)
	if err != nil {
		return nil, err
	}
	asked, same := map[int64]bool{}, map[int64]int{}
	for i, y := range labels {
		asked[y] = asked[y] || out[i] != NotSearched
	}
	most := 0
	for _, y := range others {
		if same[y]++; asked[y] {
			most = max(most, same[y])
		}
	}
	k := min(most+1, d.X.Rows)
	far, err := eval.Nearest(ctx, q.X, d.X, k, eval.RankOptions{Distance: distance})
	if err != nil {
		return nil, err
	}
	for i, y := range labels {
		if out[i] != Hit {
			continue
		}
		for j := i * k; j < (i+1)*k; j++ {
			if others[far.Row[j]] != y {
				if isNearer(distance, far.Value[j], near.Value[i]) {
					out[i] = Miss
				}
				break
			}
		}
	}
	return out, nil
}

// isNearer compares two values of eval.Neighbours: squared distances or similarities.
func isNearer(distance eval.Distance, a, b float64) bool {
	if distance == eval.Euclidean {
		return a < b
	}
	return a > b
}

// QueryMargins returns the margin of each query:
//
//	tanh((s - t) / u)
//
// s is the nearness of the nearest item with the query's label, and t the nearness of the nearest item with another
// label. Nearness is the similarity or minus the squared distance. u is the standard deviation of the nearness over all
// pairs of different labels. The queries are searched in the gallery or, if it is nil, among each other and among the
// distractors with other labels, which may be nil. The margin is NaN if a query has no item with its label or none with
// another label.
func QueryMargins(ctx context.Context, q, gallery, distractors *Rows, distance eval.Distance) ([]float64, error) {
	m := newMargins(q, distance)
	if gallery != nil {
		err := m.compare(ctx, m.similarityRows(gallery.X), gallery.Labels, false, false)
		return m.values(), err
	}
	if err := m.compare(ctx, m.x, m.labels, true, false); err != nil {
		return nil, err
	}
	if distractors != nil {
		err := m.compare(ctx, m.similarityRows(distractors.X), distractors.Labels, false, true)
		return m.values(), err
	}
	return m.values(), nil
}

// MeanNotNaN returns the mean of the values that are not NaN; 0 if all are NaN.
func MeanNotNaN(values []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range values {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	return sum / float64(max(n, 1))
}

// margins collects the sums for the margin, one part of the gallery at a time.
type margins struct {
	x              *matrix.Dense
	labels         []int64
	distance       eval.Distance
	same, other    []float32 // nearness of the nearest item with the query's label, and with another
	pairs          float64   // number of pairs with different labels
	sum, ofSquares float64   // sums over the nearness of these pairs
}

func newMargins(q *Rows, distance eval.Distance) *margins {
	n := q.X.Rows
	m := &margins{labels: q.Labels, distance: distance, same: make([]float32, n), other: make([]float32, n)}
	m.x = m.similarityRows(q.X)
	for i := range m.same {
		m.same[i], m.other[i] = float32(math.Inf(-1)), float32(math.Inf(-1))
	}
	return m
}

// similarityRows returns rows whose dot products are the similarities; for distances it returns x.
func (m *margins) similarityRows(x *matrix.Dense) *matrix.Dense {
	if m.distance == eval.Cosine {
		return eval.NormalizeRows(x)
	}
	return x
}

// marginBlock is the number of queries that are compared with a part of the gallery at a time.
const marginBlock = 256

// compare compares the queries with a part of their gallery, whose rows are as of similarityRows. With itself, row i of
// g is query i, which is left out of its own search. foreign leaves out items with a query's label.
func (m *margins) compare(ctx context.Context, g *matrix.Dense, labels []int64, itself, foreign bool) error {
	near := matrix.New(min(marginBlock, m.x.Rows), g.Rows)
	for at := 0; at < m.x.Rows; at += marginBlock {
		n := min(marginBlock, m.x.Rows-at)
		q, d := m.x.RowRange(at, at+n), near.RowRange(0, n)
		sign := float32(1)
		if m.distance == eval.Euclidean {
			matrix.SquaredDistances(q, g, d)
			sign = -1
		} else {
			matrix.Gemm(false, true, 1, q, g, 0, d)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		for i := range n {
			m.addRow(at+i, d.Row(i), labels, sign, itself, foreign)
		}
	}
	return nil
}

func (m *margins) addRow(query int, near []float32, labels []int64, sign float32, itself, foreign bool) {
	y := m.labels[query]
	var sum, ofSquares float64
	for j, v := range near {
		v *= sign
		switch {
		case labels[j] != y:
			m.other[query] = max(m.other[query], v)
			sum += float64(v)
			ofSquares += float64(v) * float64(v)
			m.pairs++
		case !foreign && !(itself && j == query):
			m.same[query] = max(m.same[query], v)
		}
	}
	m.sum += sum
	m.ofSquares += ofSquares
}

// values returns the margin for each query.
func (m *margins) values() []float64 {
	mean := m.sum / max(m.pairs, 1)
	u := math.Sqrt(max(m.ofSquares/max(m.pairs, 1)-mean*mean, 0))
	out := make([]float64, len(m.same))
	for i, same := range m.same {
		switch d := float64(same) - float64(m.other[i]); {
		case math.IsInf(d, 0):
			out[i] = math.NaN()
		case d != 0: // u is 0 if all pairs are equally near
			out[i] = math.Tanh(d / max(u, math.SmallestNonzeroFloat64))
		}
	}
	return out
}
