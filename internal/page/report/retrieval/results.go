package retrieval

import (
	"fmt"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/serve/api"
)

// Results holds query photos and the photos found nearest to them.
type Results struct {
	Queries *lookup.Set
	Gallery lookup.Gallery
	Info    *lookup.Info // of Gallery
	Judged  bool         // gives the probability that a neighbour shows the same thing; nil without one
	Least   float64      // neighbours with a lower probability were left out
	By      string       // the network that makes the embeddings
	// Query and Item are the results of Shown for the queries and for the lookup.
	Query, Item func(p lookup.Picture) (report.Picture, error)
}

// Page returns the page, and its rows as a figure.
func (f *Results) Page(found []api.Answer) (page report.Page, rows report.Retrieval, err error) {
	for i := range found {
		q := report.RetrievalRow{}
		if q.Item, err = f.Query(f.Queries.Picture(i)); err != nil {
			return page, rows, err
		}
		if a := &found[i]; len(a.QueryIDs) > 0 {
			q.Item.Distance = "this very picture: " + lookup.FormatSelf(a.QueryIDs, a.QueryLabels)
		}
		for k := range found[i].Neighbours {
			n := &found[i].Neighbours[k]
			p, err := f.Item(f.Gallery.Picture(n))
			if err != nil {
				return page, rows, err
			}
			p.Distance = lookup.FormatDistance(f.Info.Distance, n.Distance)
			if n.MatchProbability != nil {
				p.Distance = lookup.FormatProbability(n, f.Info.Distance.String(), *n.MatchProbability)
			}
			q.Neighbours = append(q.Neighbours, p)
		}
		rows.Rows = append(rows.Rows, q)
	}
	searched := enum.Count(len(found), "photo")
	rows.Caption = "The query photo, followed by its nearest photos"
	if len(found) != 1 {
		rows.Caption = searched + ", each followed by its nearest photos"
	}
	if f.Judged {
		rows.Caption += ". Under each is the probability that it shows the same thing, by the calibration"
	}
	if f.Least > 0 {
		rows.Caption += fmt.Sprintf("; photos below %s are left out", decide.Percent(f.Least))
	}
	return report.Page{
		Title: "Photos and their nearest photos",
		Lead: fmt.Sprintf("%s looked up among %d by %s distance between the embeddings that %s makes. "+
			"An item that is the photo itself is named under the photo and left out of its neighbours.", searched,
			f.Info.Items, f.Info.Distance, f.By),
		Sections: []report.Section{{Blocks: []report.Block{rows}}},
	}, rows, nil
}
