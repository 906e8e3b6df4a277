package gallery

import (
	"context"
	"math"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/store"
)

// Table is a gallery in memory: photos that a network has embedded, or a file of embeddings.
type Table struct {
	*Set
	Name     string
	Distance rank.Distance
	Memory   int64 // for ranking, as in rank.Options
}

// Info describes the table, whose labels are texts.
func (t *Table) Info(context.Context) (Info, error) {
	in := Info{Name: t.Name, Items: t.Table.Rows(), Dim: t.Table.X.Cols, Distance: t.Distance}
	for _, c := range t.Table.Columns {
		in.Columns = append(in.Columns, store.Column{Name: c.Name, Kind: store.Text})
	}
	return in, nil
}

// Nearest ranks exactly.
func (t *Table) Nearest(ctx context.Context, queries []Query, opt Options) ([]Answer, error) {
	x := mat.New(len(queries), t.Table.X.Cols)
	for i := range queries {
		copy(x.Row(i), queries[i].Vector)
	}
	found, err := rank.NearestPhotos(ctx, rank.Photos{X: x, Path: func(i int) string { return queries[i].Path }},
		rank.Photos{X: t.Table.X, Path: t.Whole}, opt.K, rank.Options{Distance: t.Distance, Memory: t.Memory})
	if err != nil {
		return nil, err
	}
	out := make([]Answer, len(found))
	for i, f := range found {
		a := Answer{Query: queries[i].Name, Passed: t.Table.Rows(), Exact: true, self: f.Self,
			Neighbours: make([]Neighbour, len(f.Row))}
		for _, j := range f.Self {
			a.Itself = append(a.Itself, t.named(j))
		}
		for k, row := range f.Row {
			j := int(row)
			a.Neighbours[k] = Neighbour{ID: t.Table.ItemID(j), Row: j, Path: t.Path(j), Region: t.Region(j),
				Label: t.Label(j), Value: f.Value[k],
				Distance: t.Distance.From(f.Value[k])}
		}
		out[i] = a
	}
	return out, nil
}

// named returns the name of item i: its file and region, or its id.
func (t *Table) named(i int) string {
	if t.Table.Files == nil {
		return t.Table.ItemID(i)
	}
	return embedding.Item{Path: t.Path(i), Region: t.Region(i)}.Name()
}

// Labels counts the labels of the first column.
func (t *Table) Labels(context.Context) (decide.Gallery, error) {
	if len(t.Table.Columns) == 0 {
		return decide.Gallery{Items: t.Table.Rows()}, nil
	}
	return decide.NewGallery(t.labels()), nil
}

func (t *Table) labels() []string {
	out := make([]string, t.Table.Rows())
	for i := range out {
		out[i] = t.Label(i)
	}
	return out
}

// Measures compares all items.
func (t *Table) Measures(ctx context.Context, coverage float64) (m *decide.Measures, err error) {
	m = &decide.Measures{}
	labels := t.labels()
	if m.Apart, err = decide.NewApart(ctx, t.Table.X, labels, t.Distance); err == nil && coverage > 0 {
		m.Spread, err = decide.NewSpread(ctx, t.Table.X, labels, t.Distance, coverage)
	}
	return m, err
}

// Picture returns the picture of a neighbour, which is in the data set if the photos are known.
func (t *Table) Picture(n *Neighbour) Picture { return t.Set.Picture(n.Row) }

// Foreign returns the first query that is itself in the table, but with an embedding farther away than 5 % of its
// length. Then another network made the table. ok is false without such a query.
func (t *Table) Foreign(queries []Query, answers []Answer) (query int, ok bool) {
	for i := range answers {
		for _, j := range answers[i].self {
			if Apart(queries[i].Vector, t.Table.X.Row(j), rank.Euclidean) > 0.05 {
				return i, true
			}
		}
	}
	return 0, false
}

// Apart returns the Euclidean distance between two embeddings, in lengths of the first. For the cosine distance both
// are scaled to length 1 before.
func Apart(a, b []float32, by rank.Distance) float64 {
	var ab, aa, bb float64
	for k := range a {
		x, y := float64(a[k]), float64(b[k])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	if by == rank.Cosine && aa > 0 && bb > 0 {
		return math.Sqrt(max(0, 2-2*ab/math.Sqrt(aa*bb)))
	}
	if aa == 0 {
		return math.Sqrt(bb)
	}
	return math.Sqrt(max(0, aa-2*ab+bb) / aa)
}
