package diagnosisreport

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report"
)

// Diagnosis holds the measures of one embedding's collapse, for Sections. Every part except the name
// may be empty.
type Diagnosis struct {
	// Name of the model, short: it heads table columns and figures.
	Name string
	// About is what was measured: the set, the number of items and the number of
	// classes.
	About string
	// Verdict is the finding in a sentence, Reasons the figures behind it.
	Verdict string
	Reasons []string
	Tone    report.Tone
	// Measures describe the whole embedding. Models are compared by the measures' names.
	Measures []eval.DiagnosisMeasure
	Classes  []ClassDiagnosis
	// Spectra are the descending singular values of all rows and of classes.
	Spectra []NamedValues
	// Triplets are the anchors' similarities for named ways of choosing the
	// positive and the negative.
	Triplets []NamedTriplets
	// Clusters and NMI are the normalised mutual information at each number
	// of clusters.
	Clusters, NMI []float64
}

// ClassDiagnosis is one class's part of a diagnosis.
type ClassDiagnosis struct {
	Name string
	Size int
	// Diameter is the largest distance within the class, Intra the mean one,
	// Other the distance to the nearest other class.
	Diameter, Intra, Other float64
	// Kinds is the number of sub-classes found in it, Rank the effective rank.
	Kinds int
	Rank  float64
	// Recall is the share of its queries whose nearest neighbour has the same label.
	Recall float64
}

// compactness is the mean distance within the class over the distance to the nearest
// other class; NaN if all points are equal.
func (c *ClassDiagnosis) compactness() float64 { return c.Intra / c.Other }

// NamedValues is a list of values with a name.
type NamedValues struct {
	Name   string
	Values []float64
}

// NamedTriplets holds triplets that were chosen in a named way: the similarities of
// anchor and positive, and of anchor and negative.
type NamedTriplets struct {
	Name   string
	AP, AN []float64
}

const (
	maxDiagnosedClasses = 2000 // the files beside the page have the others
	maxShownSpectra     = 301  // most spectra in a figure: all rows, and some classes
)

// Sections lays out one diagnosis, or several side by side.
func Sections(ds ...Diagnosis) []report.Section {
	var out []report.Section
	add := func(title string, blocks ...report.Block) {
		if len(blocks) > 0 {
			out = append(out, report.Section{Title: title, Blocks: blocks})
		}
	}
	var verdicts []report.Block
	for _, d := range ds {
		if d.About != "" {
			verdicts = append(verdicts, report.Text(d.Name+": "+d.About))
		}
		if d.Verdict != "" {
			text := d.Verdict
			if len(ds) > 1 {
				text = d.Name + ": " + text
			}
			verdicts = append(verdicts, report.Verdict{Text: text, Reasons: d.Reasons, Tone: d.Tone})
		}
	}
	add("Verdict", verdicts...)
	about := describeSets(ds)
	add("Measures", measureBlocks(ds)...)
	low := lowestSimilarity(ds)
	if len(ds) == 1 { // with one model no figure needs its name
		ds = []Diagnosis{ds[0]}
		ds[0].Name = ""
	}
	add("Triplets",
		figureBlocks(ds, about+describeAnchors(ds)+"Each mark is one anchor. Below the diagonal its positive is "+
			"nearer than its "+
			"negative; triplets in the upper right corner are the hard ones, where a collapsed embedding gathers.",
			func(d Diagnosis) []figure.Figure { return tripletFigures(d, low) })...)
	add("Classes", classBlocks(ds)...)
	add("Spectrum",
		figureBlocks(ds, about+"Singular values of the centred embeddings. A steep fall means that only few "+
			"directions are used.", spectrumFigure)...)
	add("Clusters", clusterBlocks(ds)...)
	return out
}

// describeSets returns a sentence about the set on which each model was measured.
func describeSets(ds []Diagnosis) string {
	out := ""
	for _, d := range ds {
		if d.About == "" {
			continue
		}
		if len(ds) > 1 {
			out += d.Name + ": "
		}
		out += strings.TrimSuffix(d.About, ".") + ". "
	}
	if len(ds) > 1 {
		return out
	}
	return capitalize(out)
}

// capitalize returns a sentence with a capital first letter.
func capitalize(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:]
}

// describeAnchors returns the number of anchors as a sentence, if it is the same for all.
func describeAnchors(ds []Diagnosis) string {
	n := -1
	for _, d := range ds {
		for _, t := range d.Triplets {
			if n >= 0 && n != len(t.AP) {
				return ""
			}
			n = len(t.AP)
		}
	}
	if n < 0 {
		return ""
	}
	return fmt.Sprintf("%d anchors. ", n)
}

func figureBlocks(ds []Diagnosis, caption string, of func(Diagnosis) []figure.Figure) []report.Block {
	var items []report.Captioned
	for _, d := range ds {
		for _, f := range of(d) {
			items = append(items, report.Captioned{Figure: f})
		}
	}
	if len(items) == 0 {
		return nil
	}
	return []report.Block{report.Figures{Items: items, Caption: caption}}
}

// measureBlocks returns the table of measures by model, with their meaning.
func measureBlocks(ds []Diagnosis) []report.Block {
	t := report.Table{Caption: strings.TrimSpace(describeSets(ds)), Columns: []report.Column{{Name: "measure"}}}
	var names []string
	meaning := map[string]eval.DiagnosisMeasure{}
	for _, d := range ds {
		t.Columns = append(t.Columns, report.Column{Name: d.Name, Named: true})
		for _, m := range d.Measures {
			if _, ok := meaning[m.Name]; !ok {
				names = append(names, m.Name)
				meaning[m.Name] = m
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	t.Columns = append(t.Columns, report.Column{Name: "what it says"})
	for _, n := range names {
		better := map[int]report.Best{1: report.Highest, -1: report.Lowest}[meaning[n].Structure]
		row := report.Row{Best: better, Cells: []report.Cell{report.TextCell(n)}}
		for _, d := range ds {
			c := report.BlankCell()
			if i := slices.IndexFunc(d.Measures, func(m eval.DiagnosisMeasure) bool { return m.Name == n }); i >= 0 {
				c = report.NumberCell(d.Measures[i].Value, d.Measures[i].Digits)
			}
			row.Cells = append(row.Cells, c)
		}
		row.Cells = append(row.Cells, report.TextCell(meaning[n].Meaning))
		t.Rows = append(t.Rows, row)
	}
	return []report.Block{t}
}

// lowestSimilarity returns the least similarity of all triplets, at most 0, so that
// all models have the same axes.
func lowestSimilarity(ds []Diagnosis) float64 {
	low := 0.0
	for _, d := range ds {
		for _, n := range d.Triplets {
			for _, values := range [][]float64{n.AP, n.AN} {
				for _, v := range values {
					if figure.CanShow(v, false) {
						low = min(low, v)
					}
				}
			}
		}
	}
	return low
}

func tripletFigures(d Diagnosis, low float64) []figure.Figure {
	var out []figure.Figure
	for _, n := range d.Triplets {
		title := n.Name
		if d.Name != "" {
			title = shortRunes(d.Name, 24) + ": " + n.Name
		}
		r := figure.Range{Min: low - 0.02, Max: 1.02}
		for _, v := range slices.Concat(n.AP, n.AN) {
			if figure.CanShow(v, false) && v > r.Max { // dot products can exceed 1
				r = figure.Range{}
				break
			}
		}
		out = append(out, figure.Triplets{Axes: figure.Axes{Title: title, Width: 300, Height: 310, XRange: r,
			YRange: r}, AP: n.AP, AN: n.AN})
	}
	return out
}

func spectrumFigure(d Diagnosis) []figure.Figure {
	if len(d.Spectra) == 0 {
		return nil
	}
	var names []string
	var values [][]float64
	for _, s := range d.Spectra[:min(len(d.Spectra), maxShownSpectra)] {
		names, values = append(names, s.Name), append(values, s.Values)
	}
	return []figure.Figure{figure.Spectrum(figure.Axes{Title: d.Name, X: "rank", Y: "singular value"}, names, values)}
}

// classBlocks returns a scatter of the classes' sizes against their distances, and a table
// of the worst classes, for each model.
func classBlocks(ds []Diagnosis) []report.Block {
	blocks := figureBlocks(ds, describeSets(ds)+"One mark per class. Above the dashed line the nearest other class is "+
		"farther away than the class's own members are from each other, on average.",
		func(d Diagnosis) []figure.Figure {
			if len(d.Classes) == 0 {
				return nil
			}
			far := 0.0
			for _, c := range d.Classes {
				for _, v := range []float64{c.Intra, c.Other} {
					if figure.CanShow(v, false) {
						far = max(far, v)
					}
				}
			}
			axis := figure.Range{Max: max(far, 1e-9) * 1.05}
			s := figure.Scatter{Axes: figure.Axes{Title: d.Name, X: "mean distance within the class",
				Y: "distance to the nearest other class", XRange: axis, YRange: axis}, Diagonal: true, Radius: 3.5}
			for _, c := range d.Classes {
				s.X, s.Y = append(s.X, c.Intra), append(s.Y, c.Other)
				s.Tips = append(s.Tips, fmt.Sprintf("%s: %s within, %s to the nearest other class", c.Name,
					figure.FormatShort(c.Intra),
					figure.FormatShort(c.Other)))
			}
			return []figure.Figure{s}
		})
	for _, d := range ds {
		if len(d.Classes) > 0 {
			blocks = append(blocks, classTable(d))
		}
	}
	return blocks
}

func classTable(d Diagnosis) report.Table {
	sorted := slices.Clone(d.Classes)
	about := describeSets([]Diagnosis{d})
	if d.Name != "" {
		about = strings.TrimSpace(d.Name + ": " + d.About)
	}
	// The least separated classes come first; classes without a compactness (all points
	// equal, a single class) come last.
	slices.SortStableFunc(sorted, func(a, b ClassDiagnosis) int {
		return cmp.Compare(b.compactness(), a.compactness())
	})
	t := report.Table{
		Caption: about,
		Columns: []report.Column{{Name: "class"}, {Name: "items"}, {Name: "diameter"}, {Name: "mean distance"},
			{Name: "to nearest class"},
			{Name: "compactness"}, {Name: "kinds"}, {Name: "effective rank"}, {Name: "R@1, %"}},
	}
	for _, c := range sorted[:min(len(sorted), maxDiagnosedClasses)] {
		t.Rows = append(t.Rows,
			report.Row{Cells: []report.Cell{report.NameCell(c.Name), report.NumberCell(float64(c.Size), 0),
				report.NumberCell(c.Diameter, 3),
				report.NumberCell(c.Intra, 3),
				report.NumberCell(c.Other, 3), report.NumberCell(c.compactness(), 2),
				report.NumberCell(float64(c.Kinds), 0),
				report.NumberCell(c.Rank, 1),
				report.NumberCell(100*c.Recall, 1)}})
	}
	t.Note = "Least separated class first. Compactness is the mean distance within a class over the distance to the " +
		"nearest other class: near 0 a class is a point, at 1 it is as wide as the gap to that class."
	if n := len(sorted) - maxDiagnosedClasses; n > 0 {
		t.Note += fmt.Sprintf(" %d more classes are not listed.", n)
	}
	return t
}

// clusterBlocks draws NMI against the number of clusters, all models in one figure.
func clusterBlocks(ds []Diagnosis) []report.Block {
	l := figure.Lines{Axes: figure.Axes{Title: "Clusters found by k-means", X: "clusters", Y: "NMI", LogX: true,
		Width: 380},
		Marks: true}
	for _, d := range ds {
		if len(d.Clusters) > 0 {
			l.Curves = append(l.Curves, figure.Curve{Name: d.Name, X: d.Clusters, Y: d.NMI})
		}
	}
	if len(l.Curves) == 0 {
		return nil
	}
	return []report.Block{report.Figures{Items: []report.Captioned{{Figure: l}},
		Caption: describeSets(ds) +
			"Normalised mutual information of the clusters with the labels. If it still grows " +
			"beyond one cluster per class, classes consist of several groups."}}
}

// shortRunes returns s with as much of its middle left out as is needed for n runes.
func shortRunes(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:(n+1)/2]) + "…" + string(r[len(r)-(n-1)/2:])
}
