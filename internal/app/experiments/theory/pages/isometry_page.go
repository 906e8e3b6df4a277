package pages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report"
)

func isometryPage(r *IsometryResult, toy, factors, curve, maps figure.Figure) report.Page {
	return report.Page{
		Title: "How far from separated: the isometric error",
		Lead: "An arrangement is triplet-separated (TS) if every point is at least as near to each of its class as " +
			"to any other. Theorem 3 of the isometric approximation paper says that the hardest triplet's loss, " +
			"L_HN, and the distance to the nearest TS arrangement, d_iso(f, TS), bound each other within a factor of " +
			"2. Half of this is true.",
		Sections: []report.Section{toySection(r, toy), lowerSection(r, factors), upperSection(r, curve),
			collapseSection(r, maps)},
		Footer: "kindred theory isometry",
	}
}

func toySection(r *IsometryResult, toy figure.Figure) report.Section {
	return report.Section{Title: "A toy", Blocks: []report.Block{
		report.Text("Seven points in the plane. L_HN is the loss of the hardest triplet: how much farther " +
			"from the anchor the farthest point of its class is than the nearest point of another class. " +
			"d_iso compares all distances before and after, d_haus the positions of the points."),
		oneFigure(toy, "Arrows lead from f to the nearest TS arrangement found, rotated to match f."),
		report.Settings{Items: []report.Item{
			{Name: "L_HN", Value: fmt.Sprintf("%.4f", r.Toy["l_hn"])},
			{Name: "d_iso(f, TS)",
				Value: fmt.Sprintf("%.4f found, at least %.4f", r.Toy["d_iso"], r.Toy["d_iso_lower"])},
			{Name: "d_haus(f, TS)",
				Value: fmt.Sprintf("%.4f found, at least %.4f", r.Toy["d_haus"], r.Toy["d_haus_lower"])},
			{Name: "d_haus to the arrangement nearest in d_iso",
				Value: fmt.Sprintf("%.4f", r.Toy["d_haus_of_d_iso's"])},
			{Name: "d_iso to the arrangement nearest in d_haus",
				Value: fmt.Sprintf("%.4f", r.Toy["d_iso_of_d_haus's"])},
		}},
	}}
}

func lowerSection(r *IsometryResult, factors figure.Figure) report.Section {
	return report.Section{Title: "Theorem 3: the lower half", Blocks: []report.Block{
		report.Text("L_HN / 2 <= d_iso(f, TS): two distances that differ by L_HN must become equal, so one " +
			"of them changes by at least half of that. It holds for every set tried, and most sets attain " +
			"it: where there is room, repairing the hardest triplet repairs all of them."),
		report.Verdict{Tone: report.Good, Text: fmt.Sprintf("%d sets with a loss: the bound is never "+
			"violated by more than %.1g; the smallest factor is %.4f.", r.Sets, r.Violation, r.Smallest.Factor),
			Reasons: []string{fmt.Sprintf("For %d of them the arrangement found is proved to be the nearest: "+
				"its error and the lower bound agree to 1e-6.", r.Certified)}},
		oneFigure(factors, "The number of sets with each factor. 0.5 is the smallest possible."),
	}}
}

func upperSection(r *IsometryResult, curve figure.Figure) report.Section {
	largest := report.Table{Columns: []report.Column{{Name: "dimensions"}, {Name: "points"}, {Name: "L_HN"},
		{Name: "d_iso at least"}, {Name: "d_iso found"}, {Name: "found / L_HN"}, {Name: "the set, class by class"}},
		Note: "On the line the value is exact. Elsewhere the true value lies between the two columns; the lower " +
			"bound holds in any number of dimensions."}
	row := func(e ExtremeSet) {
		largest.Rows = append(largest.Rows, report.Row{Cells: []report.Cell{report.TextCell(fmt.Sprint(e.Dim)),
			report.TextCell(fmt.Sprint(len(e.Class))), report.NumberCell(e.Loss, 4), report.NumberCell(e.Lower, 4),
			report.NumberCell(e.Found, 4),
			report.NumberCell(e.Factor, 3), report.TextCell(describeSet(e))}})
	}
	for _, e := range r.Largest {
		row(e)
	}
	row(r.TwoFar)
	high := 0.0
	for _, e := range r.Largest {
		high = max(high, e.Factor)
	}
	return report.Section{Title: "Theorem 3: the upper half", Blocks: []report.Block{
		report.Text("d_iso(f, TS) <= 2 L_HN rests on a step that corrects distances one by one, as if the " +
			"space allowed any corrected distances. A search over small sets does not refute it: the largest " +
			"factors, with the sets that reach them, are below. On the line the largest known is 3/2, by two " +
			"copies of (0, 2 | 1) far apart."),
		report.Verdict{Text: fmt.Sprintf("Largest factor found by the search: %.4f.", high)},
		largest,
		report.Text("But no constant holds in all dimensions. Take two classes of s points, each a regular " +
			"simplex of edge 1, in perpendicular subspaces with a common centre. Within a class distances " +
			"are 1, between classes sqrt(1 - 1/s), so that L_HN is only about 1/(2s). In any TS arrangement, " +
			"though, the two centres must be about 1/sqrt(s) apart: the average distance within a class may " +
			"not exceed that between classes. Alone, the simplices can turn and bend to allow this cheaply. " +
			"With points far away in every direction, each a class of its own, they cannot: from some of " +
			"these a move by 1/sqrt(s) appears as a change of distance of that size. Hence d_iso / L_HN " +
			"grows like sqrt(s)."),
		oneFigure(curve, "The proved lower bound on the factor. The distance of the far points goes to infinity."),
		report.Verdict{Tone: report.Bad, Text: fmt.Sprintf("The upper inequality fails from s = %d, in %d "+
			"dimensions.", r.BreaksAt, 2*r.BreaksAt-2)},
	}}
}

func collapseSection(r *IsometryResult, maps figure.Figure) report.Section {
	least := 1.0
	for _, c := range r.Collapse {
		least = min(least, c.Ratio)
	}
	cases := report.Table{Columns: []report.Column{{Name: "batch"}, {Name: "classes"}, {Name: "diameter ratio"},
		{Name: "at least"}, {Name: "within classes"}}}
	for _, c := range r.Collapse {
		if c.N == 72 || c.N == 1800 {
			cases.Rows = append(cases.Rows,
				report.Row{Cells: []report.Cell{report.TextCell(fmt.Sprintf("%d points, %d "+
					"dimensions", c.N, c.Dim)), report.TextCell(fmt.Sprint(c.Classes)), report.NumberCell(c.Ratio, 2),
					report.NumberCell(c.AtLeast, 2), report.NumberCell(c.Own, 2)}})
		}
	}
	return report.Section{Title: "Does the nearest arrangement collapse?", Blocks: []report.Block{
		report.Text("The paper expects that for many more points than dimensions the nearest TS arrangement " +
			"is a collapsed one, and that this is why hard negatives fail for batches of thousands in 128 " +
			"dimensions but not for 72. Here are N normal points in two classes (the paper's two cases, " +
			"starred, with 18 classes of 4 and 45 of 40) and the nearest arrangement found. As no diameter " +
			"can shrink by more than the error, 1 - d_iso / diameter is a lower bound on the ratio for the " +
			"nearest arrangement itself, whether or not it was found."),
		oneFigure(maps, "1 is the diameter of the data. Empty cells were not computed."),
		cases,
		report.Verdict{Text: fmt.Sprintf("The arrangement as a whole does not collapse: the smallest "+
			"diameter ratio found is %.2f. What shrinks, for many points in few dimensions, is each single "+
			"class.", least),
			Reasons: []string{"In 128 dimensions random distances are nearly equal, so separation needs " +
				"little change; both of the paper's cases keep their diameter.",
				"This is a statement about normal points with labels at random, not about trained networks."}},
	}}
}

// describeSet lists a set's points by class.
func describeSet(e ExtremeSet) string {
	var parts []string
	for c := range slices.Max(e.Class) + 1 {
		var pts []string
		for i, k := range e.Class {
			if k != c {
				continue
			}
			var x []string
			for _, v := range e.X[i*e.Dim : (i+1)*e.Dim] {
				x = append(x, fmt.Sprintf("%.3g", v))
			}
			pts = append(pts, strings.Join(x, ","))
		}
		parts = append(parts, strings.Join(pts, "; "))
	}
	return strings.Join(parts, " | ")
}
