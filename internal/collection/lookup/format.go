package lookup

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// FormatDistance returns a distance with its name: distance 0.71, cosine 0.749, product 3.2.
func FormatDistance(by eval.Distance, distance float64) string {
	switch by {
	case eval.Cosine:
		return fmt.Sprintf("cosine %.3f", 1-distance)
	case eval.Dot:
		return fmt.Sprintf("product %.4g", -distance)
	}
	return fmt.Sprintf("distance %.4g", distance)
}

// FormatProbability returns the text of the probability that a neighbour shows the same thing. A calibration
// has no pairs with the distance 0, so the text says that the embeddings are equal.
func FormatProbability(n *api.Neighbour, distance string, p float64) string {
	const equal = 1e-6 // distance of equal embeddings, with the error of rounding
	switch {
	case n.IsQuery:
		return "this very picture"
	case distance != eval.Dot.String() && n.Distance < equal:
		return "an equal embedding"
	}
	return "the same: " + decide.Percent(p)
}

// FormatSelf names the items that are the query, with their labels.
func FormatSelf(items, labels []string) string {
	of := map[string][]string{}
	for i, l := range labels {
		l = cmp.Or(l, decide.Unlabelled)
		of[l] = append(of[l], items[i])
	}
	var out []string
	for _, l := range distinctLabels(labels) {
		out = append(out, fmt.Sprintf("%s (%s)", l, FormatFirstNames(of[l])))
	}
	text := strings.Join(out, ", ")
	if len(out) > 1 {
		text += ": the labels differ"
	}
	return text
}

// FormatFirstNames lists the first few of some names.
func FormatFirstNames(names []string) string {
	const few = 10
	var out []string
	for _, name := range names[:min(few, len(names))] {
		out = append(out, escape.Name(name))
	}
	if len(names) > few {
		out = append(out, "...")
	}
	return strings.Join(out, ", ")
}

// Print writes the answers for a terminal. For a table, neighbours have their labels, else their columns in the order
// of the gallery's.
func (r *Results) Print(to io.Writer, g Gallery, in *Info) error {
	_, isTable := g.(*Table)
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	line := func(rank string, n *api.Neighbour) {
		distance, about := fmt.Sprintf("%.4g", n.Distance), formatColumns(in.Columns, n.Columns)
		if isTable {
			distance, about = FormatDistance(in.Distance, n.Distance), n.Label
		}
		fmt.Fprintf(w, "%s\t%s", rank, distance)
		if n.MatchProbability != nil {
			fmt.Fprintf(w, "\t%s", FormatProbability(n, in.Distance.String(), *n.MatchProbability))
		}
		if n.Count > 1 {
			about = strings.TrimSpace(fmt.Sprintf("%s (and %d more)", about, n.Count-1))
		}
		fmt.Fprintf(w, "\t%s\t%s\n", NeighbourName(n), about)
	}
	for i := range r.Queries {
		q := &r.Queries[i]
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, q.Query)
		if len(q.QueryIDs) > 0 {
			fmt.Fprintf(w, "this very picture, left out below: %s\n", FormatSelf(q.QueryIDs, q.QueryLabels))
		}
		for k := range q.Neighbours {
			n := &q.Neighbours[k]
			line(fmt.Sprintf("%3d", k+1), n)
			for j := range n.Others {
				line("   ", &n.Others[j])
			}
		}
		if len(q.Neighbours) == 0 && r.MinProbability > 0 {
			fmt.Fprintf(w, "no neighbour is the same thing with a probability of %g or more\n", r.MinProbability)
		}
		if e := q.Explain; e != nil {
			fmt.Fprintf(w, "query: %s\ngallery: %s\ndistance: %s\n", e.Query, e.Gallery, e.Distance)
			if e.MatchProbability != "" {
				fmt.Fprintf(w, "the same: %s\n", e.MatchProbability)
			}
			fmt.Fprintf(w, "steps: %s\n", strings.Join(e.Steps, "; "))
		}
	}
	if len(r.Files) > 0 {
		fmt.Fprintf(w, "\nwritten %s\n", strings.Join(r.Files, " "))
	}
	return w.Flush()
}

// formatColumns writes an item's columns for people, in the order of the gallery's.
func formatColumns(columns []store.Column, of map[string]any) string {
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
