package items

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/kindred-ml/kindred/app/lookup"
	"github.com/kindred-ml/kindred/app/mirror"
	"github.com/kindred-ml/kindred/app/page/report/retrieval"
	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/store"
)

// Answers are the answers to all queries of a command.
type Answers struct {
	Index    string           `json:"index"`
	Queries  []lookup.Answer `json:"queries"`
	Items    int              `json:"items"`
	Distance rank.Distance    `json:"distance"`
	LeftOut  []data.LeftOut   `json:"left_out,omitempty"`
	// Calibration is the file that probabilities come from. Neighbours with a probability below
	// Least are not shown.
	Calibration string  `json:"calibration,omitempty"`
	Least       float64 `json:"least,omitempty"`
}

// Write writes the answers for a terminal, the fields of items in the order of columns.
func (a *Answers) Write(to io.Writer, columns []store.Column) error {
	return Write(to, "index", a.Queries, a.Least, func(n *lookup.Neighbour) (distance, name, about string) {
		return fmt.Sprintf("%.4g", n.Distance), n.Name(), fields(columns, n.Fields)
	})
}

// Write writes answers for a terminal. where names the lookup. of returns the distance of a neighbour, its name and
// further text.
func Write(to io.Writer, where string, answers []lookup.Answer, least float64,
	of func(n *lookup.Neighbour) (distance, name, about string)) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for i, q := range answers {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, q.Query)
		if len(q.Itself) > 0 {
			fmt.Fprintf(w, "left out, as it is the photo itself in the %s: %s\n", where, strings.Join(q.Itself, ", "))
		}
		for k, n := range q.Neighbours {
			distance, name, about := of(&n)
			fmt.Fprintf(w, "%3d\t%s", k+1, distance)
			if n.Same != nil {
				fmt.Fprintf(w, "\t%s", retrieval.Same(*n.Same))
			}
			fmt.Fprintf(w, "\t%s\t%s\n", name, about)
		}
		if len(q.Neighbours) == 0 && least > 0 {
			fmt.Fprintf(w, "no neighbour is the same thing with a probability of %g or more\n", least)
		}
	}
	return w.Flush()
}

// fields writes an item's fields for people, in the order of the columns.
func fields(columns []store.Column, of map[string]any) string {
	var out []string
	for _, c := range columns {
		v := of[c.Name]
		if v == nil || strings.HasPrefix(c.Name, mirror.Prefix) { // columns that only kindred index sync needs
			continue
		}
		text := store.FormatValue(v)
		if c.Kind == store.Text && strings.ContainsAny(text, " =\"") {
			quoted, err := json.Marshal(text)
			if err == nil {
				text = string(quoted)
			}
		}
		out = append(out, c.Name+"="+text)
	}
	return strings.Join(out, " ")
}
