package eval

import (
	"cmp"
	"context"
	"slices"

	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/matrix"
)

// Class holds the retrieval measures of the queries of one class.
type Class struct {
	Label   int64
	Queries int
	// Values are the means over its queries, in the order of the column's
	// retrieval measures.
	Values []float64
}

// Query holds the retrieval measures of one query.
type Query struct {
	Index int
	Label int64
	// File is the query's name, and NeighbourFiles the names of its neighbours, if known.
	File           string
	NeighbourFiles []string
	// Positives is the number of the query's positives.
	Positives int
	// FirstRank is the rank of the nearest positive, or 0 if that is beyond every requested k.
	FirstRank int
	// Values are in the order of the column's retrieval measures.
	Values []float64
	// Neighbours are up to 10 nearest items, nearest first, and NeighbourLabels their labels.
	Neighbours      []int32
	NeighbourLabels []int64
}

const maxWorstNeighbours = 10

// queryMeasures gathers the measures of the queries of one column of labels.
type queryMeasures struct {
	metrics           []Metric
	labels            []int64
	numOthers         int // number of items in the ranking of a query
	measures          []func(ranks []int32, r, k int) float64
	queries, excluded int
	sum               []float64
	// details requests a row of values for each query that has a positive.
	details bool
	index   []int32
	r       []int32
	first   []int32
	values  []float64 // rows of len(metrics)
}

func (c *Config) needsDetails() bool { return c.Bootstrap > 0 || c.PerClass || c.NumWorst > 0 }

func newQueryMeasures(metrics []Metric, labels []int64, others int, details bool) *queryMeasures {
	t := &queryMeasures{metrics: metrics, labels: labels, numOthers: others, sum: make([]float64, len(metrics)),
		details: details}
	for _, m := range metrics {
		t.measures = append(t.measures, m.Kind.measure().ranking)
	}
	return t
}

func (t *queryMeasures) add(q RankedQuery) {
	if q.Positives == 0 {
		t.excluded++
		return
	}
	t.queries++
	if t.details {
		t.index = append(t.index, int32(q.Index))
		t.r = append(t.r, int32(q.Positives))
		first := int32(0)
		if len(q.Ranks) > 0 {
			first = q.Ranks[0]
		}
		t.first = append(t.first, first)
	}
	for i := range t.metrics {
		v := t.measures[i](q.Ranks, q.Positives, cmp.Or(t.metrics[i].K, t.numOthers))
		t.sum[i] += v
		if t.details {
			t.values = append(t.values, v)
		}
	}
}

// means returns the means over the queries.
func (t *queryMeasures) means() []float64 {
	out := make([]float64, len(t.sum))
	for k, s := range t.sum {
		out[k] = s / float64(t.queries)
	}
	return out
}

func (t *queryMeasures) valuesOf(i int) []float64 {
	m := len(t.metrics)
	return t.values[i*m : (i+1)*m]
}

// classMeans returns the means of every class.
func (t *queryMeasures) classMeans() []Class {
	at := make(map[int64]int)
	var out []Class
	for i, q := range t.index {
		y := t.labels[q]
		c, ok := at[y]
		if !ok {
			c = len(out)
			at[y] = c
			out = append(out, Class{Label: y, Values: make([]float64, len(t.metrics))})
		}
		out[c].Queries++
		for m, v := range t.valuesOf(i) {
			out[c].Values[m] += v
		}
	}
	for _, c := range out {
		for m := range c.Values {
			c.Values[m] /= float64(c.Queries)
		}
	}
	slices.SortFunc(out, func(a, b Class) int { return cmp.Compare(a.Label, b.Label) })
	return out
}

// worstQueries returns the queries with the lowest mean of all measures, with their neighbours. Ties are
// ordered by the later first positive, then by index.
func (t *queryMeasures) worstQueries(ctx context.Context, x *matrix.Dense, gallery *matrix.Dense, galleryLabels []int64,
	cfg Config) ([]Query, error) {
	order := make([]int, t.queries)
	score := make([]float64, t.queries)
	for i := range order {
		order[i] = i
		for _, v := range t.valuesOf(i) {
			score[i] += v
		}
	}
	last := func(first int32) uint32 { return uint32(first) - 1 } // 0 means beyond every k, and becomes the largest
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(score[a], score[b]), cmp.Compare(last(t.first[b]), last(t.first[a])),
			cmp.Compare(a, b))
	})
	order = order[:min(cfg.NumWorst, len(order))]
	rows := matrix.New(len(order), x.Cols)
	var out []Query
	var self []int32
	for e, i := range order {
		q := Query{Index: int(t.index[i]), Positives: int(t.r[i]), FirstRank: int(t.first[i])}
		q.Label = t.labels[q.Index]
		if cfg.SelfRows != nil {
			self = append(self, cfg.SelfRows[q.Index])
		}
		if cfg.Files != nil {
			q.File = cfg.Files[q.Index]
		}
		q.Values = append(q.Values, t.valuesOf(i)...)
		copy(rows.Row(e), x.Row(q.Index))
		out = append(out, q)
	}
	g, labels, files, same := gallery, galleryLabels, cfg.GalleryFiles, false
	if g == nil {
		g, labels, files, same = x, t.labels, cfg.Files, true
	}
	// One more than needed, which may be the query.
	k := min(maxWorstNeighbours+1, exact.Self{Item: self}.MinOthers(g.Rows))
	nb, err := Nearest(ctx, rows, g, k, RankOptions{Distance: cfg.Distance, Memory: cfg.Memory, SelfRows: self})
	if err != nil {
		return nil, err
	}
	for e := range out {
		q := &out[e]
		for _, j := range nb.Row[e*k : (e+1)*k] {
			if same && int(j) == q.Index || len(q.Neighbours) == maxWorstNeighbours {
				continue
			}
			q.Neighbours = append(q.Neighbours, j)
			q.NeighbourLabels = append(q.NeighbourLabels, labels[j])
			if files != nil {
				q.NeighbourFiles = append(q.NeighbourFiles, files[j])
			}
		}
	}
	return out, nil
}
