package report

import (
	"fmt"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/kindred-ml/kindred/internal/page/theme"
)

// Pages are built from nodes and not by html/template: its templates can call any method
// of their data, so a program that links it keeps every exported method of every type,
// which makes kindred an eighth larger. Nodes escape texts and the values of attributes.
// g.Raw holds only markup of this package, or JSON, in which <, > and & are escaped.

// line ends a line of the document. It is also the space between inline elements.
var line = g.Raw("\n")

// proseText returns text whose numbers are not separated from their units.
func proseText(s string) g.Node { return g.Text(keepTogether(s)) }

// nodeIf returns the node if there is a text.
func nodeIf(text string, node g.Node) g.Node { return g.If(text != "", node) }

// flagAttribute returns an attribute without a value, or nothing if it is not set.
func flagAttribute(set bool, name string) g.Node { return g.If(set, g.Attr(name)) }

// classAttribute returns the attribute class, or nothing without a class.
func classAttribute(class string) g.Node { return nodeIf(class, h.Class(class)) }

// figureCaption returns a figure's caption, or nothing without one.
func figureCaption(s string) g.Node { return nodeIf(s, g.Group{h.FigCaption(proseText(s)), line}) }

// dataElement returns an element with JSON for a script of the page.
func dataElement(json []byte, attributes ...g.Node) g.Node {
	return h.Script(h.Type("application/json"), g.Group(attributes), g.Raw(string(json)))
}

// node returns a name whose middle is left out where there is little room.
func (n namedText) node() g.Node {
	return h.Span(h.Class("name"), h.Title(n.Whole), h.Span(g.Text(n.Head)), nodeIf(n.Tail, h.Span(g.Text(n.Tail))))
}

// document is a page with its blocks as nodes.
type document struct {
	Page
	style    string
	scripts  []string
	sections []section
	contents bool
}

type section struct {
	id, title string
	blocks    []g.Node
}

func (d document) node() g.Node {
	for i, s := range d.scripts {
		d.scripts[i] = "\n" + s
	}
	head := h.Head(
		line, h.Meta(h.Charset("utf-8")),
		line, theme.Policy(d.scripts...),
		line, h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
		line, h.Meta(h.Name("color-scheme"), h.Content("light dark")),
		line, h.TitleEl(g.Text(d.Title)),
		line, h.StyleEl(line, g.Raw(d.style)), line)
	title := h.Header(line, h.H1(g.Text(d.Title)), line, nodeIf(d.Lead, h.P(h.Class("lead"), g.Text(d.Lead))))
	contents := h.Nav(h.Aria("label", "Contents"), h.Ol(g.Map(d.sections, section.entry)))
	body := h.Body(
		line, h.Main(line, title, g.If(d.contents, contents), g.Map(d.sections, section.node),
			nodeIf(d.Footer, h.Footer(g.Text(d.Footer)))),
		g.Map(d.scripts, func(s string) g.Node { return g.Group{line, h.Script(g.Raw(s))} }), line)
	return g.Group{g.Raw("<!DOCTYPE html>\n"), h.HTML(h.Lang("en"), line, head, line, body, line), line}
}

func (s section) entry() g.Node { return nodeIf(s.title, h.Li(h.A(h.Href("#"+s.id), g.Text(s.title)))) }

func (s section) node() g.Node {
	return g.Group{line,
		h.Section(h.ID(s.id), line, nodeIf(s.title, h.H2(g.Text(s.title))), line, g.Group(s.blocks)), line}
}

// pixelWidth is a width for the style sheet.
func pixelWidth(name string, n int) string { return fmt.Sprintf("--%s: %dpx", name, n) }
