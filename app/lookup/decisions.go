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
	Of        []int             `json:"-"` // numbers of its photos
	NearestOf []float64         `json:"-"` // distance of the nearest item of each photo
	Voters    [][]api.Neighbour `json:"-"` // of each photo, nearest first; nil if they were not kept
}

// Itself counts the decisions about photos that are items of the lookup.
func (res *Decisions) Itself() (n int) {
	for _, q := range res.Queries {
		if len(q.Itself) > 0 {
			n++
		}
	}
	return n
}

// UndecidedFirst returns the decisions in the order for a person: unknown photos first, then the least
// likely labels.
func (res *Decisions) UndecidedFirst() []Decision {
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

// Write writes the decisions as a table.
func (res *Decisions) Write(w io.Writer) error {
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
