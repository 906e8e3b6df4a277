package retrieval

import (
	"fmt"

	"github.com/kindred-ml/kindred/app/gallery"
	"github.com/kindred-ml/kindred/app/page/report"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/base/spell"
)

// Found lays out photos with those found nearest to them in a table.
type Found struct {
	Queries *gallery.Set
	Gallery *gallery.Table
	Judged  bool    // says how likely a neighbour shows the same thing
	Least   float64 // neighbours that are less likely were left out
	By      string  // the network that makes the embeddings
	// Query and Item are Shown of each side.
	Query, Item func(p gallery.Picture) (report.Picture, error)
}

// Page returns the page, and the rows alone.
func (f *Found) Page(found []gallery.Answer) (page report.Page, rows report.Retrieval, err error) {
	for i := range found {
		q := report.Query{}
		if q.Item, err = f.Query(f.Queries.Picture(i)); err != nil {
			return page, rows, err
		}
		for k := range found[i].Neighbours {
			n := &found[i].Neighbours[k]
			p, err := f.Item(f.Gallery.Picture(n))
			if err != nil {
				return page, rows, err
			}
			p.Distance = Distance(f.Gallery.Distance, n.Value)
			if n.Same != nil {
				p.Distance = Same(*n.Same)
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
	if f.Judged {
		rows.Caption += ". Under each stands how likely it shows the same thing, by the calibration"
	}
	if f.Least > 0 {
		rows.Caption += fmt.Sprintf(", and those with less than %s are left out", decide.Percent(f.Least))
	}
	return report.Page{
		Title: "Photos and those nearest to them",
		Lead: fmt.Sprintf("%s looked up among %d by %s distance between the embeddings that %s "+
			"makes. A photo that is itself among them is left out of its answer.", searched,
			f.Gallery.Table.Rows(), f.Gallery.Distance, f.By),
		Sections: []report.Section{{Blocks: []report.Block{rows}}},
	}, rows, nil
}

// Same is the probability that a neighbour shows the same thing, for people.
func Same(p float64) string { return "the same: " + decide.Percent(p) }
