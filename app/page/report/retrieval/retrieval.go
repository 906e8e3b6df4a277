// Package retrieval chooses queries worth looking at, random ones and the worst
// ones, and lays them out with their nearest neighbours for the report. Those who
// have queries and neighbours of their own fill a report.Retrieval themselves, with
// the pictures that package photo reads.
package retrieval

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/app/page/report"
	"github.com/kindred-ml/kindred/app/page/report/photo"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/mat"
)

// Config says what to show. The zero value is the stated default.
type Config struct {
	Queries    int // of each kind; default 8
	Neighbours int // of each query; default 8, at most the other items
	Distance   rank.Distance
	Memory     int64  // of the ranking, as in rank.Options
	Seed       uint64 // of the random choice
	// Picture returns the picture of an item; nil, or a nil image, shows the
	// texts alone.
	Picture photo.Reader
	// Label returns the name of an item's class; default its number. Name
	// returns what the item is called, as its file, and Link the address of the
	// whole photo (see report.Link); nil means none.
	Label, Name, Link func(i int) string
}

// Pair holds the rows of random queries and of the worst ones.
type Pair struct {
	Random, Worst report.Retrieval
	// RandomItems and WorstItems are the same in numbers.
	RandomItems, WorstItems []Ranked
	// FirstRight[q] is the rank of the nearest right item of the q-th worst
	// query.
	FirstRight []int
}

// Ranked is a query with its nearest neighbours, by the rows of the matrix that was
// ranked. Value is as in rank.Neighbours.
type Ranked struct {
	Query int
	Row   []int32
	Value []float64
}

// Choose ranks all rows of x for each other and returns the rows to show. The
// worst queries are those whose nearest item of the same label stands farthest
// back, ties by index. Items without another of their label are not queries.
//
// Errors: fewer than two items, labels that do not match x, no item with
// another of its label, values that are not finite, a picture that fails.
func Choose(ctx context.Context, x *mat.Dense, labels []int64, cfg Config) (*Pair, error) {
	if x.Rows < 2 {
		return nil, fmt.Errorf("retrieval: %d items have no neighbours", x.Rows)
	}
	if len(labels) != x.Rows {
		return nil, fmt.Errorf("retrieval: %d labels for %d items", len(labels), x.Rows)
	}
	cfg.Queries = cmp.Or(cfg.Queries, 8)
	cfg.Neighbours = min(cmp.Or(cfg.Neighbours, 8), x.Rows-1)
	if cfg.Queries < 1 || cfg.Neighbours < 1 {
		return nil, fmt.Errorf("retrieval: %d queries with %d neighbours", cfg.Queries, cfg.Neighbours)
	}
	type query struct{ index, first int }
	var all []query
	err := rank.Positives(ctx, rank.Set{X: x, Labels: [][]int64{labels}}, nil,
		rank.Options{Distance: cfg.Distance, First: true, Memory: cfg.Memory}, func(q rank.Query) {
			if q.R > 0 && len(q.Ranks) > 0 {
				all = append(all, query{q.Index, int(q.Ranks[0])})
			}
		})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("retrieval: none of the %d items has another of its label", x.Rows)
	}
	slices.SortFunc(all, func(a, b query) int { return cmp.Compare(a.index, b.index) })
	random := slices.Clone(all)
	rand.New(rand.NewPCG(cfg.Seed, 0x726f7773)).Shuffle(len(random),
		func(i, j int) { random[i], random[j] = random[j], random[i] })
	worst := slices.Clone(all)
	slices.SortStableFunc(worst, func(a, b query) int { return cmp.Compare(b.first, a.first) })
	n := min(cfg.Queries, len(all))
	random, worst = random[:n], worst[:n]

	ask := mat.New(2*n, x.Cols)
	index := make([]int, 2*n)
	out := &Pair{}
	for i := range n {
		index[i], index[n+i] = random[i].index, worst[i].index
		copy(ask.Row(i), x.Row(random[i].index))
		copy(ask.Row(n+i), x.Row(worst[i].index))
		out.FirstRight = append(out.FirstRight, worst[i].first)
	}
	// One more neighbour than shown, since the query itself is among them.
	nb, err := rank.Nearest(ctx, ask, x, cfg.Neighbours+1, rank.Options{Distance: cfg.Distance, Memory: cfg.Memory})
	if err != nil {
		return nil, err
	}
	for i, q := range index {
		items := cfg.others(q, nb.Row[i*nb.K:(i+1)*nb.K], nb.Value[i*nb.K:(i+1)*nb.K])
		row, err := cfg.row(items, labels)
		if err != nil {
			return nil, err
		}
		if i < n {
			out.Random.Rows, out.RandomItems = append(out.Random.Rows, row), append(out.RandomItems, items)
		} else {
			out.Worst.Rows, out.WorstItems = append(out.Worst.Rows, row), append(out.WorstItems, items)
		}
	}
	out.Random.Caption = fmt.Sprintf("%d random queries (first) and their nearest neighbours", n)
	out.Worst.Caption = fmt.Sprintf("The %d worst queries: the nearest item of the same label stands at rank %d to %d",
		n, worst[n-1].first, worst[0].first)
	return out, nil
}

// others is the query q with its neighbours, itself left out by index.
func (c *Config) others(q int, near []int32, values []float64) Ranked {
	out := Ranked{Query: q}
	for k, j := range near {
		if int(j) != q && len(out.Row) < c.Neighbours {
			out.Row, out.Value = append(out.Row, j), append(out.Value, values[k])
		}
	}
	return out
}

// row shows a query with its neighbours.
func (c *Config) row(items Ranked, labels []int64) (report.Query, error) {
	item, err := c.picture(items.Query, labels)
	if err != nil {
		return report.Query{}, err
	}
	out := report.Query{Item: item}
	for k, j := range items.Row {
		p, err := c.picture(int(j), labels)
		if err != nil {
			return report.Query{}, err
		}
		p.Distance = Distance(c.Distance, items.Value[k])
		p.Match = report.Wrong
		if labels[j] == labels[items.Query] {
			p.Match = report.Right
		}
		out.Neighbours = append(out.Neighbours, p)
	}
	return out, nil
}

func (c *Config) picture(i int, labels []int64) (report.Picture, error) {
	p := report.Picture{Label: fmt.Sprint(labels[i])}
	if c.Label != nil {
		p.Label = c.Label(i)
	}
	if c.Name != nil {
		p.Name = c.Name(i)
	}
	if c.Link != nil {
		p.Link = c.Link(i)
	}
	if c.Picture == nil {
		return p, nil
	}
	img, err := c.Picture(i)
	if err != nil {
		return p, fmt.Errorf("retrieval: picture of item %d: %w", i, err)
	}
	p.Image = img
	return p, nil
}

// Distance writes the value that rank.Nearest gives for a neighbour as a reader
// wants it: the Euclidean distance itself, the cosine, the product.
func Distance(d rank.Distance, value float64) string {
	switch d {
	case rank.Cosine:
		return fmt.Sprintf("cosine %.3f", value)
	case rank.Dot:
		return fmt.Sprintf("product %.4g", value)
	}
	return fmt.Sprintf("distance %.4g", math.Sqrt(max(0, value)))
}
