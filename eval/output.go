package eval

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kindred-ml/kindred/internal/base/escape"
)

// jsonReport is the JSON form of a Report. Metrics, Queries and Excluded are
// those of the first column of labels.
type jsonReport struct {
	Metrics     map[string]float64    `json:"metrics"`
	Queries     int                   `json:"queries"`
	Excluded    int                   `json:"excluded"`
	SelfQueries int                   `json:"itself,omitempty"` // queries that are also items of the gallery
	Classes     int                   `json:"classes"`
	Distance    string                `json:"distance"`
	Intervals   map[string]jsonBounds `json:"intervals,omitempty"`
	Decisions   *jsonDecisions        `json:"decisions,omitempty"`
	PerClass    []jsonClass           `json:"per_class,omitempty"`
	Worst       []jsonQuery           `json:"worst,omitempty"`
	Columns     map[string]jsonColumn `json:"columns,omitempty"`
	Clusterings []jsonClustering      `json:"clusterings,omitempty"`
	Notes       []string              `json:"notes,omitempty"`
}

type jsonColumn struct {
	Metrics   map[string]float64    `json:"metrics"`
	Queries   int                   `json:"queries"`
	Excluded  int                   `json:"excluded"`
	Classes   int                   `json:"classes"`
	Intervals map[string]jsonBounds `json:"intervals,omitempty"`
	Decisions *jsonDecisions        `json:"decisions,omitempty"`
	PerClass  []jsonClass           `json:"per_class,omitempty"`
	Worst     []jsonQuery           `json:"worst,omitempty"`
}

// jsonDecisions holds the thresholds of measures by name, and the numbers of pairs and probes.
type jsonDecisions struct {
	Genuine    int64                    `json:"genuine,omitempty"`
	Impostor   int64                    `json:"impostor,omitempty"`
	Mated      int                      `json:"mated,omitempty"`
	Unmated    int                      `json:"unmated,omitempty"`
	Rank1      *float64                 `json:"rank1,omitempty"`
	Thresholds map[string]jsonThreshold `json:"thresholds,omitempty"`
}

// jsonThreshold is a threshold with the FMR or FPIR that it has on these data.
type jsonThreshold struct {
	Threshold *float64 `json:"threshold"` // null if it accepts nothing
	Rate      float64  `json:"rate"`
}

// jsonBounds holds the ends of the intervals of one measure.
type jsonBounds struct {
	Confidence float64     `json:"confidence"`
	Resamples  int         `json:"resamples"`
	ByQuery    *[2]float64 `json:"by_query,omitempty"` // decisions have none
	ByClass    [2]float64  `json:"by_class"`
}

type jsonClass struct {
	Label   int64              `json:"label"`
	Name    string             `json:"name,omitempty"`
	Queries int                `json:"queries"`
	Metrics map[string]float64 `json:"metrics"`
}

type jsonQuery struct {
	Query           int                `json:"query"`
	Path            string             `json:"path,omitempty"`
	Label           int64              `json:"label"`
	Positives       int                `json:"positives"`
	First           int                `json:"first_positive_rank"` // 0: behind every k
	Metrics         map[string]float64 `json:"metrics"`
	Neighbours      []int32            `json:"neighbours"`
	NeighbourLabels []int64            `json:"neighbour_labels"`
	NeighbourPaths  []string           `json:"neighbour_paths,omitempty"`
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
func (rep Report) MarshalJSON() ([]byte, error) {
	first := jsonColumn{Metrics: map[string]float64{}}
	if len(rep.Columns) > 0 {
		first = rep.Columns[0].toJSON()
	}
	doc := jsonReport{
		Metrics: first.Metrics, Queries: first.Queries, Excluded: first.Excluded, SelfQueries: rep.SelfQueries,
		Classes: first.Classes, Intervals: first.Intervals, Decisions: first.Decisions, PerClass: first.PerClass,
		Worst: first.Worst, Distance: rep.Distance.String(), Notes: rep.Notes,
	}
	if len(rep.Columns) > 1 {
		doc.Columns = make(map[string]jsonColumn)
		for _, c := range rep.Columns {
			doc.Columns[c.Name] = c.toJSON()
		}
	}
	for _, c := range rep.Clusterings {
		doc.Clusterings = append(doc.Clusterings, jsonClustering(c))
	}
	return json.Marshal(doc)
}

func (c *Column) toJSON() jsonColumn {
	j := jsonColumn{Metrics: make(map[string]float64, len(c.Values)), Queries: c.Queries, Excluded: c.Excluded,
		Classes: c.Classes}
	for _, v := range c.Values {
		j.Metrics[v.Metric.String()] = v.Value
		if v.ByClass != nil {
			if j.Intervals == nil {
				j.Intervals = make(map[string]jsonBounds)
			}
			b := jsonBounds{Confidence: v.ByClass.Confidence, Resamples: v.numResamples(),
				ByClass: [2]float64{v.ByClass.Low, v.ByClass.High}}
			if v.ByQuery != nil {
				b.ByQuery = &[2]float64{v.ByQuery.Low, v.ByQuery.High}
			}
			j.Intervals[v.Metric.String()] = b
		}
	}
	j.Decisions = c.jsonDecisions()
	for _, k := range c.PerClass {
		j.PerClass = append(j.PerClass, jsonClass{k.Label, c.Names[k.Label], k.Queries, c.byMetricName(k.Values)})
	}
	for _, q := range c.Worst {
		j.Worst = append(j.Worst,
			jsonQuery{q.Index, q.File, q.Label, q.Positives, q.FirstRank, c.byMetricName(q.Values), q.Neighbours,
				q.NeighbourLabels,
				q.NeighbourFiles})
	}
	return j
}

// jsonDecisions returns the thresholds of decisions and the numbers of pairs and probes, or nil without
// decisions.
func (c *Column) jsonDecisions() *jsonDecisions {
	if c.Pairs == nil && c.OpenSet == nil {
		return nil
	}
	j := &jsonDecisions{Thresholds: make(map[string]jsonThreshold)}
	if c.Pairs != nil {
		j.Genuine, j.Impostor = c.Pairs.Genuine(), c.Pairs.Impostor()
	}
	if c.OpenSet != nil {
		rank1 := c.OpenSet.Rank1()
		j.Mated, j.Unmated, j.Rank1 = c.OpenSet.NumMated(), c.OpenSet.NumUnmated(), &rank1
	}
	for _, v := range c.Values {
		if v.Decision != nil {
			t := jsonThreshold{nil, v.Decision.Rate}
			if !v.Decision.AcceptsNothing() {
				t.Threshold = &v.Decision.Threshold
			}
			j.Thresholds[v.Metric.String()] = t
		}
	}
	return j
}

// byMetricName maps the names of the column's retrieval measures, which come first, to values.
func (c *Column) byMetricName(values []float64) map[string]float64 {
	m := make(map[string]float64, len(values))
	for i, v := range values {
		m[c.Values[i].Metric.String()] = v
	}
	return m
}

// className returns the name of a label, or its number.
func (c *Column) className(label int64) string {
	if n, ok := c.Names[label]; ok {
		return n
	}
	return strconv.FormatInt(label, 10)
}

// WriteText writes the report as tables for a terminal, with a line for each metric and a column for
// each column of labels. Then follow intervals, classes and worst queries if requested, and the
// statement of every clustering.
func (rep *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for i, t := range rep.tables() {
		if i > 0 {
			fmt.Fprintf(&b, "\n%s\n", escape.Name(t.title))
		}
		width := make([]int, len(t.rows[0]))
		for _, r := range t.rows {
			for i, cell := range r {
				r[i] = escape.Name(cell)
				width[i] = max(width[i], utf8.RuneCountInString(r[i]))
			}
		}
		for _, r := range t.rows {
			for i, cell := range r {
				pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
				switch {
				case i == 0 && len(r) == 1:
					b.WriteString(cell)
				case i == 0:
					b.WriteString(cell + pad)
				default:
					b.WriteString("  " + pad + cell)
				}
			}
			b.WriteByte('\n')
		}
	}
	b.WriteByte('\n')
	for _, line := range rep.remarks() {
		fmt.Fprintln(&b, escape.Name(line))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMarkdown writes the same tables in Markdown.
func (rep *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	for i, t := range rep.tables() {
		if i > 0 {
			fmt.Fprintf(&b, "\n## %s\n\n", escape.Markdown(t.title))
		}
		for i, r := range t.rows {
			for c, cell := range r {
				fmt.Fprintf(&b, "| %s ", escape.Markdown(cell))
				if c == len(r)-1 {
					b.WriteString("|\n")
				}
			}
			if i == 0 {
				fmt.Fprintf(&b, "|---|%s\n", strings.Repeat("---:|", len(r)-1))
			}
		}
	}
	b.WriteByte('\n')
	for _, line := range rep.remarks() {
		fmt.Fprintf(&b, "- %s\n", escape.Markdown(line))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteCSV writes the values as CSV. The columns are metric, column, value, queries, excluded, the ends
// of the intervals by query and by class, and the threshold with its FMR or FPIR. Missing values are
// empty.
func (rep *Report) WriteCSV(w io.Writer) error {
	rows := [][]string{{"metric", "column", "value", "queries", "excluded", "query_low", "query_high", "class_low",
		"class_high", "threshold", "rate"}}
	for _, c := range rep.Columns {
		for _, v := range c.Values {
			row := []string{v.Metric.String(), c.Name, formatExact(v.Value), strconv.Itoa(c.Queries),
				strconv.Itoa(c.Excluded), "", "", "", "", "", ""}
			if v.ByQuery != nil {
				copy(row[5:], []string{formatExact(v.ByQuery.Low), formatExact(v.ByQuery.High)})
			}
			if v.ByClass != nil {
				copy(row[7:], []string{formatExact(v.ByClass.Low), formatExact(v.ByClass.High)})
			}
			if v.Decision != nil {
				copy(row[9:], []string{v.Decision.Text(-1), formatExact(v.Decision.Rate)})
			}
			rows = append(rows, row)
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// WriteClassesCSV writes the measures of each class: column, label, name, queries and a column for each
// metric.
func (rep *Report) WriteClassesCSV(w io.Writer) error {
	var rows [][]string
	for _, c := range rep.Columns {
		for i, k := range c.PerClass {
			row, header := []string{c.Name, strconv.FormatInt(k.Label, 10), c.Names[k.Label], strconv.Itoa(k.Queries)},
				[]string{"column", "label", "name", "queries"}
			for m, v := range k.Values {
				row, header = append(row, formatExact(v)), append(header, c.Values[m].Metric.String())
			}
			if i == 0 && rows == nil {
				rows = append(rows, header)
			}
			rows = append(rows, row)
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

func formatExact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// table is a titled table whose first row is its header.
type table struct {
	title string
	rows  [][]string
}

// tables returns the table of values and the other requested tables.
func (rep *Report) tables() []table {
	out := []table{{"", rep.valueRows()}}
	for i := range rep.Columns {
		c := &rep.Columns[i]
		if t := c.thresholdTable(); len(t.rows) > 1 {
			out = append(out, t)
		}
		if t := c.intervalTable(); len(t.rows) > 1 {
			out = append(out, t)
		}
		if len(c.PerClass) > 0 {
			out = append(out, c.classTable())
		}
		if len(c.Worst) > 0 {
			out = append(out, c.worstTable())
		}
	}
	return out
}

// thresholdTable returns the table of the thresholds of decisions.
func (c *Column) thresholdTable() table {
	t := table{title: c.Name + ": thresholds", rows: [][]string{{"metric", "value", "threshold", "rate"}}}
	for _, v := range c.Values {
		if d := v.Decision; d != nil {
			t.rows = append(t.rows, []string{v.Metric.String(), fmt.Sprintf("%.4f", v.Value),
				d.Text(6), fmt.Sprintf("%.4g", d.Rate)})
		}
	}
	return t
}

// numResamples returns the number of resamples of its intervals.
func (v *Value) numResamples() int {
	if v.ByQuery != nil {
		return v.ByQuery.Resamples
	}
	return v.ByClass.Resamples
}

func (c *Column) intervalTable() table {
	t := table{rows: [][]string{{"metric", "value", "by queries", "by classes"}}}
	between := func(i *Interval) string {
		if i == nil {
			return ""
		}
		return fmt.Sprintf("%.4f..%.4f", i.Low, i.High)
	}
	for _, v := range c.Values {
		if v.ByClass != nil {
			t.title = fmt.Sprintf("%s: %g%% intervals of %d resamples", c.Name, 100*v.ByClass.Confidence,
				v.numResamples())
			t.rows = append(t.rows,
				[]string{v.Metric.String(), fmt.Sprintf("%.4f", v.Value), between(v.ByQuery), between(v.ByClass)})
		}
	}
	return t
}

func (c *Column) headerRow(names ...string) []string {
	for i := range c.NumPerQueryMetrics() {
		names = append(names, c.Values[i].Metric.String())
	}
	return names
}

// NumPerQueryMetrics returns the number of retrieval measures, which come first in Values. Classes and
// queries have only values of these.
func (c *Column) NumPerQueryMetrics() int {
	n := 0
	for n < len(c.Values) && c.Values[n].Metric.isRetrieval() {
		n++
	}
	return n
}

func (c *Column) classTable() table {
	t := table{title: c.Name + ": classes", rows: [][]string{c.headerRow("class", "queries")}}
	for _, k := range c.PerClass {
		row := []string{c.className(k.Label), strconv.Itoa(k.Queries)}
		for _, v := range k.Values {
			row = append(row, fmt.Sprintf("%.4f", v))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func (c *Column) worstTable() table {
	t := table{title: c.Name + ": worst queries",
		rows: [][]string{{"query", "class", "positives", "first at rank", "nearest", "of class"}}}
	for _, q := range c.Worst {
		row := []string{cmp.Or(q.File, strconv.Itoa(q.Index)), c.className(q.Label), strconv.Itoa(q.Positives),
			"beyond", "",
			""}
		if q.FirstRank > 0 {
			row[3] = strconv.Itoa(q.FirstRank)
		}
		if len(q.Neighbours) > 0 {
			row[4], row[5] = strconv.Itoa(int(q.Neighbours[0])), c.className(q.NeighbourLabels[0])
			if q.NeighbourFiles != nil {
				row[4] = q.NeighbourFiles[0]
			}
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// valueRows returns the table of values: a header, then a row for each metric.
func (rep *Report) valueRows() [][]string {
	header := []string{"metric"}
	for _, c := range rep.Columns {
		header = append(header, c.Name)
	}
	rows := [][]string{header}
	if len(rep.Columns) == 0 {
		return rows
	}
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

// remarks returns the distance, the description of every clustering, and the notes.
func (rep *Report) remarks() []string {
	lines := []string{"distance: " + rep.Distance.String()}
	for _, c := range rep.Clusterings {
		lines = append(lines, fmt.Sprintf("k-means: K %d, start %s, seed %d, restarts %d, iterations %d, inertia %.6g",
			c.K, c.Init, c.Seed, c.Restarts, c.Iterations, c.Inertia))
	}
	if rep.isNormalised() {
		lines = append(lines,
			"nmi and ami are normalised by the arithmetic mean of the entropies unless their name says geometric")
	}
	for i := range rep.Columns {
		c := &rep.Columns[i]
		if c.Pairs != nil {
			lines = append(lines, fmt.Sprintf("%s: %d genuine and %d impostor pairs; accepted is a distance up to the "+
				"threshold", c.Name, c.Pairs.Genuine(), c.Pairs.Impostor()))
		}
		if c.OpenSet != nil {
			lines = append(lines, fmt.Sprintf("%s: %d queries with a mate in the gallery (a share of %.4f have one "+
				"nearest), %d without", c.Name, c.OpenSet.NumMated(), c.OpenSet.Rank1(), c.OpenSet.NumUnmated()))
		}
	}
	return append(lines, rep.Notes...)
}

func (rep *Report) isNormalised() bool {
	return len(rep.Columns) > 0 && slices.ContainsFunc(rep.Columns[0].Values, func(v Value) bool {
		return v.Metric.Kind.measure().arithmetic
	})
}
