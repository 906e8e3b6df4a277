package lookup

import (
	"context"
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// Table is a gallery in memory: photos that a network has embedded, or a file of embeddings.
type Table struct {
	*Set
	Name     string
	Distance eval.Distance
	Memory   int64 // for ranking, as in eval.RankOptions
}

// Info describes the table, whose labels are texts.
func (t *Table) Info(context.Context) (Info, error) {
	in := Info{Name: t.Name, Items: t.Table.Rows(), Dim: t.Table.X.Cols, Distance: t.Distance}
	for _, c := range t.Table.Columns {
		in.Columns = append(in.Columns, store.Column{Name: c.Name, Kind: store.Text})
	}
	return in, nil
}

// searchNear ranks exactly.
func (t *Table) searchNear(ctx context.Context, queries []Query, k int, opt *Options) ([]api.Answer, error) {
	x := matrix.New(len(queries), t.Table.X.Cols)
	for i := range queries {
		copy(x.Row(i), queries[i].Vector)
	}
	terms := 0
	for i := range queries {
		terms = max(terms, len(queries[i].Terms))
	}
	found, err := eval.NearestPhotos(ctx, eval.PhotoSet{X: x, Path: func(i int) string { return queries[i].Path }},
		eval.PhotoSet{X: t.Table.X, Path: t.WholePath}, k+spareItems*terms,
		eval.RankOptions{Distance: t.Distance, Memory: t.Memory})
	if err != nil {
		return nil, err
	}
	rows := t.Table.Rows()
	out := make([]api.Answer, len(found))
	for i, f := range found {
		t.leaveOutTerms(&queries[i], &f)
		f.Row = f.Row[:min(k, len(f.Row))]
		a := api.Answer{Query: queries[i].Name, Passed: &rows, Exact: true, Neighbours: make([]api.Neighbour,
			len(f.Row))}
		for _, j := range f.SelfRows {
			a.QueryIDs, a.QueryLabels = append(a.QueryIDs, t.itemName(j)), append(a.QueryLabels, t.Label(j))
		}
		for k, row := range f.Row {
			j := int(row)
			a.Neighbours[k] = api.Neighbour{Hit: store.Hit{Item: store.Item{ID: t.Table.ItemID(j), Path: t.Path(j),
				Vector: t.Table.X.Row(j)}, Distance: t.Distance.FromValue(f.Value[k])}, Region: t.Region(j), Row: &j,
				Label: t.Label(j)}
			if !opt.bare {
				a.Neighbours[k].Columns = t.columns(j)
			}
		}
		out[i] = a
	}
	return out, nil
}

// leaveOutTerms leaves out the items that are a term of a sum.
func (t *Table) leaveOutTerms(q *Query, f *eval.PhotoNeighbours) {
	if len(q.Terms) == 0 {
		return
	}
	m := newMatcher(q, nil)
	var rows []int32
	var values []float64
	for k, row := range f.Row {
		h := store.Hit{Item: store.Item{Path: t.WholePath(int(row)), Vector: t.Table.X.Row(int(row))}}
		if is, _ := m.isSelf(&h); is || m.isAtPath(&h) {
			f.SelfRows = append(f.SelfRows, int(row))
			continue
		}
		rows, values = append(rows, row), append(values, f.Value[k])
	}
	f.Row, f.Value = rows, values
}

// columns returns the labels of item i by their columns; nil without any.
func (t *Table) columns(i int) map[string]any {
	if len(t.Table.Columns) == 0 {
		return nil
	}
	out := make(map[string]any, len(t.Table.Columns))
	for k := range t.Table.Columns {
		out[t.Table.Columns[k].Name] = t.Table.Columns[k].At(i)
	}
	return out
}

func (t *Table) name(n *api.Neighbour) string { return t.itemName(*n.Row) }

func (t *Table) value(n *api.Neighbour, column string) string {
	if c := t.Table.Column(column); c != nil {
		return c.At(*n.Row)
	}
	return ""
}

// itemName returns the name of item i: its file and region, or its id.
func (t *Table) itemName(i int) string {
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
	return decide.NewGallery(t.allLabels()), nil
}

func (t *Table) allLabels() []string {
	out := make([]string, t.Table.Rows())
	for i := range out {
		out[i] = t.Label(i)
	}
	return out
}

// Measures compares all items.
func (t *Table) Measures(ctx context.Context, says *decide.Calibration, coverage float64) (*decide.Measures, error) {
	sampler := decide.NewSampler(says, lists.Count(t.allLabels()), t.Table.X.Cols, t.Distance)
	for i := range t.Table.X.Rows {
		if err := sampler.Add(t.Label(i), t.Table.X.Row(i)); err != nil {
			return nil, fmt.Errorf("%s: %w", t.itemName(i), err)
		}
	}
	return sampler.Measure(ctx, coverage > 0)
}

// Picture returns the picture of a neighbour, which is in the data set if the photos are known.
func (t *Table) Picture(n *api.Neighbour) Picture { return t.Set.Picture(*n.Row) }

// FindForeignQuery returns the first query that is itself in the table, but with an embedding farther away
// than 5 % of its length. Then another network made the table. ok is false without such a query.
func (t *Table) FindForeignQuery(queries []Query, answers []api.Answer) (query int, ok bool) {
	rows := map[string]int{}
	for i := range answers {
		if len(rows) == 0 && len(answers[i].QueryIDs) > 0 {
			for j := range t.Table.Rows() {
				rows[t.itemName(j)] = j
			}
		}
		for _, name := range answers[i].QueryIDs {
			if j := rows[name]; RelativeDistance(queries[i].Vector, t.Table.X.Row(j), eval.Euclidean) > 0.05 {
				return i, true
			}
		}
	}
	return 0, false
}

// RelativeDistance returns the Euclidean distance between two embeddings, in lengths of the first. For the
// cosine distance both are scaled to length 1 before.
func RelativeDistance(a, b []float32, by eval.Distance) float64 {
	var ab, aa, bb float64
	for k := range a {
		x, y := float64(a[k]), float64(b[k])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	if by == eval.Cosine && aa > 0 && bb > 0 {
		return math.Sqrt(max(0, 2-2*ab/math.Sqrt(aa*bb)))
	}
	if aa == 0 {
		return math.Sqrt(bb)
	}
	return math.Sqrt(max(0, aa-2*ab+bb) / aa)
}
