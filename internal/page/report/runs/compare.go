package runs

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/run"
)

// seedKey is the only setting in which repetitions differ.
const seedKey = "train.seed"

// Group is a setting with its repetitions.
type Group struct {
	// Name identifies the group by the settings that tell it from the others, or by its
	// run's folder.
	Name string
	Runs []*Run

	sizes   map[string]size     // sizes of the sets whose embeddings the first run kept
	classes map[string][]string // see scoredClasses
}

// Comparison is a set of runs, grouped.
type Comparison struct {
	Groups []Group
	// Differ are the keys whose values differ between groups: first those that tell the groups
	// apart, then those that follow from them. Common are those that all share.
	Differ []string
	Common []run.Setting
	// Unseen has an error for each data set whose photos the page lacks.
	Unseen []error

	views []report.Section // results of Look
}

// Compare groups runs. A key that a run lacks has an empty value.
func Compare(runs []*Run) *Comparison {
	var keys []string
	value := make([]map[string]string, len(runs))
	for i, r := range runs {
		value[i] = map[string]string{}
		for _, s := range r.Config {
			value[i][s.Key] = settingValue(s)
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
			c.Common = append(c.Common, run.Setting{Key: k, Value: runs[0].setting(k)})
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
	telling := c.orderDiffering(func(g *Group, k string) string { return value[slices.Index(runs, g.Runs[0])][k] })
	c.nameGroups(telling)
	return c
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

// scores returns the scores of the networks that the runs ended with.
func (g *Group) scores(column string) []float64 { return g.values((*Run).Score, column) }

// lastValues returns the runs' last values of a column.
func (g *Group) lastValues(column string) []float64 { return g.values((*Run).LastValue, column) }

func (g *Group) values(of func(r *Run, column string) (float64, error), column string) []float64 {
	var out []float64
	for _, r := range g.Runs {
		if v, err := of(r, column); err == nil {
			out = append(out, v)
		}
	}
	return out
}

// IsPercent reports whether a column's values are shares, which are shown in per cent.
func IsPercent(column string) bool {
	return slices.ContainsFunc([]string{"recall", "precision", "map"}, func(w string) bool {
		return strings.Contains(column, w)
	})
}

// Scores returns the tables of final scores, with a row per group: a table for every
// set and column of labels that was scored, and one of epochs and times.
func (c *Comparison) Scores() []report.Table {
	var out []report.Table
	metrics := c.Metrics()
	for len(metrics) > 0 {
		set, label, _ := splitMetric(metrics[0])
		t := report.Table{Caption: capitalize(c.describeSet(set)), Columns: []report.Column{{Name: "run"}}}
		if label != "" {
			t.Caption += ", by " + label
		}
		sizes := c.hasDifferentSizes(set)
		if sizes {
			items := c.Groups[0].Runs[0].itemWord()
			t.Columns = append(t.Columns, report.Column{Name: items}, report.Column{Name: "classes"})
		}
		best := report.Highest
		if !c.hasSameClasses(set) {
			best = report.NoBest
		}
		var here, rest []string
		for _, m := range metrics {
			s, l, name := splitMetric(m)
			if s != set || l != label {
				rest = append(rest, m)
				continue
			}
			if here = append(here, m); IsPercent(m) {
				name += ", %"
			}
			t.Columns = append(t.Columns, report.Column{Name: name, Best: best})
		}
		for _, g := range c.Groups {
			row := report.Row{Cells: []report.Cell{report.NameCell(g.Name)}}
			if sizes {
				row.Cells = append(row.Cells, g.sizes[set].cells()...)
			}
			for _, m := range here {
				row.Cells = append(row.Cells, scoreCell(m, g.scores(m)))
			}
			t.Rows = append(t.Rows, row)
		}
		if before, ok := c.untrainedRow(here); ok && !sizes {
			t.Rows = append(t.Rows, before)
		}
		switch {
		case len(t.Rows) > 1 && best == report.NoBest:
			t.Note = "No number is marked: the runs are scored on different classes, and some classes are easier."
		case len(t.Rows) > 1:
			t.Note = "A marked number is the highest of its measure. This is not a test of a difference."
		}
		out, metrics = append(out, t), rest
	}
	return append(out, c.timeTable())
}

// scoreCell returns a cell with the scores of a column.
func scoreCell(column string, values []float64) report.Cell {
	if !IsPercent(column) {
		return report.SampleCell(values, 4)
	}
	for i := range values {
		values[i] *= 100
	}
	return report.SampleCell(values, 1)
}

// untrainedRow returns the row of scores before training, for a single run that has them.
func (c *Comparison) untrainedRow(columns []string) (row report.Row, ok bool) {
	if len(c.Groups) != 1 || len(c.Groups[0].Runs) != 1 {
		return row, false
	}
	row.Cells = []report.Cell{report.TextCell("before training, at its own image size")}
	for _, m := range columns {
		v, has := c.Groups[0].Runs[0].kept.untrained[m]
		if !has {
			row.Cells = append(row.Cells, report.BlankCell())
			continue
		}
		ok = true
		row.Cells = append(row.Cells, scoreCell(m, []float64{v}))
	}
	return row, ok
}

// splitMetric divides "test_label_recall@1" into the set "test", the labels "label"
// and the measure "recall@1".
func splitMetric(m string) (set, label, name string) {
	i := strings.LastIndex(m, "_")
	set, label, _ = strings.Cut(m[:i], "_")
	return set, label, m[i+1:]
}

// describeSet returns the name of a set and, if all groups kept the same set, its size.
func (c *Comparison) describeSet(set string) string {
	first, known := c.Groups[0].sizes[set]
	if !known || c.hasDifferentSizes(set) {
		return describeSetName(set)
	}
	return fmt.Sprintf("%s, %d %s of %d classes", describeSetName(set), first.items, c.Groups[0].Runs[0].itemWord(),
		first.classes)
}

// hasDifferentSizes reports whether the groups' sets have different sizes, so that the table needs
// them.
func (c *Comparison) hasDifferentSizes(set string) bool {
	return slices.ContainsFunc(c.Groups, func(g Group) bool { return g.sizes[set] != c.Groups[0].sizes[set] })
}

// itemWord returns the word for a run's samples.
func (r *Run) itemWord() string {
	switch filepath.Ext(r.setting("data.path")) {
	case ".npy", ".npz", ".safetensors", ".parquet": // ready features
		return "items"
	}
	return "images"
}

// hasSeveralSeeds reports whether a group has several runs.
func (c *Comparison) hasSeveralSeeds() bool {
	return slices.ContainsFunc(c.Groups, func(g Group) bool { return len(g.Runs) > 1 })
}

// timeTable returns the table of epochs and times.
func (c *Comparison) timeTable() report.Table {
	t := report.Table{
		Caption: "Training",
		Columns: []report.Column{{Name: "run"}, {Name: "epochs"}, {Name: "best epoch"}, {Name: "loss"}, {Name: "time"}},
		Note:    "Scores and loss are those of the last epoch.",
	}
	seeds := c.hasSeveralSeeds()
	if seeds {
		t.Columns = slices.Insert(t.Columns, 1, report.Column{Name: "seeds"})
	}
	best, kept := c.bestColumn()
	if kept {
		t.Note = fmt.Sprintf("Scores are of the network that was kept: %s. Epoch 0 is the network before training, "+
			"with a computed layer (wccn) if its samples allow it; a pretrained network is kept unless validation "+
			"shows that training improved it. The loss is of the last epoch.",
			c.firstBestRun().bestRule().Rule(metricName(best)))
	} else if best != "" {
		t.Note += fmt.Sprintf(" The best epoch is the one with the highest %s.", metricName(best))
	}
	for i := range c.Groups {
		g := &c.Groups[i]
		var seconds float64
		var epochs []float64
		for _, r := range g.Runs {
			seconds += r.Seconds / float64(len(g.Runs))
			if e := r.best(best); e >= 0 {
				epochs = append(epochs, e)
			}
		}
		clock := report.BlankCell()
		if !math.IsNaN(seconds) {
			clock = report.TextCell(report.FormatDuration(time.Duration(seconds * float64(time.Second))))
		}
		row := report.Row{Cells: []report.Cell{report.NameCell(g.Name)}}
		if seeds {
			row.Cells = append(row.Cells, report.NumberCell(float64(len(g.Runs)), 0))
		}
		t.Rows = append(t.Rows, report.Row{Cells: append(row.Cells,
			report.SampleCell(g.lastValues("epoch"), 0), report.SampleCell(epochs, 0),
			report.SampleCell(g.lastValues("loss"), 4), clock)})
	}
	if seeds {
		t.Note += " Runs that differ only in the seed are one row: mean ± standard deviation, and mean time."
	}
	return t
}

// differenceTable returns the table of settings in which the groups differ.
func (c *Comparison) differenceTable() report.Table {
	t := report.Table{Columns: []report.Column{{Name: "setting"}}}
	for _, g := range c.Groups {
		t.Columns = append(t.Columns, report.Column{Name: g.Name, Named: true})
	}
	for _, k := range c.Differ {
		row := report.Row{Cells: []report.Cell{report.TextCell(k)}}
		for _, g := range c.Groups {
			row.Cells = append(row.Cells, report.TextCell(g.Runs[0].setting(k)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// curves draws a column over the epochs, with a line per group. value returns the value
// in a run's i-th row, and before the value before training; NaN if it was not measured.
func (c *Comparison) curves(column, title string, before func(r *Run) float64,
	value func(r *Run, i int) float64) (figure.Lines, bool) {
	l := figure.Lines{Axes: figure.Axes{Title: title, X: "epoch", WholeX: true}, Marks: true}
	for _, g := range c.Groups {
		var values [][]float64
		var x []float64
		for _, r := range g.Runs {
			epochs := append([]float64{0}, r.Values["epoch"]...)
			if len(epochs) > len(x) {
				x = epochs
			}
			vs := make([]float64, len(epochs))
			vs[0] = before(r)
			for i := range vs[1:] {
				vs[1+i] = math.NaN()
				if i < len(r.Values[column]) {
					vs[1+i] = value(r, i)
				}
			}
			values = append(values, vs)
		}
		// A line continues over epochs that were not scored, without a gap.
		mean, low, high := figure.MeanBand(values)
		cv := figure.Curve{Name: g.Name}
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
	best, kept := c.bestColumn()
	mark := "best"
	if kept {
		mark = "kept"
	}
	none := func(*Run) float64 { return math.NaN() }
	add := func(column, title, caption string, before func(r *Run) float64, value func(r *Run, i int) float64) {
		l, ok := c.curves(column, title, before, value)
		if !ok {
			return
		}
		only := c.Groups[0].Runs[0]
		if (column == best || kept && IsPercent(column)) && len(c.Groups) == 1 && len(c.Groups[0].Runs) == 1 {
			if e := only.best(best); e >= 0 {
				l.Refs = append(l.Refs, figure.Ref{Name: fmt.Sprintf("%s: %.0f", mark, e), At: e, Vertical: true})
			}
		}
		out = append(out, report.Captioned{Figure: l, Caption: caption})
	}
	for _, m := range c.Metrics() {
		if !strings.HasSuffix(m, "recall@1") && !(kept && m == best) {
			continue
		}
		set, label, name := splitMetric(m)
		if label != "" {
			name += " by " + label
		}
		title, unit := set+" "+name, 1.0
		if IsPercent(m) {
			title, unit = title+", %", 100
		}
		add(m, title, capitalize(name)+" on the "+c.describeSet(set)+".", func(r *Run) float64 {
			if v, ok := r.kept.untrained[m]; ok {
				return unit * v
			}
			return math.NaN()
		}, func(r *Run, i int) float64 { return unit * r.Values[m][i] })
	}
	add("loss", "loss", "Mean loss of the epoch's batches, on the training set.", none,
		func(r *Run, i int) float64 { return r.Values["loss"][i] })
	add("active", "active tuples, %", "Share of the tuples of the epoch's batches that had a loss, on the "+
		"training set.", none, func(r *Run, i int) float64 {
		if t := r.Values["tuples"]; i < len(t) && t[i] > 0 {
			return 100 * r.Values["active"][i] / t[i]
		}
		return math.NaN()
	})
	return out
}

// Page returns the comparison as a page.
func (c *Comparison) Page() (report.Page, error) {
	p := report.Page{Title: "Runs compared"}
	if n := len(c.Groups); n == 1 {
		p.Title = "Run " + c.Groups[0].Name
		p.Lead = c.Groups[0].Runs[0].summary()
	} else {
		p.Lead = fmt.Sprintf("%d settings side by side.", n)
	}
	scores := report.Section{Title: "Scores"}
	for _, t := range c.Scores() {
		// A phone has room for two columns of numbers only.
		if len(t.Rows) <= 2 {
			t = t.Transposed()
			t.Columns[0].Name = "measure"
		}
		scores.Blocks = append(scores.Blocks, t)
	}
	training := report.Section{Title: "Training", Blocks: []report.Block{report.Figures{Items: c.figures()}}}
	if v, ok := c.idleVerdict(); ok {
		training.Blocks = append([]report.Block{v}, training.Blocks...)
	}
	p.Sections = append(p.Sections, scores, training)
	p.Sections = append(p.Sections, c.views...)
	settings, err := c.settings()
	if err != nil {
		return p, err
	}
	p.Sections = append(p.Sections, settings)
	return p, nil
}

// settings shows the settings in which the groups differ, the shared settings that are
// not the default and, folded away, all shared settings.
func (c *Comparison) settings() (report.Section, error) {
	s := report.Section{Title: "Settings"}
	if len(c.Differ) > 0 {
		s.Blocks = append(s.Blocks, c.differenceTable())
	}
	defaults, err := run.Default().Settings()
	if err != nil {
		return s, err
	}
	usual := make(map[string]string, len(defaults))
	for _, d := range defaults {
		usual[d.Key] = d.Value
	}
	changed := report.Settings{Caption: "Shared by all, other than the default"}
	all := report.Settings{Caption: fmt.Sprintf("All %d settings shared by all", len(c.Common)), Folded: true}
	if len(c.Groups) == 1 {
		changed.Caption = "Other than the default"
		all.Caption = fmt.Sprintf("All %d settings", len(c.Common))
	}
	for _, set := range c.Common {
		item := report.Item{Name: set.Key, Value: set.Value}
		all.Items = append(all.Items, item)
		if was, known := usual[set.Key]; !known || was != set.Value {
			changed.Items = append(changed.Items, item)
		}
	}
	if len(changed.Items) > 0 {
		s.Blocks = append(s.Blocks, changed)
	}
	s.Blocks = append(s.Blocks, all)
	return s, nil
}

// summary returns a sentence that describes a run.
func (r *Run) summary() string {
	var parts []string
	for _, p := range []struct{ what, key string }{{"network", "network.name"}, {"loss", "loss.name"},
		{"positives", "mine.positives"}, {"negatives", "mine.negatives"}} {
		if v := r.setting(p.key); v != "" {
			parts = append(parts, p.what+" "+v)
		}
	}
	if from := cmp.Or(r.setting("data.path"), r.setting("data.name")); from != "" {
		parts = append(parts, "trained on "+filepath.Base(from))
	}
	if e, err := r.LastValue("epoch"); err == nil {
		word := "epochs"
		if e == 1 {
			word = "epoch"
		}
		parts = append(parts, fmt.Sprintf("%.0f %s", e, word))
	}
	return capitalize(strings.Join(parts, ", ")) + "."
}
