package identify

import (
	"cmp"
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/app/gallery"
	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/eval/rank"
)

// Result is what kindred identify --json prints.
type Result struct {
	Queries  []Query        `json:"queries"`
	Gallery  int            `json:"gallery"`
	Classes  int            `json:"classes"`
	Distance rank.Distance  `json:"distance"`
	FPIR     float64        `json:"fpir"` // 0: every photo gets a label
	Coverage float64        `json:"coverage,omitempty"`
	ByClass  int            `json:"by_class,omitempty"` // classes whose sets are computed from their own items
	LeftOut  []data.LeftOut `json:"left_out,omitempty"`
	Files    []string       `json:"files,omitempty"` // pages of --out
	Summary  *Summary       `json:"summary"`
}

// Query is a photo, or several photos of one thing, with the decision.
type Query struct {
	Query  string   `json:"query"`
	Photos []string `json:"photos,omitempty"` // photos of one thing
	decide.Decision
	// Itself lists the items of the gallery that are the photos: they have no vote.
	Itself []string              `json:"itself,omitempty"`
	Of     []int                 `json:"-"` // numbers of its photos
	Voters [][]gallery.Neighbour `json:"-"` // of each photo, nearest first; nil if they were not kept
}

// Itself counts the decisions about photos that are items of the gallery.
func (res *Result) Itself() (n int) {
	for _, q := range res.Queries {
		if len(q.Itself) > 0 {
			n++
		}
	}
	return n
}

// UndecidedFirst returns the decisions in the order for a person: unknown photos first, then the least
// likely labels.
func (res *Result) UndecidedFirst() []Query {
	rows := slices.Clone(res.Queries)
	slices.SortStableFunc(rows, func(a, b Query) int {
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

// Write writes the decisions as a table.
func (res *Result) Write(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"path", "label", "probability", "runner_up", "unknown", "set"}); err != nil {
		return err
	}
	for _, q := range res.UndecidedFirst() {
		if err := out.Write([]string{q.Query, q.Label, strconv.FormatFloat(q.Probability, 'f', 4, 64), q.RunnerUp,
			strconv.FormatBool(q.Unknown), strings.Join(q.Set, "|")}); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
