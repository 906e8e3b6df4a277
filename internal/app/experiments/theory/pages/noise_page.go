package pages

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report"
)

func noisePage(r *NoiseResult, o NoiseOptions, diam, modes, far, weights figure.Figure,
	pictures []figure.Figure) report.Page {
	return report.Page{Title: "Label noise and class collapse",
		Lead: "Expected losses under label noise as exact sums, the arrangements that minimise them, and the " +
			"conditions under which the theorems of Levi et al. 2021 hold.",
		Sections: []report.Section{noiseCollapses(r, o, diam, pictures), conditionSection(r), modesSection(r, modes),
			farSection(far, weights), {Title: "All minima", Blocks: []report.Block{minimaTable(r, o)}}},
		Footer: "kindred theory noise"}
}

func noiseCollapses(r *NoiseResult, o NoiseOptions, diam figure.Figure, pictures []figure.Figure) report.Section {
	collapsed, wide := 0, 0
	for _, m := range r.Minima {
		if m.P == 1 {
			continue
		}
		if m.Diameter < 1e-3 {
			collapsed++
		} else if m.Diameter > 0.5 {
			wide++
		}
	}
	section := report.Section{Title: "Theorems 1 and 2: noise makes classes collapse", Blocks: []report.Block{
		report.Text("Each point's label is right with probability p and otherwise one of the other classes, " +
			"independently. The curves show the widest class of the best arrangement of free points found, for " +
			"each loss and p. Distances are in margins.\n\nWith all positives (triplet, margin, contrastive) " +
			"every class shrinks to one point as soon as labels are sometimes wrong, p < 1. Without noise, p = " +
			"1, the triplet and margin losses allow a class any width up to a limit. With easy positives (EPS) " +
			"classes stay wide."),
		oneFigure(diam, fmt.Sprintf("Widest class at the best minimum found, against p: %d classes of %d points in %d "+
			"dimensions.", r.Classes, r.PerClass, r.Dim)),
		report.Verdict{Text: fmt.Sprintf("Of %d minima at p < 1, %d are collapsed (below 1e-3 of the margin) and "+
			"%d keep wide classes.", len(r.Minima)-len(noiseLosses), collapsed, wide),
			Reasons: []string{fmt.Sprintf("%d classes of %d points in %d dimensions, %d restarts each", r.Classes,
				r.PerClass, r.Dim, o.Restarts)}},
	}}
	if len(pictures) > 0 {
		section.Blocks = append(section.Blocks,
			oneFigure(figure.Panels{Figures: pictures, Columns: 2},
				"The arrangements themselves. A collapsed class is a single mark that hides the others."))
	}
	return section
}

func conditionSection(r *NoiseResult) report.Section {
	cases := report.Table{Columns: []report.Column{{Name: "case"}, {Name: "widest class (margins)"},
		{Name: "what happens"}}}
	for _, c := range r.Cases {
		cases.Rows = append(cases.Rows,
			report.Row{Cells: []report.Cell{report.TextCell(c.Case), report.NumberCell(c.Diameter, 3),
				report.TextCell(c.Says)}})
	}
	return report.Section{Title: "What the theorems need and do not say", Blocks: []report.Block{
		report.Text("The proofs are correct for each anchor's terms taken alone; whether all anchors can reach " +
			"their minimum at the same time depends on more:\n\n- Few dimensions. In n - 1 dimensions or more " +
			"the points of a class can all be equally far from each other, and all other points alpha farther: " +
			"this costs the same for every width.\n- Agreement. Margin and contrastive loss pull two points of a " +
			"class together only if their labels agree more often than not, p² + (1-p)²/(t-1) > 1/2. For two " +
			"classes this is always true; for many classes p must exceed 0.71. The triplet loss needs only p ≠ " +
			"1/t.\n- A free beta. With beta held above alpha the margin loss keeps a class at beta - alpha.\n- " +
			"No self-pairs. Taken literally, the paper's sum contains the pair (i, i), which always agrees; with " +
			"few points and much noise these terms keep classes wide."),
		cases,
	}}
}

func modesSection(r *NoiseResult, modes figure.Figure) report.Section {
	first := report.Table{
		Columns: []report.Column{{Name: "classes"}, {Name: "p"},
			{Name: "triplet", Group: "two modes cost less from n ="},
			{Name: "margin, beta = alpha", Group: "two modes cost less from n ="}, {Name: "claim 3: pushed from rank"}},
		Note: "A dash in the triplet column: not with up to 3000 points per class. Claim 3: whatever the nearer " +
			"neighbours are, a point of that rank or beyond is pushed to beta + alpha.",
	}
	for _, f := range r.First {
		cells := []report.Cell{report.TextCell(fmt.Sprint(f.Classes)), report.TextCell(fmt.Sprint(f.P))}
		for _, n := range []int{f.Triplet, f.Margin} {
			if n == 0 {
				cells = append(cells, report.TextCell("–"))
			} else {
				cells = append(cells, report.NumberCell(float64(n), 0))
			}
		}
		if f.Rank < 0 {
			cells = append(cells, report.TextCell("> 5000"))
		} else {
			cells = append(cells, report.NumberCell(float64(f.Rank+1), 0))
		}
		first.Rows = append(first.Rows, report.Row{Cells: cells})
	}
	return report.Section{Title: "Claims 1 and 2: with EPS two modes cost less", Blocks: []report.Block{
		report.Text("Compare a class drawn together to one point with the same class in two halves, a margin " +
			"apart. With easy positives the halves cost less once there are enough points, since each anchor " +
			"finds a positive in its own half and the wrong labels in the other half no longer hurt it. The " +
			"claim does not say how many points this takes: 12 for two classes, whatever p, but the number grows " +
			"with the number of classes and with 1/(1-p), since an anchor whose own label is wrong must look far " +
			"for its positive.\n\nClaim 2, for the margin loss, holds with beta held at alpha. With beta free, " +
			"as in theorem 2, the pushing terms outnumber the one pulling term so much that beta is best below " +
			"every distance, at -alpha, where two modes gain nothing."),
		oneFigure(modes, "What two modes save per point, triplet loss with EPS. Above 0 they cost less."),
		first,
	}}
}

func farSection(far, weights figure.Figure) report.Section {
	return report.Section{Title: "Claims 3 and 4: far positives are pushed away", Blocks: []report.Block{
		report.Text("With EPS a point pulls the anchor only if no nearer point shares the anchor's label. The " +
			"farther down the list a point is, the less likely this is, while the chance that the two labels " +
			"differ, which pushes it away, stays the same. Where pushing wins, the point settles at beta + " +
			"alpha, whether or not it is of the anchor's class. In the example the first eight neighbours are of " +
			"the other class, then the two classes alternate: with p = 0.95 the first point of the anchor's own " +
			"class, although ninth, is still pulled; with p = 0.7 none is.\n\nClaim 4 says the same of the " +
			"triplet loss, and its M also depends on p and on which points are near."),
		figureBlock("", report.Captioned{Figure: far, Caption: "Where each neighbour settles, alpha = beta = 1."},
			report.Captioned{Figure: weights, Caption: "Chance that the neighbour is the easy positive (pull), " +
				"and that the labels differ (push)."}),
	}}
}

func minimaTable(r *NoiseResult, o NoiseOptions) report.Table {
	minima := report.Table{Columns: []report.Column{{Name: "loss"}, {Name: "p"}, {Name: "expected loss"},
		{Name: "drawn"}, {Name: "widest class"}, {Name: "groups"}},
		Note: fmt.Sprintf("Drawn: mean ± standard error over %d labellings. The largest deviation from the exact "+
			"value is %.1f standard errors.", max(o.Draws, 1), r.WorstZ)}
	for _, m := range r.Minima {
		minima.Rows = append(minima.Rows,
			report.Row{Cells: []report.Cell{report.TextCell(m.Loss), report.TextCell(fmt.Sprint(m.P)),
				report.NumberCell(m.Value, 5),
				report.TextCell(fmt.Sprintf("%.5f ± %.5f", m.Drawn, m.StdErr)), report.NumberCell(m.Diameter, 4),
				report.TextCell(fmt.Sprint(m.Groups))}})
	}
	return minima
}
