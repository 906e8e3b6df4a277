package paper

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/internal/page/report"
)

// overview returns the page of all experiments: what each compares, its command, its main numbers
// and how many statements hold. An experiment without statements is only listed. folder is the
// folder of the experiments' own pages, relative to the page.
func overview(folder string, outcomes []*Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The papers' experiments, repeated\n\n%s\n\n", paragraph(fmt.Sprintf("This page is written by "+
		"`kindred reproduce document` from [%[1]s/results](%[1]s/results), where each experiment has a page with all "+
		"numbers, statements, figures and settings. `kindred reproduce NAME` runs it. "+
		"[%[1]s/%[2]s](%[1]s/%[2]s) measures `kindred train` without settings.", folder,
		DefaultsPage)))
	for _, rule := range []string{
		verdictRule,
		"The tables have means over the seeds, in per cent. A number in bold is ahead of all other arms, by the " +
			"same test, corrected for the arms and measures of the experiment.",
		"The paper's numbers are shown only on the paper's data. Network, image size and training are seldom the " +
			"paper's.",
		"Sweeps chose settings on a part of the training data. Every arm had the same number of trials and epochs.",
	} {
		fmt.Fprintf(&b, "%s\n", listItem(rule))
	}
	var others []string
	for _, group := range groupBySection(documentedOutcomes(outcomes)) {
		if out := group[0]; len(group) == 1 && len(out.Claims) == 0 {
			others = append(others, fmt.Sprintf("[%[2]s](%[1]s/results/%[2]s.md): %[3]s.", folder, out.Experiment,
				out.Title))
			continue
		}
		writeSection(&b, folder, group)
	}
	if others != nil {
		b.WriteString("\n## Experiments without statements\n\n")
	}
	for _, other := range others {
		fmt.Fprintf(&b, "%s\n", listItem(other))
	}
	return b.String()
}

// groupBySection are the outcomes by the section of the page that they stand in.
func groupBySection(outcomes []*Outcome) [][]*Outcome {
	var groups [][]*Outcome
	for _, out := range outcomes {
		k := -1
		if with := out.brief().With; with != "" {
			k = slices.IndexFunc(groups, func(g []*Outcome) bool { return g[0].Experiment == with })
		}
		if k < 0 {
			groups = append(groups, nil)
			k = len(groups) - 1
		}
		groups[k] = append(groups[k], out)
	}
	return groups
}

func (out *Outcome) brief() Brief {
	if out.e.Brief == nil {
		return Brief{}
	}
	return *out.e.Brief
}

func writeSection(b *strings.Builder, folder string, group []*Outcome) {
	first := group[0]
	title := first.Title
	if len(group) > 1 {
		title = cmp.Or(first.brief().Title, first.e.Title)
	}
	about := []string{first.e.About}
	for _, out := range group[1:] {
		if more := strings.TrimSpace(strings.TrimPrefix(out.e.About, first.e.About)); more != "" {
			about = append(about, more)
		}
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n", title, paragraph(strings.Join(about, " ")))
	for _, out := range group {
		b.WriteString("    " + out.command() + "\n")
	}
	fmt.Fprintf(b, "\n%s\n", overviewTable(group).Markdown())
	var tallies []string
	for _, out := range group {
		tallies = append(tallies, fmt.Sprintf("[%[2]s](%[1]s/results/%[2]s.md): %[3]s.", folder, out.Experiment,
			out.tally()))
	}
	b.WriteString(paragraph(strings.Join(tallies, " ")) + "\n")
}

// overviewTable has the main measures of the experiments of a section.
func overviewTable(group []*Outcome) report.Table {
	if len(group) == 1 && group[0].e.Sweep != nil && group[0].brief().Series == nil {
		return group[0].sweepTable(false)
	}
	t := report.Table{Columns: []report.Column{{Name: ""}}}
	var names []string
	for _, out := range group {
		for _, name := range out.briefRows() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{report.TextCell(name)}})
	}
	add := func(c report.Column, of func(name string) report.Cell) {
		t.Columns = append(t.Columns, c)
		for i, name := range names {
			t.Rows[i].Cells = append(t.Rows[i].Cells, of(name))
		}
	}
	common := commonMeasure(group)
	t.Columns[0].Name = common
	for _, out := range group {
		for _, k := range out.briefMeasures(len(group)) {
			m := out.e.Measures[k]
			c := report.Column{Name: m.Name, Group: m.Group}
			switch {
			case common != "":
				c = report.Column{Name: out.Experiment}
			case len(group) > 1:
				c = report.Column{Name: m.title(), Group: out.Experiment}
			}
			best := out.best()[k]
			add(c, func(name string) report.Cell { return out.briefCell(name, k, best) })
			if slices.ContainsFunc(out.Arms, func(a ArmOutcome) bool { return a.Measures[k].Paper != nil }) {
				add(report.Column{Name: "paper", Group: c.Group}, func(name string) report.Cell {
					if i := out.e.arm(name); i >= 0 {
						return paperCell(out.Arms[i].Measures[k].Paper)
					}
					return report.BlankCell()
				})
			}
		}
	}
	return t
}

// title is the measure's name with its group's.
func (m Measure) title() string { return strings.TrimSpace(m.Group + " " + m.Name) }

// commonMeasure is the title of the one measure that the table of several experiments shows;
// "" if there are several.
func commonMeasure(group []*Outcome) string {
	title := ""
	for _, out := range group {
		shown := out.briefMeasures(len(group))
		m := out.e.Measures[shown[0]].title()
		if len(group) == 1 || len(shown) > 1 || title != "" && m != title {
			return ""
		}
		title = m
	}
	return title
}

// briefRows are the names of the rows: series of arms, or all arms.
func (out *Outcome) briefRows() []string {
	if s := out.brief().Series; s != nil {
		return s
	}
	var names []string
	for _, a := range out.Arms {
		names = append(names, a.Name)
	}
	return names
}

// briefMeasures are the positions of the measures that are shown: those of the brief, or the
// first of each group; of a section of several experiments the first alone.
func (out *Outcome) briefMeasures(experiments int) []int {
	var shown []int
	var groups []string
	keys := out.brief().Measures
	for k, m := range out.e.Measures {
		if keys != nil && slices.Contains(keys, m.Key) || keys == nil && !slices.Contains(groups, m.Group) {
			shown, groups = append(shown, k), append(groups, m.Group)
		}
	}
	if experiments > 1 && keys == nil {
		shown = shown[:1]
	}
	return shown
}

// briefCell is the mean of a measure of an arm or of a series; blank if out does not have it.
func (out *Outcome) briefCell(name string, measure, best int) report.Cell {
	if i := out.e.arm(name); i >= 0 {
		c := report.NumberCell(float64(out.Arms[i].Measures[measure].Mean), 1)
		if best == i {
			c = c.Marked()
		}
		return c
	}
	if slices.ContainsFunc(out.e.Arms, func(a Arm) bool { return a.Series == name }) {
		return report.NumberCell(float64(out.seriesMean(name, out.e.Measures[measure].Key).Mean), 1)
	}
	return report.BlankCell()
}

// sweepTable has the first measure: a row per series, a column per value of the figure's axis.
func (out *Outcome) sweepTable(spread bool) report.Table {
	series, at := out.sweepAxes()
	m := out.e.Measures[0]
	t := report.Table{Columns: []report.Column{{Name: m.title() + ", by " + out.e.Sweep.X}}}
	for _, x := range out.sweepValues() {
		t.Columns = append(t.Columns, report.Column{Name: x})
	}
	best := out.best()[0]
	for _, s := range series {
		row := report.Row{Cells: []report.Cell{report.TextCell(s)}}
		for _, x := range at {
			c := report.BlankCell()
			if i := slices.IndexFunc(out.e.Arms, func(a Arm) bool { return a.seriesName() == s && a.At == x }); i >= 0 {
				c = out.briefCell(out.e.Arms[i].Name, 0, best)
				if spread {
					c = meanStd(out.Arms[i].Measures[0].Summary)
				}
			}
			row.Cells = append(row.Cells, c)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// seriesName is the arm's series, or its own name if it has none.
func (a *Arm) seriesName() string { return cmp.Or(a.Series, a.Name) }

// sweepAxes are the series of the figure and the values of its axis.
func (out *Outcome) sweepAxes() (series []string, at []float64) {
	for i := range out.e.Arms {
		a := &out.e.Arms[i]
		if name := a.seriesName(); !slices.Contains(series, name) {
			series = append(series, name)
		}
		if !slices.Contains(at, a.At) {
			at = append(at, a.At)
		}
	}
	slices.Sort(at)
	return series, at
}

// sweepValues are the values of the figure's axis as text.
func (out *Outcome) sweepValues() []string {
	_, at := out.sweepAxes()
	var values []string
	for _, x := range at {
		values = append(values, strconv.FormatFloat(x, 'g', -1, 64))
	}
	return values
}

// seriesTable has a row per series: the mean of every measure over the arms of the series.
func (out *Outcome) seriesTable() report.Table {
	t := report.Table{Columns: []report.Column{{Name: ""}}}
	for _, m := range out.e.Measures {
		t.Columns = append(t.Columns, report.Column{Name: m.Name, Group: m.Group})
	}
	series, _ := out.sweepAxes()
	for _, s := range series {
		row := report.Row{Cells: []report.Cell{report.TextCell(s)}}
		for _, m := range out.e.Measures {
			row.Cells = append(row.Cells, meanStd(out.seriesMean(s, m.Key)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// tally counts the verdicts in a clause, and says if the data are not the paper's.
func (out *Outcome) tally() string {
	text := out.countVerdicts()
	if len(out.Claims) > 0 && out.Data.InsteadOf != "" {
		text += ", on other data than the paper's"
	}
	return text
}

// countVerdicts counts the verdicts in a clause.
func (out *Outcome) countVerdicts() string {
	n := len(out.Claims)
	if n == 0 {
		return "no statements"
	}
	words := map[Verdict][2]string{Holds: {"holds", "hold"}, Undecided: {"is undecided", "are undecided"},
		Contradicted: {"is contradicted", "are contradicted"}}
	var parts []string
	for _, v := range []Verdict{Holds, Undecided, Contradicted} {
		claims, _ := out.claimsWith(v)
		k := len(claims)
		switch {
		case k == 0:
			continue
		case k == n && n == 1:
			return "the statement " + words[v][0]
		case k == n && n == 2:
			return "both statements " + words[v][1]
		case k == n:
			return fmt.Sprintf("all %d statements %s", n, words[v][1])
		}
		word := words[v][1]
		if k == 1 {
			word = words[v][0]
		}
		if len(parts) == 0 {
			parts = append(parts, fmt.Sprintf("%d of %d statements %s", k, n, word))
		} else {
			parts = append(parts, fmt.Sprintf("%d %s", k, word))
		}
	}
	return strings.Join(parts, ", ")
}

// Markdown paragraphs are broken into lines of this length.
const paragraphWidth = 120

// marksBlock matches a word that would begin a list, a heading or a quotation at the start of a line.
var marksBlock = regexp.MustCompile(`^([-+*#>]|\d+[.)])$`)

// paragraph breaks text into lines.
func paragraph(text string) string { return wrapLines(text, "") }

// listItem is text as an item of a list.
func listItem(text string) string { return "- " + wrapLines(text, "  ") }

func wrapLines(text, indent string) string {
	var b strings.Builder
	length := len(indent)
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case i == 0:
		case length+1+n > paragraphWidth && !marksBlock.MatchString(word):
			b.WriteString("\n" + indent)
			length = len(indent)
		default:
			b.WriteString(" ")
			length++
		}
		b.WriteString(word)
		length += n
	}
	return b.String()
}
