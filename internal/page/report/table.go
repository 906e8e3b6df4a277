package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/page/figure"
)

// Table is a table of a page; it also prints as plain text, Markdown and LaTeX.
type Table struct {
	Caption string
	Columns []Column
	Rows    []Row
	// Note is the text below the table, such as the meaning of ± and the number of seeds.
	Note string
}

// Column describes a column. Group is a heading above neighbouring columns
// that share it.
type Column struct {
	Name, Group string
	// Best marks the best of the column's measured cells, which exclude Paper cells.
	Best Best
	// Named means that Name comes from outside, such as a run's. It is shortened like a Name.
	Named bool
}

// Best is the value of a column that is marked.
type Best int

// The kinds of best value.
const (
	NoBest Best = iota
	Highest
	Lowest
)

// Row is one row: a cell per column. A row with only a Heading spans the
// table and starts a group.
type Row struct {
	Heading string
	Cells   []Cell
	// Best marks the best measured cell of the row, for tables that compare their
	// columns.
	Best Best
}

// Cell is a text or a number. Make one with T, Num, MeanStdCell, Paper or Blank.
type Cell struct {
	text      string
	value     float64
	std       float64
	n, digits int
	kind      cellKind
	marked    bool
	signed    bool
}

type cellKind int

const (
	blankCell cellKind = iota
	textCell
	nameCell
	measuredCell
	publishedCell
)

// TextCell is a cell of text.
func TextCell(s string) Cell { return Cell{text: s, kind: textCell} }

// NameCell is a cell with a name from outside, such as a class or a file. A page shortens
// a long name in the middle and shows the whole on hover.
func NameCell(s string) Cell { return Cell{text: s, kind: nameCell} }

// NumberCell is a measured number with a fixed number of decimals.
func NumberCell(v float64, digits int) Cell {
	return Cell{value: v, digits: digits, n: 1, kind: measuredCell}
}

// MeanStdCell is the mean of n measurements with their standard deviation, which
// is shown if n > 1.
func MeanStdCell(mean, std float64, n, digits int) Cell {
	return Cell{value: mean, std: std, n: n, digits: digits, kind: measuredCell}
}

// SampleCell is MeanStdCell of the values given (standard deviation with n - 1);
// without values it is Blank.
func SampleCell(values []float64, digits int) Cell {
	if len(values) == 0 {
		return BlankCell()
	}
	var s, ss float64
	for _, v := range values {
		s += v
	}
	m := s / float64(len(values))
	for _, v := range values {
		ss += (v - m) * (v - m)
	}
	return MeanStdCell(m, math.Sqrt(ss/float64(max(1, len(values)-1))), len(values), digits)
}

// PublishedCell is a published number; it is set apart and never marked as best.
func PublishedCell(v float64, digits int) Cell {
	return Cell{value: v, digits: digits, kind: publishedCell}
}

// Marked returns the cell marked as best, whatever the Best of its column and row, for
// tables that mark by a test.
func (c Cell) Marked() Cell {
	c.marked = true
	return c
}

// Signed returns the cell with a plus before a positive number, for differences.
func (c Cell) Signed() Cell {
	c.signed = true
	return c
}

// BlankCell is an empty cell.
func BlankCell() Cell { return Cell{} }

// String returns the cell's text, such as "65.8 ± 0.4".
func (c Cell) String() string {
	num := func(v float64) string {
		if !figure.CanShow(v, false) {
			return fmt.Sprint(v)
		}
		s := strconv.FormatFloat(v, 'f', c.digits, 64)
		if strings.Trim(s, "-0.") == "" { // -0.04 is 0.0, not −0.0
			return strings.TrimPrefix(s, "-")
		}
		if c.signed && v > 0 {
			return "+" + s
		}
		return figure.FormatMinus(s)
	}
	switch {
	case c.kind == blankCell:
		return ""
	case c.kind == textCell || c.kind == nameCell:
		return c.text
	case c.kind == measuredCell && c.n > 1:
		return num(c.value) + " ± " + strings.TrimPrefix(num(c.std), "+")
	}
	return num(c.value)
}

// best returns for every row which of its cells are best in their column or row.
func (t Table) best() [][]bool {
	out := make([][]bool, len(t.Rows))
	for r := range t.Rows {
		out[r] = make([]bool, len(t.Rows[r].Cells))
		for k := range out[r] {
			out[r][k] = t.Rows[r].Cells[k].marked
		}
	}
	for k, col := range t.Columns {
		var cells []*Cell
		for r := range t.Rows {
			if k < len(t.Rows[r].Cells) {
				cells = append(cells, &t.Rows[r].Cells[k])
			} else {
				cells = append(cells, &Cell{})
			}
		}
		for r, b := range findBest(cells, col.Best) {
			if b {
				out[r][k] = true
			}
		}
	}
	for r := range t.Rows {
		var cells []*Cell
		for k := range t.Rows[r].Cells {
			cells = append(cells, &t.Rows[r].Cells[k])
		}
		for k, b := range findBest(cells, t.Rows[r].Best) {
			out[r][k] = out[r][k] || b
		}
	}
	return out
}

// findBest reports which of the cells are best, by the printed values. With fewer than
// two measured values, or if all are equal, no cell is best.
func findBest(cells []*Cell, kind Best) []bool {
	out := make([]bool, len(cells))
	lo, hi, n := math.Inf(1), math.Inf(-1), 0
	for _, c := range cells {
		if c.kind == measuredCell && figure.CanShow(c.value, false) {
			lo, hi, n = min(lo, c.rounded()), max(hi, c.rounded()), n+1
		}
	}
	if kind == NoBest || n < 2 || lo == hi {
		return out
	}
	top := hi
	if kind == Lowest {
		top = lo
	}
	for i, c := range cells {
		out[i] = c.kind == measuredCell && c.rounded() == top
	}
	return out
}

func (c Cell) rounded() float64 {
	p := math.Pow(10, float64(c.digits))
	return math.Round(c.value*p) / p
}

func (t Table) check() error {
	for i, r := range t.Rows {
		if len(r.Cells) != len(t.Columns) && (len(r.Cells) != 0 || r.Heading == "") {
			return fmt.Errorf("table %q: row %d has %d cells for %d columns", t.Caption, i, len(r.Cells),
				len(t.Columns))
		}
	}
	return nil
}

// isNumeric reports whether a column holds numbers. Texts among them, such as a signed
// difference, are then aligned like numbers.
func (t Table) isNumeric(k int) bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool { return k < len(r.Cells) && r.Cells[k].kind >= measuredCell })
}

// columnClass returns the style of a column on a page: numbers, prose that wraps, or short texts.
func (t Table) columnClass(k int) string {
	if t.isNumeric(k) {
		return "num"
	}
	for _, r := range t.Rows {
		if k < len(r.Cells) && r.Cells[k].kind == textCell &&
			utf8.RuneCountInString(r.Cells[k].text) > minProseLetters {
			return "prose"
		}
	}
	return ""
}

// minProseLetters is the number of letters from which a text wraps.
const minProseLetters = 28

// isSortable reports whether a reader may sort the rows: they can be read in any order,
// and there are enough of them.
func (t Table) isSortable() bool {
	for k := range t.Columns {
		if t.columnClass(k) == "prose" {
			return false
		}
	}
	for _, r := range t.Rows {
		if r.Heading != "" {
			return false
		}
	}
	return len(t.Rows) >= 6
}

// isStacked reports whether each row is a name, a few numbers and a text.
func (t Table) isStacked() bool {
	last := len(t.Columns) - 1
	if last < 1 || last > 3 || t.hasGroups() || t.columnClass(last) != "prose" {
		return false
	}
	for k := range last {
		if (t.columnClass(k) == "num") != (k > 0) {
			return false
		}
	}
	return true
}

// hasNames reports whether any cell is a Name.
func (t Table) hasNames() bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool {
		return slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.kind == nameCell })
	})
}

// hasGroups reports whether any column has a group.
func (t Table) hasGroups() bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Group != "" })
}

// titles returns the columns' names with their groups in front.
func (t Table) titles() []string {
	out := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = strings.TrimSpace(c.Group + " " + c.Name)
	}
	return out
}

// Transposed returns the table with its rows as columns, whose heads are the texts of
// the first column. A table with headings among its rows, or without rows, is returned
// unchanged.
func (t Table) Transposed() Table {
	out := Table{Caption: t.Caption, Note: t.Note}
	if len(t.Columns) == 0 || len(t.Rows) == 0 {
		return t
	}
	out.Columns = append(out.Columns, Column{Name: t.titles()[0]})
	for _, r := range t.Rows {
		if r.Heading != "" || len(r.Cells) != len(t.Columns) {
			return t
		}
		out.Columns = append(out.Columns, Column{Name: r.Cells[0].String(), Best: r.Best,
			Named: r.Cells[0].kind == nameCell})
	}
	for k, title := range t.titles()[1:] {
		row := Row{Cells: []Cell{TextCell(title)}, Best: t.Columns[k+1].Best}
		for _, r := range t.Rows {
			row.Cells = append(row.Cells, r.Cells[k+1])
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// Narrow returns the table or Transposed, whichever is narrower in a terminal.
func (t Table) Narrow() Table {
	if turned := t.Transposed(); turned.width() < t.width() {
		return turned
	}
	return t
}

// width returns the width of the table in a terminal, without caption and note.
func (t Table) width() int {
	t.Caption, t.Note = "", ""
	widest := 0
	for line := range strings.Lines(t.String()) {
		widest = max(widest, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
	}
	return widest
}

// String returns the table for a terminal: aligned columns, best values
// followed by *.
func (t Table) String() string {
	best := t.best()
	width := make([]int, len(t.Columns))
	head := t.titles()
	for i, h := range head {
		head[i] = escape.Name(h)
		width[i] = utf8.RuneCountInString(head[i])
	}
	text := func(r, k int) string {
		s := escape.Name(t.Rows[r].Cells[k].String())
		if best[r][k] {
			s += "*"
		}
		return s
	}
	for r := range t.Rows {
		for k := range t.Rows[r].Cells {
			if k < len(width) {
				width[k] = max(width[k], utf8.RuneCountInString(text(r, k)))
			}
		}
	}
	var b strings.Builder
	line := func(cell func(k int) (string, bool)) {
		var l strings.Builder
		for k := range t.Columns {
			s, right := cell(k)
			pad := strings.Repeat(" ", width[k]-utf8.RuneCountInString(s))
			if right {
				s = pad + s
			} else {
				s += pad
			}
			if k > 0 {
				l.WriteString("  ")
			}
			l.WriteString(s)
		}
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	if t.Caption != "" {
		b.WriteString(escape.Name(t.Caption) + "\n")
	}
	line(func(k int) (string, bool) { return head[k], t.isNumeric(k) })
	line(func(k int) (string, bool) { return strings.Repeat("-", width[k]), false })
	for r, row := range t.Rows {
		if row.Heading != "" {
			b.WriteString(escape.Name(row.Heading) + "\n")
		}
		if len(row.Cells) == len(t.Columns) {
			line(func(k int) (string, bool) { return text(r, k), t.isNumeric(k) })
		}
	}
	if t.Note != "" {
		b.WriteString(escape.Text(t.Note) + "\n")
	}
	return b.String()
}

// Markdown returns the table in GitHub's Markdown, best values in bold.
func (t Table) Markdown() string {
	var b strings.Builder
	cell := func(s string, bold bool) string {
		s = escape.Markdown(s)
		if bold {
			s = "**" + s + "**"
		}
		return " " + s + " |"
	}
	b.WriteString("|")
	for _, h := range t.titles() {
		b.WriteString(cell(h, false))
	}
	b.WriteString("\n|")
	for k := range t.Columns {
		if t.isNumeric(k) {
			b.WriteString(" ---: |")
		} else {
			b.WriteString(" --- |")
		}
	}
	b.WriteString("\n")
	best := t.best()
	for r, row := range t.Rows {
		if row.Heading != "" {
			b.WriteString("|" + cell(row.Heading, true) + strings.Repeat("  |", max(0, len(t.Columns)-1)) + "\n")
		}
		if len(row.Cells) == 0 {
			continue
		}
		b.WriteString("|")
		for k, c := range row.Cells {
			b.WriteString(cell(c.String(), best[r][k]))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// LaTeX returns the table as a tabular of the package booktabs, best values in bold. Caption and note are comments.
func (t Table) LaTeX() string {
	var b strings.Builder
	comment := func(s string) {
		for line := range strings.Lines(s) {
			b.WriteString("% " + escape.Name(strings.TrimSuffix(line, "\n")) + "\n")
		}
	}
	comment(t.Caption)
	b.WriteString(`\begin{tabular}{`)
	for k := range t.Columns {
		if t.isNumeric(k) {
			b.WriteString("r")
		} else {
			b.WriteString("l")
		}
	}
	b.WriteString("}\n\\toprule\n")
	line := func(cells []string) { b.WriteString(strings.Join(cells, " & ") + " \\\\\n") }
	head := t.titles()
	for k := range head {
		head[k] = escape.LaTeX(head[k])
	}
	line(head)
	b.WriteString("\\midrule\n")
	best := t.best()
	for r, row := range t.Rows {
		if row.Heading != "" {
			line([]string{fmt.Sprintf(`\multicolumn{%d}{l}{\textit{%s}}`, len(t.Columns), escape.LaTeX(row.Heading))})
		}
		if len(row.Cells) == 0 {
			continue
		}
		cells := make([]string, len(row.Cells))
		for k, c := range row.Cells {
			if cells[k] = escape.LaTeX(c.String()); best[r][k] {
				cells[k] = `\textbf{` + cells[k] + "}"
			}
		}
		line(cells)
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
	comment(t.Note)
	return b.String()
}
