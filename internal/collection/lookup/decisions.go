package lookup

import (
	"cmp"
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/serve/api"
)

// Decisions is what kindred identify --json prints.
type Decisions struct {
	api.IdentificationHead
	Queries []Decision     `json:"queries"`
	LeftOut []data.LeftOut `json:"left_out,omitempty"`
	Files   []string       `json:"files,omitempty"` // pages of --out
	Summary *Summary       `json:"summary"`
}

// Decision is a decision with its reasons.
type Decision struct {
	api.Identification
	score     float64           // see decide.Decision.Score
	Of        []int             `json:"-"` // numbers of its photos
	NearestOf []float64         `json:"-"` // distance of the nearest item of each photo
	Voters    [][]api.Neighbour `json:"-"` // of each photo, nearest first; nil if they were not kept
}

// SortedForReview returns the decisions in the order for a person: unknown photos first, then the least
// likely labels.
func (res *Decisions) SortedForReview() []Decision {
	rows := slices.Clone(res.Queries)
	slices.SortStableFunc(rows, func(a, b Decision) int {
		if a.Unknown != b.Unknown {
			if a.Unknown {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Probability, b.Probability)
	})
	return rows
}

// Write writes the decisions as a table. Its columns from itself on are empty unless the photo is an item.
func (res *Decisions) Write(w io.Writer) error {
	share := func(p float64) string { return strconv.FormatFloat(p, 'f', 4, 64) }
	out := csv.NewWriter(w)
	if err := out.Write([]string{"path", "label", "probability", "runner_up", "unknown", "set", "answer", "itself",
		"others_label", "others_probability", "others_unknown"}); err != nil {
		return err
	}
	for _, q := range res.SortedForReview() {
		row := []string{q.Query, q.Label, share(q.Probability), q.RunnerUp, strconv.FormatBool(q.Unknown),
			strings.Join(q.Set, "|"), q.Answer, strings.Join(q.PhotoIDs, "|"), "", "", ""}
		if o := q.Others; o != nil {
			row = append(row[:8], o.Label, share(o.Probability), strconv.FormatBool(o.Unknown))
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
