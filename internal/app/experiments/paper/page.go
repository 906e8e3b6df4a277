package paper

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/internal/page/report/maps"
	"github.com/kindred-ml/kindred/run"
)

// Names of the files in an experiment's folder.
const (
	ReportFile  = "report.html"
	ResultsFile = "results.json"
)

// Write writes report.html, the page's figures as SVG and PNG, and results.json into the
// experiment's folder. The pictures of some experiments take a minute; once ctx is done Write
// returns ctx.Err(), wrapped.
func (out *Outcome) Write(ctx context.Context) error {
	page, figures, err := out.page(ctx)
	if err != nil {
		return err
	}
	for _, f := range figures {
		for _, ext := range []string{".svg", ".png"} {
			if err := figure.WriteFigure(filepath.Join(out.o.Dir, f.Name+ext), f.Figure); err != nil {
				return err
			}
		}
	}
	if err := page.WriteFile(filepath.Join(out.o.Dir, ReportFile)); err != nil {
		return err
	}
	out.Figures = figures
	return writeJSON(filepath.Join(out.o.Dir, ResultsFile), out)
}

// page composes the report, and returns the figures that are also files.
func (out *Outcome) page(ctx context.Context) (report.Page, []NamedFigure, error) {
	p := report.Page{Title: out.Title, Lead: out.about(), Footer: out.Source}
	var shown, figures Illustrations
	if out.e.Pictures != nil {
		if err := out.e.Pictures(ctx, out, &shown); err != nil {
			return p, nil, err
		}
	}
	if len(shown.Sections) > 0 {
		p.Sections = append(p.Sections, shown.Sections[0])
	}
	if out.e.Sweep != nil {
		sweep := out.sweep()
		figures.add("sweep", sweep.Caption, figure.PanelRow(figuresOf(sweep)...))
		p.Sections = append(p.Sections, report.Section{Title: "The figure", Blocks: []report.Block{sweep}})
	}
	table := report.Section{Title: "Our numbers beside the paper's", Blocks: []report.Block{out.Table()}}
	if out.e.Own || out.Data.InsteadOf != "" {
		table.Title = "Our numbers"
	}
	if tested := out.describeTests(); tested != "" {
		table.Blocks = append(table.Blocks, report.Text(tested))
	}
	table.Blocks = append(table.Blocks, out.verdictBlocks()...)
	p.Sections = append(p.Sections, table)
	if len(shown.Sections) > 1 {
		p.Sections = append(p.Sections, shown.Sections[1:]...)
	}
	curves := out.Curves()
	figures.Figures = append(figures.Figures, shown.Figures...)
	if len(curves.Items) > 0 {
		figures.add(curvesFigure, "Scores over the epochs. "+out.describeSeeds(), figure.PanelRow(figuresOf(curves)...))
		p.Sections = append(p.Sections, report.Section{Title: "Over training", Blocks: []report.Block{curves}})
	}
	p.Sections = append(p.Sections, report.Section{Title: "Settings and time", Blocks: out.settings()})
	return p, figures.Figures, nil
}

// describeTests says how many images of how many classes each group of measures scores, by the first run
// that kept them.
func (out *Outcome) describeTests() string {
	var parts []string
	for _, m := range out.e.Measures {
		set, err := run.ParseSet(strings.SplitN(m.Key, "_", 2)[0])
		if err != nil || len(out.Arms) == 0 {
			continue
		}
		l, err := readKept(out.runFolder(out.Arms[0].Name), set)
		if err != nil {
			continue
		}
		if l, err = l.Select("label"); err != nil {
			continue
		}
		_, names := maps.NumberClasses(&l.Columns[0])
		part := fmt.Sprintf("%s: %d images of %d classes, the %s set", cmp.Or(m.Group, m.Name), l.X.Rows, len(names),
			set)
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "; ")
}

// curvesFigure is the name of the figure of every experiment whose runs are scored more than once.
const curvesFigure = "curves"

func figuresOf(f report.Figures) []figure.Figure {
	figs := make([]figure.Figure, len(f.Items))
	for i := range f.Items {
		figs[i] = f.Items[i].Figure
	}
	return figs
}

// Curves shows the first measure of every group over the epochs: a curve and a band per arm, and
// the published numbers as lines.
func (out *Outcome) Curves() report.Figures {
	fs := report.Figures{Caption: out.describeSeeds()}
	group := ""
	for k, m := range out.e.Measures {
		if m.Group == group {
			continue
		}
		group = m.Group
		f := figure.Lines{Axes: figure.Axes{Title: m.Group, X: "epoch", Y: m.Name + ", %"}, Marks: true}
		for _, a := range out.Arms {
			epochs, runs := a.scoresByEpoch(m.Key)
			mean, low, high := figure.MeanBand(runs)
			c := figure.Curve{Name: a.Name, X: epochs, Y: mean}
			if len(runs) > 1 {
				c.Low, c.High = low, high
			}
			f.Curves = append(f.Curves, c)
			if paper := a.Measures[k].Paper; paper != nil {
				f.Refs = append(f.Refs, figure.Ref{Name: a.Name + ", paper", At: float64(*paper)})
			}
		}
		// A single scored epoch does not make a curve.
		if !slices.ContainsFunc(f.Curves, func(c figure.Curve) bool { return len(c.X) > 1 }) {
			continue
		}
		fs.Items = append(fs.Items, report.Captioned{Figure: f, Caption: m.Name + " over the epochs, " + m.Group + "."})
	}
	return fs
}

// scoresByEpoch returns the epochs in which any run scored a measure, and the values there in per cent,
// NaN for runs that had ended.
func (a *ArmOutcome) scoresByEpoch(key string) (epochs []float64, runs [][]float64) {
	for _, r := range a.Runs {
		for j := range r.History {
			if _, err := r.History[j].Metric(key); err == nil {
				epochs = append(epochs, float64(r.History[j].Epoch))
			}
		}
	}
	slices.Sort(epochs)
	epochs = slices.Compact(epochs)
	for _, r := range a.Runs {
		values := slices.Repeat([]float64{math.NaN()}, len(epochs))
		for j := range r.History {
			if v, err := r.History[j].Metric(key); err == nil {
				k, _ := slices.BinarySearch(epochs, float64(r.History[j].Epoch))
				values[k] = 100 * v
			}
		}
		runs = append(runs, values)
	}
	return epochs, runs
}

// settings lists the settings that the arms share, those in which they differ, and the times.
func (out *Outcome) settings() []report.Block {
	shared := report.Settings{Caption: "Every arm"}
	if s, err := out.e.scale(out.o.Scale); err == nil && s.Name != "" {
		shared.Items = append(shared.Items, report.Item{Name: "scale " + s.Name, Value: s.About})
	}
	for _, s := range slices.Concat(out.e.Base, out.o.scaled, out.o.fast, out.o.Set) {
		shared.Items = append(shared.Items, settingItem(s))
	}
	blocks := []report.Block{shared, report.Text("How the settings were chosen: " + out.Tuning)}
	if out.chosen != nil {
		blocks = append(blocks, out.chosen.table(out.e))
	}
	arms := report.Settings{Caption: "What the arms change"}
	for _, a := range out.e.Arms {
		for i, s := range a.Set {
			it := settingItem(s)
			if slices.ContainsFunc(a.Set[i+1:], func(later string) bool { return settingItem(later).Name == it.Name }) {
				continue
			}
			arms.Items = append(arms.Items, report.Item{Name: a.Name, Value: it.Name + " = " + it.Value})
		}
	}
	blocks = append(blocks, arms)
	took := report.Table{Caption: "Runs", Columns: []report.Column{{Name: "arm"}, {Name: "seed"}, {Name: "epochs"},
		{Name: "trained values"}, {Name: "time"}}}
	for _, a := range out.Arms {
		for _, r := range a.Runs {
			took.Rows = append(took.Rows, report.Row{Cells: []report.Cell{
				report.TextCell(a.Name), report.TextCell(fmt.Sprint(r.Seed)),
				report.TextCell(fmt.Sprint(len(r.History))),
				report.TextCell(fmt.Sprint(r.Params)), report.TextCell(report.FormatDuration(r.Duration)),
			}})
		}
	}
	took.Note = "All runs together: " + report.FormatDuration(time.Duration(out.Took*float64(time.Second))) + "." +
		out.describeCopied()
	return append(blocks, took)
}

// about says what is compared, and on what if that is the paper's data, and explains the terms.
func (out *Outcome) about() string {
	text := strings.TrimSpace(out.e.About + " " + out.e.Terms)
	if out.Data.InsteadOf == "" && out.e.Dataset.About != "" {
		return out.e.Dataset.About + " " + text
	}
	return text
}

// describeSeeds says how many seeds the lines of a figure summarise.
func (out *Outcome) describeSeeds() string {
	if n := len(out.Seeds); n > 1 {
		return fmt.Sprintf("Mean and standard deviation of %d seeds.", n)
	}
	return "One seed."
}

// describeCopied says how many runs were copied from other experiments.
func (out *Outcome) describeCopied() string {
	if out.Taken == 0 {
		return ""
	}
	return fmt.Sprintf(" %d of the %d runs were copied from another experiment with the same settings; the sum "+
		"includes their time.", out.Taken, len(out.Arms)*len(out.Seeds))
}

// settingItem splits key=value.
func settingItem(set string) report.Item {
	for i := range set {
		if set[i] == '=' {
			return report.Item{Name: set[:i], Value: set[i+1:]}
		}
	}
	return report.Item{Name: set}
}
