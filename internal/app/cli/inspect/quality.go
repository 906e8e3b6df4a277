package inspect

import (
	"cmp"
	"context"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/app/quality"
)

// Quality has the defects of the photos of a set; see package quality.
type Quality struct {
	// Counts has the number of photos with each defect.
	Counts map[string]int `json:"counts"`
	// Photos lists photos with defects, by defect and then by score, the worst first.
	Photos []DefectivePhoto `json:"photos"`
	// Bursts is the number of photos in bursts. Leaks is the number of photos in bursts that are
	// on both sides of the split. NotSearched is the reason why bursts were not searched for.
	Bursts      int    `json:"bursts"`
	Leaks       int    `json:"leaks"`
	NotSearched string `json:"not_searched,omitempty"`

	rows [][]string
}

// DefectivePhoto is a photo with a defect.
type DefectivePhoto struct {
	Name   string  `json:"name"`
	Defect string  `json:"defect"`
	Score  float64 `json:"score"`
	Reason string  `json:"reason"`
}

// Rows returns a table of all photos with a column for each defect.
func (q *Quality) Rows() [][]string { return q.rows }

// FindDefects looks for photos with defects.
func FindDefects(ctx context.Context, d *data.Dataset, progress func(done, total int)) (*Quality, error) {
	all := d.All()
	measures, err := quality.MeasurePart(ctx, all, progress)
	if err != nil {
		return nil, err
	}
	j := quality.ScorePhotos(measures)
	q := &Quality{Counts: j.Counts(), Photos: []DefectivePhoto{}}
	for defect := range quality.NumDefects {
		var some []DefectivePhoto
		for i := range measures {
			if j.Has(i, defect) {
				some = append(some, DefectivePhoto{d.Names[i], defect.String(), j.Scores[i][defect],
					j.Reason(i, defect)})
			}
		}
		slices.SortStableFunc(some, func(a, b DefectivePhoto) int { return cmp.Compare(b.Score, a.Score) })
		q.Photos = append(q.Photos, some...)
	}
	var together *quality.Bursts
	if d.HasLocalFiles() && all.Fine != nil {
		if together, err = quality.FindBursts(ctx, all, func(i int) string { return splitSide(d, i) }); err != nil {
			return nil, err
		}
		q.NotSearched = together.Why
		for i := range measures {
			if together.IsGrouped(i) {
				q.Bursts++
			}
			if together.Leak[i] {
				q.Leaks++
			}
		}
	}
	q.rows = j.Rows(d.Names, together)
	return q, nil
}

// splitSide returns the side of the split on which a sample is, or "" without a split or a side.
func splitSide(d *data.Dataset, i int) string {
	switch {
	case d.Splits == nil || d.Splits[i] == 0:
		return ""
	case d.Splits[i]&data.Train != 0:
		return "train"
	}
	return "test"
}
