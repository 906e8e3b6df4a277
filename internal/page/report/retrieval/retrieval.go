// Package retrieval chooses random queries and the worst queries of an embedding, and
// makes a report.Retrieval of them and their nearest neighbours. For other queries fill
// a report.Retrieval yourself, with pictures from package photo.
package retrieval

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/internal/page/report/photo"
	"github.com/kindred-ml/kindred/matrix"
)

// Config is what to show. Zero fields have the stated defaults.
type Config struct {
	Queries    int // number of random and of worst queries; default 8
	Neighbours int // number of neighbours of each query; default 8, at most all other items
	Distance   eval.Distance
	Memory     int64  // distance of the ranking, as in eval.RankOptions
	Seed       uint64 // seed of the random choice
	// Picture returns the picture of an item. Without it, or if it returns nil, only
	// the texts are shown.
	Picture photo.Reader
	// Label returns the name of an item's class; by default it is the class's number.
	// Name returns the name of an item, such as its file, and Link the address of the
	// whole photo (see report.RelativeLink). Both may be nil.
	Label, Name, Link func(i int) string
}

// QueryRows holds the rows of random queries and of the worst ones.
type QueryRows struct {
	Random, Worst report.Retrieval
	// RandomItems and WorstItems are the same queries as row numbers.
	RandomItems, WorstItems []Ranked
	// FirstRight[q] is the rank of the nearest right item of the q-th worst
	// query.
	FirstRight []int
}

// Ranked is a query with its nearest neighbours, as row numbers of the ranked matrix.
// Value is as in eval.Neighbours.
type Ranked struct {
	Query int
	Row   []int32
	Value []float64
}

// ChooseQueries ranks the rows of x among each other and returns the rows to show. The worst
// queries have the highest rank of their nearest item with the same label; ties go by
// index. An item whose label no other item has is not a query.
//
// Errors are fewer than two items, labels that do not match x, no label with two
// items, values that are not finite, and a picture that fails.
func ChooseQueries(ctx context.Context, x *matrix.Dense, labels []int64, cfg Config) (*QueryRows, error) {
	if x.Rows < 2 {
		return nil, fmt.Errorf("%d items have no neighbours", x.Rows)
	}
	if len(labels) != x.Rows {
		return nil, fmt.Errorf("%d labels for %d items", len(labels), x.Rows)
	}
	cfg.Queries = cmp.Or(cfg.Queries, 8)
	cfg.Neighbours = min(cmp.Or(cfg.Neighbours, 8), x.Rows-1)
	if cfg.Queries < 1 || cfg.Neighbours < 1 {
		return nil, fmt.Errorf("%d queries with %d neighbours", cfg.Queries, cfg.Neighbours)
	}
	type query struct{ index, first int }
	var all []query
	err := eval.RankPositives(ctx, eval.Set{X: x, Labels: [][]int64{labels}}, nil,
		eval.RankOptions{Distance: cfg.Distance, FirstOnly: true, Memory: cfg.Memory}, func(q eval.RankedQuery) {
			if q.Positives > 0 && len(q.Ranks) > 0 {
				all = append(all, query{q.Index, int(q.Ranks[0])})
			}
		})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("none of the %d items shares its label with another", x.Rows)
	}
	slices.SortFunc(all, func(a, b query) int { return cmp.Compare(a.index, b.index) })
	random := slices.Clone(all)
	rand.New(rand.NewPCG(cfg.Seed, 0x726f7773)).Shuffle(len(random),
		func(i, j int) { random[i], random[j] = random[j], random[i] })
	worst := slices.Clone(all)
	slices.SortStableFunc(worst, func(a, b query) int { return cmp.Compare(b.first, a.first) })
	n := min(cfg.Queries, len(all))
	random, worst = random[:n], worst[:n]

	ask := matrix.New(2*n, x.Cols)
	index := make([]int, 2*n)
	out := &QueryRows{}
	for i := range n {
		index[i], index[n+i] = random[i].index, worst[i].index
		copy(ask.Row(i), x.Row(random[i].index))
		copy(ask.Row(n+i), x.Row(worst[i].index))
		out.FirstRight = append(out.FirstRight, worst[i].first)
	}
	// One neighbour more than shown, because the query itself is among them.
	nb, err := eval.Nearest(ctx, ask, x, cfg.Neighbours+1, eval.RankOptions{Distance: cfg.Distance, Memory: cfg.Memory})
	if err != nil {
		return nil, err
	}
	for i, q := range index {
		items := cfg.leaveOutSelf(q, nb.Row[i*nb.K:(i+1)*nb.K], nb.Value[i*nb.K:(i+1)*nb.K])
		row, err := cfg.newRow(items, labels)
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

// leaveOutSelf returns the query q with its neighbours; the query itself is left out by index.
func (c *Config) leaveOutSelf(q int, near []int32, values []float64) Ranked {
	out := Ranked{Query: q}
	for k, j := range near {
		if int(j) != q && len(out.Row) < c.Neighbours {
			out.Row, out.Value = append(out.Row, j), append(out.Value, values[k])
		}
	}
	return out
}

// newRow returns a query with its neighbours as pictures.
func (c *Config) newRow(items Ranked, labels []int64) (report.RetrievalRow, error) {
	item, err := c.picture(items.Query, labels)
	if err != nil {
		return report.RetrievalRow{}, err
	}
	out := report.RetrievalRow{Item: item}
	for k, j := range items.Row {
		p, err := c.picture(int(j), labels)
		if err != nil {
			return report.RetrievalRow{}, err
		}
		p.Distance = FormatDistance(c.Distance, items.Value[k])
		p.Match = report.WrongMatch
		if labels[j] == labels[items.Query] {
			p.Match = report.RightMatch
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
		return p, fmt.Errorf("picture of item %d: %w", i, err)
	}
	p.Image = img
	return p, nil
}

// FormatDistance returns the text for the value of a neighbour from eval.Nearest: the
// Euclidean distance, the cosine or the product.
func FormatDistance(d eval.Distance, value float64) string {
	return lookup.FormatDistance(d, d.FromValue(value))
}
