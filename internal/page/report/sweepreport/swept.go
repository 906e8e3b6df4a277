// Package sweepreport makes the page of a sweep: the winners, the settings that matter, all
// trials as lines through their settings, and their curves.
package sweepreport

import (
	"fmt"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/internal/sweep"
)

// maxHighlighted is the number of the best trials that stand out in the figures.
const maxHighlighted = 5

// Page returns the page of a sweep.
func Page(out *sweep.Outcome, command string) report.Page {
	p := out.Plan
	page := report.Page{
		Title: "Settings chosen on validation classes",
		Lead: fmt.Sprintf("Each arm could try %d settings (%s, stop %s) and train them for %d epochs on each of %s, "+
			"made from the training part; a trial's score is the mean of %s over the folds. The choice did not use "+
			"the test: %s.", p.Trials, p.Search, p.Stop, p.Budget, foldText(p), p.Metric, testText(p)),
		Sections: []report.Section{{Title: "Winners", Blocks: []report.Block{winnerTable(out), report.Code(command)}}},
	}
	if len(out.Failed) > 0 {
		page.Sections = append(page.Sections, failedSection(out))
	}
	if len(out.Arms) > 1 {
		page.Sections = append(page.Sections, report.Section{Title: "The best so far", Blocks: []report.Block{
			raceFigures(out)}})
	}
	for i := range out.Arms {
		page.Sections = append(page.Sections, armSection(out, i))
	}
	return page
}

// foldText returns the number of folds on which a trial is scored.
func foldText(p *sweep.Plan) string {
	if p.NumScoredFolds() == p.Folds {
		return fmt.Sprintf("%d folds", p.Folds)
	}
	return fmt.Sprintf("%d of %d folds", p.NumScoredFolds(), p.Folds)
}

// testText returns how the winners were tested.
func testText(p *sweep.Plan) string {
	if p.Seeds == 0 {
		return "the winners are not tested"
	}
	return fmt.Sprintf("the winners were trained on the whole training part with %d seeds and tested once", p.Seeds)
}

// winnerTable returns the table of the arms.
func winnerTable(out *sweep.Outcome) report.Table {
	p := out.Plan
	t := report.Table{Columns: []report.Column{{Name: "arm"}, {Name: p.Metric, Group: "validation"},
		{Name: p.Metric, Group: "test"}, {Name: "trials"}, {Name: "epochs spent"}, {Name: "time"}, {Name: "winner"}},
		Note: fmt.Sprintf("In per cent. Test: mean ± standard deviation (n - 1) over %d seeds of the winner. Epochs "+
			"are counted on one fold, of a budget of %d for each arm. Time is the sum over training and scoring all "+
			"trials.", p.Seeds, p.Budget)}
	for i := range out.Arms {
		a := &out.Arms[i]
		test := report.BlankCell()
		for _, s := range a.Test {
			if s.Metric == p.Column() {
				test = report.MeanStdCell(100*s.Mean, 100*s.Std, s.N, 1)
			}
		}
		t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{report.NameCell(a.Name),
			report.NumberCell(100*a.BestTrial().Score, 1), test, report.NumberCell(float64(len(a.Trials)), 0),
			report.NumberCell(float64(a.Spent), 0),
			report.TextCell(report.FormatDuration(time.Duration(a.Seconds * 1e9))),
			report.TextCell(settingsText(a.BestTrial()))}})
	}
	return t
}

// failedSection returns the section of the trials that failed, with their errors.
func failedSection(out *sweep.Outcome) report.Section {
	t := report.Table{Columns: []report.Column{{Name: "arm"}, {Name: "trial"}, {Name: "to epoch"}, {Name: "error"}},
		Note: "The winners are the best of the other trials; one of these trials might have been better."}
	for _, f := range out.Failed {
		t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{report.NameCell(f.Arm),
			report.NumberCell(float64(f.Trial), 0),
			report.NumberCell(float64(f.Until), 0), report.TextCell(f.Error)}})
	}
	return report.Section{Title: "Trials that failed", Blocks: []report.Block{t}}
}

// settingsText returns a trial's settings in words.
func settingsText(t *sweep.Trial) string {
	var out []string
	for _, s := range t.Set {
		out = append(out, s.Key+" "+strings.Trim(s.Value, `"`))
	}
	return strings.Join(out, ", ")
}

// raceFigures draws, for every arm, the best score so far against the epochs spent.
func raceFigures(out *sweep.Outcome) report.Figures {
	f := figure.Lines{Axes: figure.Axes{X: "epochs spent, on each fold", Y: "best " + out.Plan.Metric + " so far, %",
		Width: 480}}
	for i := range out.Arms {
		a := &out.Arms[i]
		c := figure.Curve{Name: a.Name}
		spent, best := 0, 0.0
		for _, t := range a.Trials {
			if t.Failed == "" {
				best = max(best, t.Score)
			}
			spent += t.Epochs
			c.X, c.Y = append(c.X, float64(spent)), append(c.Y, 100*best)
		}
		f.Curves = append(f.Curves, c)
	}
	return report.Figures{Items: []report.Captioned{{Figure: f, Caption: "In the order of the trials' numbers; a " +
		"trial that was stopped counts with the score that it had."}}}
}

// armSection returns the section of one arm.
func armSection(out *sweep.Outcome, i int) report.Section {
	a := &out.Arms[i]
	s := report.Section{Title: a.Name}
	ranks := a.RankedTrials()
	s.Blocks = append(s.Blocks, report.Text(fmt.Sprintf("Trial %d of %d won, with %s.", a.Winner, len(a.Trials),
		settingsText(a.BestTrial()))), parallelFigures(out, i, ranks),
		report.Figures{Items: []report.Captioned{importanceFigure(out, i),
			curveFigure(out, ranks)}}, trialTable(out, i, ranks))
	return s
}

// parallelFigures draws every trial as a line through its settings.
func parallelFigures(out *sweep.Outcome, i int, ranked []*sweep.Trial) report.Figures {
	f := figure.Parallel{Title: "Settings and scores of all trials"}
	scores := figure.ParallelAxis{Name: out.Plan.Metric}
	low, high := 1.0, 0.0
	for _, t := range ranked {
		if t.Failed == "" {
			low, high = min(low, t.Score), max(high, t.Score)
		}
	}
	for k, r := range out.Ranges(i) {
		a := figure.ParallelAxis{Name: r.Key, Ticks: r.Ticks()}
		for _, t := range ranked {
			a.At = append(a.At, r.PlaceOf(t.Set[k].Value))
			a.Values = append(a.Values, strings.Trim(t.Set[k].Value, `"`))
		}
		f.Axes = append(f.Axes, a)
	}
	scores.Ticks = map[string]float64{fmt.Sprintf("%.1f", 100*low): 0, fmt.Sprintf("%.1f", 100*high): 1}
	for k, t := range ranked {
		at := 0.0
		if high > low && t.Failed == "" {
			at = (t.Score - low) / (high - low)
		}
		scores.At = append(scores.At, at)
		scores.Values = append(scores.Values, fmt.Sprintf("%.1f after %d epochs", 100*t.Score, t.Epochs))
		f.Lines = append(f.Lines, figure.ParallelLine{Name: fmt.Sprintf("trial %d", t.Number),
			Quiet: k >= maxHighlighted})
	}
	f.Axes = append(f.Axes, scores)
	return report.Figures{Items: []report.Captioned{{Figure: f, Caption: fmt.Sprintf("Each line is a trial. It goes "+
		"through its settings to its score. The best %d are in colour; point at any other.",
		min(maxHighlighted, len(ranked)))}}}
}

// importanceFigure draws the share of the scores' variance that each range explains.
func importanceFigure(out *sweep.Outcome, i int) report.Captioned {
	f := figure.Bars{Axes: figure.Axes{Y: "share of the variance", YRange: figure.Range{Max: 1}}, Series: []string{""},
		Values: [][]float64{nil}}
	for _, im := range out.Importance(i) {
		f.Groups = append(f.Groups, im.Key)
		f.Values[0] = append(f.Values[0], im.Share)
	}
	f.Width = max(340, 70*float64(len(f.Groups)))
	return report.Captioned{Figure: f, Caption: "Importance: the share of the variance of the scores after the first " +
		"rung that lies between thirds of a range, or between listed values, minus the share expected by chance. " +
		"Settings are judged one at a time, so effects of combinations are not seen."}
}

// curveFigure draws the trials' scores by epoch.
func curveFigure(out *sweep.Outcome, ranked []*sweep.Trial) report.Captioned {
	f := figure.Lines{Axes: figure.Axes{X: "epoch", Y: out.Plan.Metric + ", %", WholeX: true}, Marks: true}
	for k, t := range ranked {
		c := figure.Curve{Name: fmt.Sprintf("trial %d", t.Number), Quiet: k >= maxHighlighted}
		for _, s := range t.Scores {
			c.X, c.Y = append(c.X, float64(s.Epoch)), append(c.Y, 100*s.Value)
		}
		f.Curves = append(f.Curves, c)
	}
	return report.Captioned{Figure: f, Caption: "Scores by epoch, the mean over the folds. Curves that end early are " +
		"of trials that were stopped."}
}

// trialTable returns the table of all trials, the best first.
func trialTable(out *sweep.Outcome, i int, ranked []*sweep.Trial) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "trial"}, {Name: out.Plan.Metric}, {Name: "epochs"}}}
	for _, r := range out.Ranges(i) {
		t.Columns = append(t.Columns, report.Column{Name: r.Key})
	}
	for _, tr := range ranked {
		score := report.NumberCell(100*tr.Score, 1)
		if tr.Failed != "" {
			score = report.TextCell("failed")
		}
		row := report.Row{Cells: []report.Cell{report.NumberCell(float64(tr.Number), 0), score,
			report.NumberCell(float64(tr.Epochs), 0)}}
		for _, s := range tr.Set {
			row.Cells = append(row.Cells, report.TextCell(strings.Trim(s.Value, `"`)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
