package retrieval

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/base/spell"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/internal/page/report/photo"
)

// Photos are those that were looked up, or in which.
type Photos struct {
	N int
	// Path is the file of a photo, "" if it is not known, and Label its class.
	Path, Label func(i int) string
	// Picture returns the picture of a photo; nil shows the texts alone.
	Picture photo.Reader
}

// Found lays out photos with those found nearest to them.
type Found struct {
	Queries, Gallery Photos
	Distance         rank.Distance
	// Among says how likely a neighbour shows the same thing, nil: that is not known.
	// Neighbours that are less likely than Least were left out.
	Among *decide.Among
	Least float64
	// By is the network that makes the embeddings, for people.
	By string
	// File is where the page will be, from which it links to the photos.
	File string
	// Unread is told of the first photo of each side whose picture cannot be read any
	// more, and which is shown without.
	Unread func(name string, err error)
}

// Page returns the page, and the rows alone.
func (f *Found) Page(ctx context.Context, found []rank.Found) (page report.Page, rows report.Retrieval, err error) {
	query, item := f.Queries.Shown(ctx, f.File, f.Unread), f.Gallery.Shown(ctx, f.File, f.Unread)
	for i, n := range found {
		q := report.Query{}
		if q.Item, err = query(i); err != nil {
			return page, rows, err
		}
		for e, j := range n.Row {
			p, err := item(int(j))
			if err != nil {
				return page, rows, err
			}
			p.Distance = Distance(f.Distance, n.Value[e])
			if f.Among != nil {
				p.Distance = Same(f.Among.Same(f.Distance.From(n.Value[e])))
			}
			q.Neighbours = append(q.Neighbours, p)
		}
		rows.Rows = append(rows.Rows, q)
	}
	searched := spell.Count(len(found), "photo")
	rows.Caption = "The photo, before those nearest to it"
	if len(found) != 1 {
		rows.Caption = searched + ", each before those nearest to it"
	}
	if f.Among != nil {
		rows.Caption += ". Under each stands how likely it shows the same thing, by the calibration"
	}
	if f.Least > 0 {
		rows.Caption += fmt.Sprintf(", and those with less than %s are left out", decide.Percent(f.Least))
	}
	return report.Page{
		Title: "Photos and those nearest to them",
		Lead: fmt.Sprintf("%s looked up among %d by %s distance between the embeddings that %s "+
			"makes. A photo that is itself among them is left out of its answer.", searched, f.Gallery.N, f.Distance,
			f.By),
		Sections: []report.Section{{Blocks: []report.Block{rows}}},
	}, rows, nil
}

// Same is the probability that a neighbour shows the same thing, for people.
func Same(p float64) string { return "the same: " + decide.Percent(p) }
