package report

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/kindred-ml/kindred/internal/page/figure"
)

// Text is plain text; blank lines separate paragraphs, and a paragraph whose
// lines all start with "- " is a list.
type Text string

func (t Text) html(*renderer) (g.Node, error) {
	var out g.Group
	for part := range strings.SplitSeq(strings.ReplaceAll(string(t), "\r\n", "\n"), "\n\n") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		items, ok := listItems(part)
		if !ok {
			out = append(out, h.P(proseText(part)), line)
			continue
		}
		out = append(out, h.Ul(g.Map(items, func(s string) g.Node { return h.Li(proseText(s)) })), line)
	}
	return out, nil
}

// listItems returns the items of a paragraph that is a list.
func listItems(part string) (items []string, ok bool) {
	for line := range strings.SplitSeq(part, "\n") {
		item, ok := strings.CutPrefix(line, "- ")
		if !ok {
			return nil, false
		}
		items = append(items, item)
	}
	return items, true
}

// Verdict is a finding set apart from the text: one sentence, and the reasons.
type Verdict struct {
	Text    string
	Reasons []string
	// Tone colours its edge.
	Tone Tone
}

// Tone is whether a finding is neutral, good or bad.
type Tone int

// The tones.
const (
	Neutral Tone = iota
	Good
	Bad
)

// Class returns the tone's name in the style sheet.
func (t Tone) Class() string { return [...]string{"neutral", "good", "bad"}[min(max(t, 0), 2)] }

func (v Verdict) html(*renderer) (g.Node, error) {
	return g.Group{h.Div(h.Class("verdict "+v.Tone.Class()), line, h.P(proseText(v.Text)), line,
		g.If(len(v.Reasons) > 0, h.Ul(g.Map(v.Reasons, func(s string) g.Node { return h.Li(proseText(s)) })))),
		line}, nil
}

// Code is text shown as it is: a command line, a configuration.
type Code string

func (c Code) html(*renderer) (g.Node, error) {
	return g.Group{h.Pre(h.Code(g.Text(string(c)))), line}, nil
}

// Settings lists names and values: a run's configuration, its timing.
type Settings struct {
	Caption string
	Items   []Item
	// Folded hides the list behind its caption until the reader opens it.
	Folded bool
}

// Item is a name with its value.
type Item struct{ Name, Value string }

func (s Settings) html(*renderer) (g.Node, error) {
	list := h.Dl(h.Class("settings"), g.Map(s.Items, func(it Item) g.Node {
		return g.Group{h.Div(h.Dt(g.Text(it.Name)), h.Dd(proseText(it.Value))), line}
	}))
	if s.Folded {
		return g.Group{h.Details(h.Summary(g.Text(cmp.Or(s.Caption, "Settings"))), line, list), line}, nil
	}
	return g.Group{nodeIf(s.Caption, h.H3(g.Text(s.Caption))), line, list, line}, nil
}

// FormatDuration writes d for people: 340 ms, 12.3 s, 4 min 05 s, 2 h 07 min.
func FormatDuration(d time.Duration) string {
	s := d.Seconds()
	switch {
	case s < 0.9995:
		return fmt.Sprintf("%.0f ms", s*1000)
	case s < 59.95:
		return fmt.Sprintf("%.1f s", s)
	case math.Round(s) < 3600:
		n := int(math.Round(s))
		return fmt.Sprintf("%d min %02d s", n/60, n%60)
	}
	n := int(math.Round(s / 60))
	return fmt.Sprintf("%d h %02d min", n/60, n%60)
}

// Figures shows figures side by side where there is room, each with its
// caption, under one common caption.
type Figures struct {
	Items   []Captioned
	Caption string
}

// Captioned is a figure with a sentence below it.
type Captioned struct {
	Figure  figure.Figure
	Caption string
}

func (f Figures) html(r *renderer) (g.Node, error) {
	var figures g.Group
	for _, c := range f.Items {
		parts, title, columns := []figure.Figure{c.Figure}, "", 1
		if p, ok := c.Figure.(figure.Panels); ok { // the page chooses the columns by its width
			parts, title, columns = p.Figures, p.Title, p.NumColumns()
		}
		var drawings g.Group
		width := 0 // the natural width of the widest drawing
		for _, f := range parts {
			node, w, err := r.drawFigure(f)
			if err != nil {
				return nil, err
			}
			drawings, width = append(drawings, node), max(width, w)
		}
		figures = append(figures, h.Figure(g.If(len(parts) > 1, h.Class("panels")),
			h.Style(fmt.Sprintf("%s; --n: %d", pixelWidth("w", width), columns)), line,
			nodeIf(title, h.H3(g.Text(title))), h.Div(line, drawings), line, figureCaption(c.Caption)), line)
	}
	side := h.Div(h.Class("side"), line, figures)
	return g.Group{h.Figure(h.Class("group"), line, side, line, figureCaption(f.Caption)), line}, nil
}

// drawFigure draws f for a page, and returns its natural width in CSS pixels.
func (r *renderer) drawFigure(f figure.Figure) (node g.Node, width int, err error) {
	svg, values, err := figure.Inline(f)
	if err != nil {
		return nil, 0, err
	}
	if values != nil {
		r.use("chart.js")
	}
	w, _ := f.Size()
	width = int(w * 4 / 3)
	return g.Group{h.Div(h.Class("draw"), h.Style(pixelWidth("w", width)),
		flagAttribute(values != nil, "data-chart"), line,
		g.Raw(svg), g.If(values != nil, dataElement(values))), line}, width, nil
}
