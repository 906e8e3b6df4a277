package report

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
)

// Text is plain text; blank lines separate paragraphs, and a paragraph whose
// lines all start with "- " is a list.
type Text string

func (t Text) html(r *renderer) (template.HTML, error) {
	type para struct {
		Text  string
		Items []string
	}
	var ps []para
	for part := range strings.SplitSeq(strings.ReplaceAll(string(t), "\r\n", "\n"), "\n\n") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		p := para{Text: part}
		for line := range strings.SplitSeq(part, "\n") {
			item, ok := strings.CutPrefix(line, "- ")
			if !ok {
				p.Items = nil
				break
			}
			p.Items = append(p.Items, item)
		}
		ps = append(ps, p)
	}
	return r.execute("text", ps)
}

// Verdict is a finding set apart from the text: one sentence, and the reasons.
type Verdict struct {
	Text    string
	Reasons []string
	// Tone colours its edge.
	Tone Tone
}

// Tone says whether a finding is neutral, good or bad news.
type Tone int

// The tones.
const (
	Neutral Tone = iota
	Good
	Bad
)

// Class is the tone's name in the style sheet.
func (t Tone) Class() string { return [...]string{"neutral", "good", "bad"}[min(max(t, 0), 2)] }

func (v Verdict) html(r *renderer) (template.HTML, error) { return r.execute("verdict", v) }

// Code is text shown as it is: a command line, a configuration.
type Code string

func (c Code) html(r *renderer) (template.HTML, error) { return r.execute("code", string(c)) }

// Settings lists names and values: a run's configuration, its timing.
type Settings struct {
	Caption string
	Items   []Item
	// Folded hides the list behind its caption until the reader opens it.
	Folded bool
}

// Item is a name with its value.
type Item struct{ Name, Value string }

func (s Settings) html(r *renderer) (template.HTML, error) { return r.execute("settings", s) }

// Duration writes d for people: 340 ms, 12.3 s, 4 min 05 s, 2 h 07 min.
func Duration(d time.Duration) string {
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
	Figure  Figure
	Caption string
}

func (f Figures) html(r *renderer) (template.HTML, error) {
	type item struct {
		Title, Caption string
		Drawings       []drawing
		// Width is the natural width of the widest drawing in CSS pixels,
		// Columns how many stand side by side where there is room.
		Width, Columns int
	}
	data := struct {
		Items   []item
		Caption string
	}{Caption: f.Caption}
	for _, c := range f.Items {
		it := item{Caption: c.Caption, Columns: 1}
		parts := []Figure{c.Figure}
		if p, ok := c.Figure.(Panels); ok { // a page sets them as it has room
			parts, it.Title, it.Columns = p.Figures, p.Title, p.columns()
		}
		for _, f := range parts {
			d, err := r.drawn(f)
			if err != nil {
				return "", err
			}
			it.Drawings, it.Width = append(it.Drawings, d), max(it.Width, d.Width)
		}
		data.Items = append(data.Items, it)
	}
	return r.execute("figures", data)
}

func (t Table) html(r *renderer) (template.HTML, error) {
	if err := t.check(); err != nil {
		return "", err
	}
	type group struct {
		Name string
		Span int
	}
	type cell struct {
		Text, Class, Value string
		Named              bool
	}
	type row struct {
		Heading string
		Cells   []cell
	}
	data := struct {
		Table
		Groups []group
		Heads  []cell
		Rows   []row
		Width  int
		// Wide tables keep their first column in sight; Sortable ones have rows
		// that stand for themselves; Stacked ones put the prose of their last
		// column below the row on a phone.
		Wide, Sortable, Stacked bool
		Numbers                 int // columns between the first and the prose
	}{Table: t, Width: len(t.Columns), Wide: len(t.Columns) > 3, Sortable: t.sortable(), Stacked: t.stacked(),
		Numbers: max(0, len(t.Columns)-2)}
	if data.Sortable || t.names() {
		r.use("table.js")
	}
	for k, c := range t.Columns {
		data.Heads = append(data.Heads, cell{Text: c.Name, Class: t.class(k), Named: c.Named})
	}
	if t.grouped() {
		for _, c := range t.Columns {
			if n := len(data.Groups); n > 0 && data.Groups[n-1].Name == c.Group {
				data.Groups[n-1].Span++
			} else {
				data.Groups = append(data.Groups, group{c.Group, 1})
			}
		}
	}
	best := t.best()
	for i, from := range t.Rows {
		out := row{Heading: from.Heading}
		for k, c := range from.Cells {
			look := t.class(k)
			if c.kind == published {
				look += " paper"
			}
			if best[i][k] {
				look += " best"
			}
			shown := cell{Text: c.String(), Class: look, Named: c.kind == naming}
			if c.kind >= measured {
				shown.Value = strconv.FormatFloat(c.value, 'g', -1, 64)
			}
			out.Cells = append(out.Cells, shown)
		}
		data.Rows = append(data.Rows, out)
	}
	return r.execute("table", data)
}
