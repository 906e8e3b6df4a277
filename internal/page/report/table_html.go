package report

import (
	"fmt"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// field is a cell of a table on a page.
type field struct {
	text, class string
	value       string // what rows are sorted by
	named       bool
}

func (f field) content() g.Node {
	if f.named {
		return shortName(f.text).node()
	}
	return proseText(f.text)
}

// html writes a table. A wide table keeps its first column in sight. A stacked table puts the
// prose of its last column below the row on a phone. A sortable table has rows that can be read
// in any order.
func (t Table) html(r *renderer) (g.Node, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	if t.isSortable() || t.hasNames() {
		r.use("table.js")
	}
	class := "box"
	if len(t.Columns) > 3 {
		class += " wide"
	}
	if t.isStacked() {
		class += " stacked"
	}
	between := max(0, len(t.Columns)-2) // columns between the first and the prose
	return g.Group{
		nodeIf(t.Caption, g.Group{h.P(h.Class("caption"), proseText(t.Caption)), line}),
		h.Div(h.Class(class), h.TabIndex("0"), g.If(t.isStacked(), h.Style(fmt.Sprintf("--n: %d", between))),
			flagAttribute(t.isSortable(), "data-sort"),
			h.Table(nodeIf(t.Caption, h.Aria("label", t.Caption)),
				line, h.THead(line, t.groups(), h.Tr(g.Map(t.heads(), func(f field) g.Node {
					return h.Th(h.Scope("col"), classAttribute(f.class), f.content())
				})), line),
				line, h.TBody(line, t.body()), line)),
		line, nodeIf(t.Note, g.Group{h.P(h.Class("note"), proseText(t.Note)), line}),
	}, nil
}

func (t Table) heads() []field {
	var out []field
	for k, c := range t.Columns {
		out = append(out, field{text: c.Name, class: t.columnClass(k), named: c.Named})
	}
	return out
}

// groups returns the row of group headings above the heads, if there are groups.
func (t Table) groups() g.Node {
	if !t.hasGroups() {
		return nil
	}
	var cells []g.Node
	for k := 0; k < len(t.Columns); {
		name, from := t.Columns[k].Group, k
		for k < len(t.Columns) && t.Columns[k].Group == name {
			k++
		}
		span := h.ColSpan(strconv.Itoa(k - from))
		if name == "" {
			cells = append(cells, h.Td(span))
		} else {
			cells = append(cells, h.Th(span, h.Class("group"), g.Text(name)))
		}
	}
	return g.Group{h.Tr(cells...), line}
}

func (t Table) body() g.Node {
	var out g.Group
	best := t.best()
	for i, row := range t.Rows {
		if row.Heading != "" {
			whole := h.ColSpan(strconv.Itoa(len(t.Columns)))
			out = append(out, h.Tr(h.Class("heading"), h.Th(whole, h.Scope("colgroup"), g.Text(row.Heading))), line)
		}
		if len(row.Cells) == 0 {
			continue
		}
		var cells []g.Node
		for k, c := range row.Cells {
			f := t.field(k, c, best[i][k])
			cells = append(cells, h.Td(classAttribute(f.class), nodeIf(f.value, h.Data("v", f.value)), f.content()))
		}
		out = append(out, h.Tr(cells...), line)
	}
	return out
}

// field returns a cell of column k; best marks the column's best cell.
func (t Table) field(k int, c Cell, best bool) field {
	f := field{text: c.String(), class: t.columnClass(k), named: c.kind == nameCell}
	if c.kind == publishedCell {
		f.class += " paper"
	}
	if best {
		f.class += " best"
	}
	if c.kind >= measuredCell {
		f.value = strconv.FormatFloat(c.value, 'g', -1, 64)
	}
	return f
}
