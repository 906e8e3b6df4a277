// Package verifyreport makes the page of decisions by a threshold: the rates at each
// threshold, DET and ROC curves, and the distances of genuine and impostor pairs.
package verifyreport

import (
	"cmp"
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report"
)

// Page returns the page of a report, and false if the report has no decisions about
// pairs.
func Page(rep *eval.Report, command string) (report.Page, bool) {
	page := report.Page{Title: "Same or not",
		Lead: fmt.Sprintf("Two items are accepted as the same if their %s distance is at most a threshold. FMR is "+
			"the share of impostor pairs (different things) that are accepted, FNMR the share of genuine pairs "+
			"(one thing) that are rejected. Every pair was counted.", rep.Distance)}
	for i := range rep.Columns {
		c := &rep.Columns[i]
		if c.Pairs == nil {
			continue
		}
		page.Sections = append(page.Sections, report.Section{Title: "By " + c.Name, Blocks: []report.Block{
			scoreTable(c), curveFigures(c)}})
	}
	if len(page.Sections) == 0 {
		return page, false
	}
	last := &page.Sections[len(page.Sections)-1]
	last.Blocks = append(last.Blocks, report.Code(command))
	return page, true
}

// scoreTable returns the table of the metrics.
func scoreTable(c *eval.Column) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "metric"}, {Name: "value"}, {Name: "threshold"},
		{Name: "FMR or FPIR"}, {Name: "interval"}},
		Note: fmt.Sprintf("%d genuine and %d impostor pairs.", c.Pairs.Genuine(), c.Pairs.Impostor())}
	for _, v := range c.Values {
		threshold, rate, between := report.BlankCell(), report.BlankCell(), report.BlankCell()
		if v.Decision != nil {
			threshold = report.TextCell(v.Decision.Text(6))
			rate = report.TextCell(fmt.Sprintf("%.3g", v.Decision.Rate))
		}
		if b := v.ByClass; b != nil {
			between = report.TextCell(fmt.Sprintf("%.4f to %.4f", b.Low, b.High))
			t.Note = fmt.Sprintf("%d genuine and %d impostor pairs. Intervals: %g %% of %d resamples of classes.",
				c.Pairs.Genuine(), c.Pairs.Impostor(), 100*b.Confidence, b.Resamples)
		}
		t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{report.TextCell(v.Metric.String()),
			report.NumberCell(v.Value, 4),
			threshold, rate, between}})
	}
	return t
}

// maxPoints is the largest number of thresholds of a curve.
const maxPoints = 400

// curveFigures returns the figures: DET, ROC and the distances.
func curveFigures(c *eval.Column) report.Figures {
	var fmr, fnmr, tar []float64
	for _, r := range c.Pairs.Curve(maxPoints) {
		fmr, fnmr, tar = append(fmr, r.FMR), append(fnmr, r.FNMR), append(tar, r.TAR())
	}
	eer, _ := c.Pairs.EER()
	det := figure.Lines{Axes: figure.Axes{Title: "DET", X: "FMR", Y: "FNMR", LogX: true, LogY: true},
		Curves: []figure.Curve{{Name: "all thresholds", X: fmr, Y: fnmr},
			{Name: fmt.Sprintf("EER %.4f", eer), X: []float64{eer}, Y: []float64{eer}}}}
	roc := figure.Lines{Axes: figure.Axes{Title: "ROC", X: "FMR", Y: "TAR = 1 - FNMR", XRange: figure.Range{Max: 1},
		YRange: figure.Range{Max: 1}}, Curves: []figure.Curve{
		{Name: fmt.Sprintf("AUC %.4f", c.Pairs.AUC()), X: fmr, Y: tar},
		{Name: "guessing", X: []float64{0, 1}, Y: []float64{0, 1}, Same: true}}}
	return report.Figures{Items: []report.Captioned{
		{Figure: det, Caption: "Detection error tradeoff: lower and further left is better. Rates of 0 have no place " +
			"on these axes."},
		{Figure: roc, Caption: "Receiver operating characteristic: higher is better."},
		{Figure: distanceFigure(c.Pairs),
			Caption: "The share of genuine and of impostor pairs by distance. Where the " +
				"curves overlap, no threshold is right for all."},
	}}
}

// numBins is the number of bins of distances in the figure.
const numBins = 60

// distanceFigure returns the figure of the distances of genuine and impostor pairs.
func distanceFigure(c *eval.Counts) figure.Lines {
	low, high := math.Inf(1), math.Inf(-1)
	for d := range c.All() {
		low, high = min(low, d), max(high, d)
	}
	width := (high - low) / numBins
	width = cmp.Or(width, 1)
	var x, genuine, impostor []float64
	for b := range numBins {
		x = append(x, low+(float64(b)+0.5)*width)
		genuine, impostor = append(genuine, 0), append(impostor, 0)
	}
	for d, s := range c.All() {
		b := min(int((d-low)/width), numBins-1)
		genuine[b] += float64(s.Genuine) / float64(c.Genuine())
		impostor[b] += float64(s.Impostor) / float64(c.Impostor())
	}
	return figure.Lines{Axes: figure.Axes{Title: "Distances", X: "distance", Y: "share of the pairs"},
		Curves: []figure.Curve{{Name: "genuine", X: x, Y: genuine}, {Name: "impostor", X: x, Y: impostor}}}
}
