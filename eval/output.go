package eval

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// jsonReport is the JSON form of a Report. Metrics, Queries and Excluded are
// those of the first column of labels.
type jsonReport struct {
	Metrics     map[string]float64    `json:"metrics"`
	Queries     int                   `json:"queries"`
	Excluded    int                   `json:"excluded"`
	Classes     int                   `json:"classes"`
	Distance    string                `json:"distance"`
	Columns     map[string]jsonColumn `json:"columns,omitempty"`
	Clusterings []jsonClustering      `json:"clusterings,omitempty"`
	Notes       []string              `json:"notes,omitempty"`
}

type jsonColumn struct {
	Metrics  map[string]float64 `json:"metrics"`
	Queries  int                `json:"queries"`
	Excluded int                `json:"excluded"`
	Classes  int                `json:"classes"`
}

type jsonClustering struct {
	K          int     `json:"k"`
	Init       string  `json:"init"`
	Seed       uint64  `json:"seed"`
	Restarts   int     `json:"restarts"`
	Iterations int     `json:"iterations"`
	Converged  bool    `json:"converged"`
	Inertia    float64 `json:"inertia"`
	Refilled   int     `json:"refilled"`
	Empty      int     `json:"empty"`
}

// MarshalJSON writes the report as one object whose keys are stable: metrics,
// queries, excluded, classes and distance of the first column of labels; columns
// with the same for each, if there are several; clusterings; notes.
func (rep *Report) MarshalJSON() ([]byte, error) {
	first := rep.Columns[0].json()
	doc := jsonReport{
		Metrics: first.Metrics, Queries: first.Queries, Excluded: first.Excluded, Classes: first.Classes,
		Distance: rep.Distance.String(), Notes: rep.Notes,
	}
	if len(rep.Columns) > 1 {
		doc.Columns = make(map[string]jsonColumn)
		for _, c := range rep.Columns {
			doc.Columns[c.Name] = c.json()
		}
	}
	for _, c := range rep.Clusterings {
		doc.Clusterings = append(doc.Clusterings, jsonClustering(c))
	}
	return json.Marshal(doc)
}

func (c *Column) json() jsonColumn {
	m := make(map[string]float64, len(c.Values))
	for _, v := range c.Values {
		m[v.Metric.String()] = v.Value
	}
	return jsonColumn{Metrics: m, Queries: c.Queries, Excluded: c.Excluded, Classes: c.Classes}
}

// WriteText writes the report as a table for a terminal, a line per metric and a
// column per column of labels, with the statement of every clustering below.
func (rep *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	rows := rep.rows()
	width := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			width[i] = max(width[i], len(cell))
		}
	}
	for _, r := range rows {
		for i, cell := range r {
			if i == 0 {
				fmt.Fprintf(&b, "%-*s", width[i], cell)
			} else {
				fmt.Fprintf(&b, "  %*s", width[i], cell)
			}
		}
		b.WriteByte('\n')
	}
	for _, line := range rep.remarks() {
		fmt.Fprintln(&b, line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMarkdown writes the report as a Markdown table and a list of remarks.
func (rep *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	for i, r := range rep.rows() {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(r, " | "))
		if i == 0 {
			fmt.Fprintf(&b, "|---|%s\n", strings.Repeat("---:|", len(r)-1))
		}
	}
	for i, line := range rep.remarks() {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "- %s\n", line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteCSV writes the report as CSV with the columns metric, column, value,
// queries, excluded.
func (rep *Report) WriteCSV(w io.Writer) error {
	cw := csv.NewWriter(w)
	if err := cw.Write([]string{"metric", "column", "value", "queries", "excluded"}); err != nil {
		return err
	}
	for _, c := range rep.Columns {
		for _, v := range c.Values {
			err := cw.Write([]string{v.Metric.String(), c.Name, strconv.FormatFloat(v.Value, 'g', -1, 64),
				strconv.Itoa(c.Queries), strconv.Itoa(c.Excluded)})
			if err != nil {
				return err
			}
		}
	}
	cw.Flush()
	return cw.Error()
}

// rows is the table of values: a header, then a row per metric.
func (rep *Report) rows() [][]string {
	header := []string{"metric"}
	for _, c := range rep.Columns {
		header = append(header, c.Name)
	}
	rows := [][]string{header}
	for i, v := range rep.Columns[0].Values {
		row := []string{v.Metric.String()}
		for _, c := range rep.Columns {
			row = append(row, strconv.FormatFloat(c.Values[i].Value, 'f', 4, 64))
		}
		rows = append(rows, row)
	}
	for _, extra := range []struct {
		name string
		get  func(Column) int
	}{
		{"queries", func(c Column) int { return c.Queries }},
		{"left out", func(c Column) int { return c.Excluded }},
		{"classes", func(c Column) int { return c.Classes }},
	} {
		row := []string{extra.name}
		for _, c := range rep.Columns {
			row = append(row, strconv.Itoa(extra.get(c)))
		}
		rows = append(rows, row)
	}
	return rows
}

// remarks states the distance, how every clustering was made, and the notes.
func (rep *Report) remarks() []string {
	lines := []string{"distance: " + rep.Distance.String()}
	for _, c := range rep.Clusterings {
		lines = append(lines, fmt.Sprintf("k-means: K %d, start %s, seed %d, restarts %d, iterations %d, inertia %.6g",
			c.K, c.Init, c.Seed, c.Restarts, c.Iterations, c.Inertia))
	}
	if rep.normalised() {
		lines = append(lines, "nmi and ami are normalised by the arithmetic mean of the entropies unless their name says geometric")
	}
	return append(lines, rep.Notes...)
}

func (rep *Report) normalised() bool {
	for _, v := range rep.Columns[0].Values {
		if v.Metric.Kind == NMI || v.Metric.Kind == AMI {
			return true
		}
	}
	return false
}
