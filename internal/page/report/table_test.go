package report

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func sampleTable() Table {
	return Table{
		Caption: "Recall", Note: "three seeds",
		Columns: []Column{{Name: "method"}, {Name: "R@1", Group: "ours", Best: Highest},
			{Name: "loss", Group: "ours", Best: Lowest}, {Name: "R@1", Group: "paper", Best: Highest}},
		Rows: []Row{
			{Heading: "digits 0-5"},
			{Cells: []Cell{TextCell("random"), MeanStdCell(44.04, 0.6, 3, 1), NumberCell(0.5, 2),
				PublishedCell(42, 1)}},
			{Cells: []Cell{TextCell("EPS | a"), MeanStdCell(67.01, 1.1, 3, 1), NumberCell(0.5, 2),
				PublishedCell(65.8, 1)}},
			{Cells: []Cell{TextCell("EPS b"), NumberCell(67.04, 1), NumberCell(math.NaN(), 2), BlankCell()}},
		},
	}
}

func TestBestMarks(t *testing.T) {
	best := sampleTable().best()
	// Equal as printed: both are best. Equal in all rows: none is. Published
	// numbers never are.
	want := "[[] [false false false false] [false true false false] [false true false false]]"
	if got := fmt.Sprint(best); got != want {
		t.Errorf("best %s, want %s", got, want)
	}
	if got := (Table{Columns: make([]Column, 2),
		Rows: []Row{{Cells: []Cell{NumberCell(1, 0).Marked(), NumberCell(2, 0)}}}}).Markdown(); !strings.Contains(got,
		"| **1** | 2 |") {
		t.Errorf("a marked cell without a rank: %s", got)
	}
	rows := Table{Columns: make([]Column, 3),
		Rows: []Row{{Best: Lowest, Cells: []Cell{TextCell("x"), NumberCell(2, 0), NumberCell(-1, 0)}},
			{Cells: []Cell{TextCell("y"), NumberCell(1, 0), NumberCell(2, 0)}}}}
	if got := fmt.Sprint(rows.best()); got != "[[false false true] [false false false]]" {
		t.Errorf("best of rows %s", got)
	}
}

func TestTableText(t *testing.T) {
	got := sampleTable().String()
	want := `Recall
method ours R@1 ours loss paper R@1
------- ----------- --------- ---------
digits 0-5
random 44.0 ± 0.6 0.50 42.0
EPS | a 67.0 ± 1.1* 0.50 65.8
EPS b 67.0* NaN
three seeds`
	if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got\n%swant, but for spaces,\n%s", got, want)
	}
	width := 0
	for _, line := range strings.Split(got, "\n")[1:6] {
		if line == "digits 0-5" {
			continue
		}
		if n := len([]rune(line)); width != 0 && n != width {
			t.Errorf("line %q has %d characters, others %d", line, n, width)
		} else {
			width = n
		}
	}
}

// A table with more columns than rows is narrower turned: rows become columns, with the
// same marks.
func TestNarrow(t *testing.T) {
	wide := Table{Note: "in per cent", Columns: []Column{{Name: "arm"}}}
	rows := []Row{{Cells: []Cell{TextCell("plain")}}, {Cells: []Cell{TextCell("EPS")}}}
	for k := range 8 {
		wide.Columns = append(wide.Columns, Column{Name: "R@1", Group: "digits " + string(rune('a'+k)), Best: Highest})
		for r := range rows {
			rows[r].Cells = append(rows[r].Cells, NumberCell(float64(10*r+k), 1))
		}
	}
	wide.Rows = rows
	turned := wide.Narrow()
	if err := turned.check(); err != nil || len(turned.Rows) != 8 || len(turned.Columns) != 3 {
		t.Fatalf("%v\n%s", err, turned)
	}
	if got, want := turned.String(), "digits c R@1    2.0  12.0*\n"; !strings.Contains(got, want) ||
		!strings.HasSuffix(got, "in per cent\n") {
		t.Errorf("no %q in\n%s", want, got)
	}
	if back := turned.Narrow(); back.String() != turned.String() {
		t.Errorf("a narrow table was turned:\n%s", back)
	}
	headed := wide
	headed.Rows = append([]Row{{Heading: "first"}}, wide.Rows...)
	for _, whole := range []Table{headed, {}, {Columns: wide.Columns}} {
		if got := whole.Narrow(); got.String() != whole.String() {
			t.Errorf("turned:\n%s", got)
		}
	}
}

func TestTableMarkdown(t *testing.T) {
	want := `| method | ours R@1 | ours loss | paper R@1 |
| --- | ---: | ---: | ---: |
| **digits 0-5** |  |  |  |
| random | 44.0 ± 0.6 | 0.50 | 42.0 |
| EPS \| a | **67.0 ± 1.1** | 0.50 | 65.8 |
| EPS b | **67.0** | NaN |  |
`
	if got := sampleTable().Markdown(); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestSamples(t *testing.T) {
	for want, v := range map[string][]float64{"": nil, "2.0": {2}, "3.0 ± 1.4": {2, 4}} {
		if got := SampleCell(v, 1).String(); got != want {
			t.Errorf("Samples(%v) = %q, want %q", v, got, want)
		}
	}
	for want, c := range map[string]Cell{"+23.8": PublishedCell(23.8, 1).Signed(), "−5.4": NumberCell(-5.4, 1).Signed(),
		"0.0": NumberCell(-0.04, 1).Signed(), "+1.0 ± 0.5": MeanStdCell(1, 0.5, 3, 1).Signed()} {
		if got := c.String(); got != want {
			t.Errorf("a difference %q, want %q", got, want)
		}
	}
	if got := NumberCell(-1.25, 2).String(); got != "−1.25" {
		t.Errorf("negative number %q", got)
	}
}

func TestTableOnAPage(t *testing.T) {
	rows := Table{Caption: "classes", Columns: []Column{{Name: "class"}, {Name: "items"}}}
	for i := range 8 {
		name := NameCell("a class with a long name " + fmt.Sprint(i))
		rows.Rows = append(rows.Rows, Row{Cells: []Cell{name, NumberCell(float64(i)/3, 1)}})
	}
	prose := Table{Columns: []Column{{Name: "measure"}, {Name: "a"}, {Name: "what it says"}}}
	for range 8 {
		prose.Rows = append(prose.Rows, Row{Cells: []Cell{TextCell("m"), NumberCell(1, 1),
			TextCell("what it is, explained at length")}})
	}
	page := func(t *testing.T, table Table) string {
		html, err := Page{Sections: []Section{{Blocks: []Block{table}}}}.HTML()
		if err != nil {
			t.Fatal(err)
		}
		return string(html)
	}
	s := page(t, rows)
	for _, want := range []string{" data-sort>", `data-v="0.3333333333333333">0.3<`,
		`title="a class with a long name 3"><span>a class with a lon</span><span>g name 3</span>`, "keyed.sort"} {
		if !strings.Contains(s, want) {
			t.Errorf("no %s on the page", want)
		}
	}
	s = page(t, prose)
	if strings.Contains(s, " data-sort") || !strings.Contains(s, `class="box stacked"`) ||
		!strings.Contains(s, `class="prose"`) {
		t.Error("rows of explanations are to be sorted, or not set as prose")
	}
	rows.Rows = append(rows.Rows[:5:5], Row{Heading: "another group"}, rows.Rows[5])
	if s = page(t, rows); strings.Contains(s, " data-sort") {
		t.Error("rows under headings are to be sorted")
	}
}

func TestUnbroken(t *testing.T) {
	for in, want := range map[string]string{
		"took 4 min 05 s in all":   "took 4\u00a0min\u00a005\u00a0s in all",
		"65.8 ± 0.4":               "65.8\u00a0±\u00a00.4",
		"fails from s = 8, in 14":  "fails from s\u00a0=\u00a08, in 14",
		"recall@1, %":              "recall@1,\u00a0%",
		"12 % of 3 sets":           "12\u00a0% of 3 sets",
		"8 seeds, plain text here": "8\u00a0seeds, plain text here",
	} {
		if got := keepTogether(in); got != want {
			t.Errorf("unbroken(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTableLaTeX(t *testing.T) {
	tab := sampleTable()
	tab.Rows = append(tab.Rows, Row{Cells: []Cell{NameCell("50%_a\n"), NumberCell(1, 0), NumberCell(2, 0).Signed(),
		BlankCell()}})
	want := `% Recall
\begin{tabular}{lrrr}
\toprule
method & ours R@1 & ours loss & paper R@1 \\
\midrule
\multicolumn{4}{l}{\textit{digits 0-5}} \\
random & 44.0 $\pm$ 0.6 & \textbf{0.50} & 42.0 \\
EPS | a & \textbf{67.0 $\pm$ 1.1} & \textbf{0.50} & 65.8 \\
EPS b & \textbf{67.0} & NaN &  \\
50\%\_a\textbackslash{}n & 1 & +2 &  \\
\bottomrule
\end{tabular}
% three seeds
`
	if got := tab.LaTeX(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
