package runs

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/report"
)

// seedKey is the setting in which repetitions differ.
const seedKey = "train.seed"

// Group is a setting with its repetitions.
type Group struct {
	// Name tells the group from the others by the settings in which it
	// differs, or by its run's folder.
	Name string
	Runs []*Run
}

// Comparison is a set of runs, grouped.
type Comparison struct {
	Groups []Group
	// Differ are the keys whose values differ between groups, Common those
	// that all share.
	Differ []string
	Common []Setting
}

// Compare groups runs. Keys that a run lacks count as empty.
func Compare(runs []*Run) *Comparison {
	var keys []string
	value := make([]map[string]string, len(runs))
	for i, r := range runs {
		value[i] = map[string]string{}
		for _, s := range r.Config {
			value[i][s.Key] = s.Value
			if s.Key != seedKey && !slices.Contains(keys, s.Key) {
				keys = append(keys, s.Key)
			}
		}
	}
	c := &Comparison{}
	for _, k := range keys {
		differs := slices.ContainsFunc(value, func(v map[string]string) bool { return v[k] != value[0][k] })
		if differs {
			c.Differ = append(c.Differ, k)
		} else {
			c.Common = append(c.Common, Setting{k, value[0][k]})
		}
	}
	index := map[string]int{}
	for i, r := range runs {
		var id strings.Builder
		for _, k := range c.Differ {
			fmt.Fprintf(&id, "%q", value[i][k])
		}
		g, ok := index[id.String()]
		if !ok {
			g = len(c.Groups)
			index[id.String()] = g
			c.Groups = append(c.Groups, Group{})
		}
		c.Groups[g].Runs = append(c.Groups[g].Runs, r)
	}
	c.name()
	return c
}

// name names the groups: a group of one run by its folder, where that is
// unique; otherwise by up to three settings in which groups differ.
func (c *Comparison) name() {
	used := map[string]int{}
	for i := range c.Groups {
		g := &c.Groups[i]
		if len(g.Runs) == 1 {
			g.Name = g.Runs[0].Name
		} else {
			var parts []string
			for _, k := range c.Differ[:min(3, len(c.Differ))] {
				parts = append(parts, k[strings.LastIndex(k, ".")+1:]+" "+g.Runs[0].setting(k))
			}
			g.Name = strings.Join(parts, ", ")
			if g.Name == "" {
				g.Name = "all seeds"
			}
		}
		if used[g.Name]++; used[g.Name] > 1 {
			g.Name = fmt.Sprintf("%s (%d)", g.Name, used[g.Name])
		}
	}
}

func (r *Run) setting(key string) string {
	for _, s := range r.Config {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// Metrics lists the score columns of all runs.
func (c *Comparison) Metrics() []string {
	var out []string
	for _, g := range c.Groups {
		for _, r := range g.Runs {
			for _, m := range r.Metrics() {
				if !slices.Contains(out, m) {
					out = append(out, m)
				}
			}
		}
	}
	return out
}

// last collects the runs' last values of a column.
func (g *Group) last(column string) []float64 {
	var out []float64
	for _, r := range g.Runs {
		if v, ok := r.Last(column); ok {
			out = append(out, v)
		}
	}
	return out
}

// percent says whether a column's values are shares, better shown in percent.
func percent(column string) bool {
	for _, w := range []string{"recall", "precision", "map"} {
		if strings.Contains(column, w) {
			return true
		}
	}
	return false
}

// Scores is the table of final scores, one row per group.
func (c *Comparison) Scores() report.Table {
	t := report.Table{Columns: []report.Column{{Name: "run"}}}
	many := false
	metrics := c.Metrics()
	for _, m := range metrics {
		set, name, _ := strings.Cut(m, "_")
		if percent(m) {
			name += ", %"
		}
		t.Columns = append(t.Columns, report.Column{Group: set, Name: strings.ReplaceAll(name, "_", " "), Best: report.Highest})
	}
	t.Columns = append(t.Columns, report.Column{Name: "epochs"}, report.Column{Name: "time"})
	for _, g := range c.Groups {
		many = many || len(g.Runs) > 1
		name := g.Name
		if len(g.Runs) > 1 {
			name = fmt.Sprintf("%s (%d seeds)", name, len(g.Runs))
		}
		row := report.Row{Cells: []report.Cell{report.T(name)}}
		for _, m := range metrics {
			vs := slices.Clone(g.last(m))
			digits := 4
			if percent(m) {
				digits = 1
				for i := range vs {
					vs[i] *= 100
				}
			}
			row.Cells = append(row.Cells, report.Samples(vs, digits))
		}
		var seconds float64
		for _, r := range g.Runs {
			seconds += r.Seconds / float64(len(g.Runs))
		}
		clock := report.Blank()
		if !math.IsNaN(seconds) {
			clock = report.T(report.Duration(time.Duration(seconds * float64(time.Second))))
		}
		row.Cells = append(row.Cells, report.Samples(g.last("epoch"), 0), clock)
		t.Rows = append(t.Rows, row)
	}
	t.Note = "Scores after the last epoch that was scored."
	if many {
		t.Note += " Runs that differ only in the seed are one row: mean ± standard deviation, and mean time."
	}
	return t
}

// differences is the table of settings in which the groups differ.
func (c *Comparison) differences() report.Table {
	t := report.Table{Columns: []report.Column{{Name: "setting"}}}
	for _, g := range c.Groups {
		t.Columns = append(t.Columns, report.Column{Name: g.Name})
	}
	for _, k := range c.Differ {
		row := report.Row{Cells: []report.Cell{report.T(k)}}
		for _, g := range c.Groups {
			row.Cells = append(row.Cells, report.T(g.Runs[0].setting(k)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// curves draws a column over the epochs, a line per group.
func (c *Comparison) curves(column, title string, value func(r *Run, i int) float64) (report.Lines, bool) {
	l := report.Lines{Axes: report.Axes{Title: title, X: "epoch"}, Marks: true}
	for _, g := range c.Groups {
		var values [][]float64
		var x []float64
		for _, r := range g.Runs {
			epochs := r.Values["epoch"]
			if len(epochs) > len(x) {
				x = epochs
			}
			vs := make([]float64, len(epochs))
			for i := range vs {
				vs[i] = math.NaN()
				if i < len(r.Values[column]) {
					vs[i] = value(r, i)
				}
			}
			values = append(values, vs)
		}
		// Epochs that were not scored are skipped, not shown as gaps.
		mean, low, high := report.MeanBand(values)
		cv := report.Curve{Name: g.Name}
		for i, m := range mean {
			if math.IsNaN(m) {
				continue
			}
			cv.X, cv.Y = append(cv.X, x[i]), append(cv.Y, m)
			if len(g.Runs) > 1 {
				cv.Low, cv.High = append(cv.Low, low[i]), append(cv.High, high[i])
			}
		}
		if len(cv.X) > 0 {
			l.Curves = append(l.Curves, cv)
		}
	}
	return l, len(l.Curves) > 0
}

// figures draws Recall@1 of every set, the loss and the share of active tuples.
func (c *Comparison) figures() []report.Captioned {
	var out []report.Captioned
	add := func(column, title string, value func(r *Run, i int) float64) {
		if l, ok := c.curves(column, title, value); ok {
			out = append(out, report.Captioned{Figure: l})
		}
	}
	for _, m := range c.Metrics() {
		if strings.HasSuffix(m, "recall@1") {
			add(m, strings.ReplaceAll(m, "_", " ")+", %", func(r *Run, i int) float64 { return 100 * r.Values[m][i] })
		}
	}
	add("loss", "loss", func(r *Run, i int) float64 { return r.Values["loss"][i] })
	add("active", "active tuples, %", func(r *Run, i int) float64 {
		if t := r.Values["tuples"]; i < len(t) && t[i] > 0 {
			return 100 * r.Values["active"][i] / t[i]
		}
		return math.NaN()
	})
	return out
}

// Page is the comparison as a page; more sections follow the given ones.
func (c *Comparison) Page(more ...report.Section) report.Page {
	p := report.Page{Title: "Runs compared"}
	if n := len(c.Groups); n == 1 {
		p.Title = "Run " + c.Groups[0].Name
	} else {
		p.Lead = fmt.Sprintf("%d settings side by side.", n)
	}
	p.Sections = append(p.Sections,
		report.Section{Title: "Scores", Blocks: []report.Block{c.Scores()}},
		report.Section{Title: "Training", Blocks: []report.Block{report.Figures{Items: c.figures()}}})
	p.Sections = append(p.Sections, more...)
	settings := report.Section{Title: "Settings"}
	if len(c.Differ) > 0 {
		settings.Blocks = append(settings.Blocks, c.differences())
	}
	common := report.Settings{Caption: "Settings shared by all", Folded: len(c.Groups) > 1}
	if len(c.Groups) == 1 {
		common.Caption = ""
	}
	for _, s := range c.Common {
		common.Items = append(common.Items, report.Item{Name: s.Key, Value: s.Value})
	}
	settings.Blocks = append(settings.Blocks, common)
	p.Sections = append(p.Sections, settings)
	return p
}
