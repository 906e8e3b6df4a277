package runs

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/internal/report"
	"github.com/kindred-ml/kindred/run"
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
	Common []run.Setting
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
			c.Common = append(c.Common, run.Setting{Key: k, Value: value[0][k]})
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
			g.Name = g.Runs[0].Name()
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
		if v, err := r.Last(column); err == nil {
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

// Scores are the tables of final scores, a row per group: one table for every
// set and column of labels that was scored, and one of epochs and times.
func (c *Comparison) Scores() []report.Table {
	var out []report.Table
	metrics := c.Metrics()
	for len(metrics) > 0 {
		about, _ := splitMetric(metrics[0])
		t := report.Table{Caption: about, Columns: []report.Column{{Name: "run"}}}
		var here, rest []string
		for _, m := range metrics {
			a, name := splitMetric(m)
			if a != about {
				rest = append(rest, m)
				continue
			}
			if here = append(here, m); percent(m) {
				name += ", %"
			}
			t.Columns = append(t.Columns, report.Column{Name: name, Best: report.Highest})
		}
		for _, g := range c.Groups {
			row := report.Row{Cells: []report.Cell{report.T(g.label())}}
			for _, m := range here {
				vs, digits := g.last(m), 4
				if percent(m) {
					digits = 1
					for i := range vs {
						vs[i] *= 100
					}
				}
				row.Cells = append(row.Cells, report.Samples(vs, digits))
			}
			t.Rows = append(t.Rows, row)
		}
		if len(c.Groups) > 1 {
			t.Note = "A marked number is the highest of its column; that is no test of a difference."
		}
		out, metrics = append(out, t), rest
	}
	return append(out, c.times())
}

// splitMetric cuts "test_label_recall@1" into what was scored, "test, label",
// and the name of the measure, "recall@1".
func splitMetric(m string) (about, name string) {
	i := strings.LastIndex(m, "_")
	return strings.ReplaceAll(m[:i], "_", ", "), m[i+1:]
}

// label is the group's name with its number of seeds.
func (g *Group) label() string {
	if len(g.Runs) > 1 {
		return fmt.Sprintf("%s (%d seeds)", g.Name, len(g.Runs))
	}
	return g.Name
}

// times is the table of epochs and times.
func (c *Comparison) times() report.Table {
	t := report.Table{
		Caption: "effort",
		Columns: []report.Column{{Name: "run"}, {Name: "epochs"}, {Name: "loss"}, {Name: "time"}},
		Note:    "Scores and loss are those of the last epoch.",
	}
	for i := range c.Groups {
		g := &c.Groups[i]
		var seconds float64
		for _, r := range g.Runs {
			seconds += r.Seconds / float64(len(g.Runs))
		}
		clock := report.Blank()
		if !math.IsNaN(seconds) {
			clock = report.T(report.Duration(time.Duration(seconds * float64(time.Second))))
		}
		if len(g.Runs) > 1 {
			t.Note = "Scores and loss are those of the last epoch. Runs that differ only in the seed are one row: " +
				"mean ± standard deviation, and mean time."
		}
		t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{report.T(g.label()), report.Samples(g.last("epoch"), 0),
			report.Samples(g.last("loss"), 4), clock}})
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
	l := report.Lines{Axes: report.Axes{Title: title, X: "epoch", WholeX: true}, Marks: true}
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
	scores := report.Section{Title: "Scores"}
	for _, t := range c.Scores() {
		scores.Blocks = append(scores.Blocks, t)
	}
	training := report.Section{Title: "Training", Blocks: []report.Block{report.Figures{Items: c.figures()}}}
	if v, ok := c.idle(); ok {
		training.Blocks = append([]report.Block{v}, training.Blocks...)
	}
	p.Sections = append(p.Sections, scores, training)
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
