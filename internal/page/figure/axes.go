package figure

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Range is an interval of an axis. The zero value means: fit the data.
type Range struct{ Min, Max float64 }

// Axes is the frame that all types of figures share. The zero value has no title
// and fits linear axes to the data.
type Axes struct {
	Title          string
	X, Y           string // axis labels
	XRange, YRange Range
	// LogX and LogY choose logarithmic axes; values <= 0 are then left out.
	LogX, LogY bool
	// WholeX puts ticks at whole numbers only, for example for epochs.
	WholeX bool
	// Equal gives both axes the same scale.
	Equal bool
	// Bare leaves out axes and ticks, for maps whose units have no meaning.
	Bare bool
	// Width and Height are the size in points; 0 means 340 x 280.
	Width, Height float64
}

// Size implements Figure.
func (a Axes) Size() (w, h float64) {
	w, h = a.Width, a.Height
	w = cmp.Or(w, 340)
	h = cmp.Or(h, 280)
	return w, h
}

// Description implements Figure.
func (a Axes) Description() string {
	switch {
	case a.Title != "":
		return a.Title
	case a.X != "" && a.Y != "":
		return a.Y + " against " + a.X
	}
	return "figure"
}

// CanShow reports whether x can be shown on an axis.
func CanShow(x float64, log bool) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) && (!log || x > 0) }

// extent collects the range of the values that are added.
type extent struct{ x, y Range }

func newExtent() *extent {
	inf := math.Inf(1)
	return &extent{Range{inf, -inf}, Range{inf, -inf}}
}

func (e *extent) add(x, y float64) {
	e.x = Range{min(e.x.Min, x), max(e.x.Max, x)}
	e.y = Range{min(e.y.Min, y), max(e.y.Max, y)}
}

func (e *extent) empty() bool { return e.x.Min > e.x.Max }

// fitRange returns the range that an axis shows: the given one, or the range of the data
// with a margin. Without data, or with a single value, the axis is one unit long.
func fitRange(ask, data Range, log bool, margin float64) Range {
	if ask != (Range{}) {
		return ask
	}
	if data.Min > data.Max {
		if log {
			return Range{0.1, 10}
		}
		return Range{0, 1}
	}
	if log {
		lo, hi := math.Log10(data.Min), math.Log10(data.Max)
		m := max((hi-lo)*margin, 0.1)
		return Range{math.Pow(10, lo-m), math.Pow(10, hi+m)}
	}
	m := (data.Max - data.Min) * margin
	if data.Max-data.Min <= 1e-12*max(math.Abs(data.Min), math.Abs(data.Max)) {
		m = max(1, math.Abs(data.Max)*0.1)
	}
	return Range{data.Min - m, data.Max + m}
}

// check reports ranges that cannot be shown.
func (a Axes) check() error {
	for _, r := range []struct {
		Range
		log  bool
		axis string
	}{{a.XRange, a.LogX, "x"}, {a.YRange, a.LogY, "y"}} {
		if r.Range == (Range{}) {
			continue
		}
		if !CanShow(r.Min, r.log) || !CanShow(r.Max, r.log) || r.Min >= r.Max {
			return fmt.Errorf("figure %q: %s axis from %g to %g", a.Description(), r.axis, r.Min, r.Max)
		}
	}
	return nil
}

const (
	FontSize   = 9.0
	legendSize = 9.0
	TitleSize  = 10.5
)

func TextStyle(size float64, bold bool) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans"}
	if bold {
		f.Weight = stdfont.WeightBold
	}
	return text.Style{
		Color:   Ink,
		Font:    font.From(f, vg.Length(size)),
		Handler: plot.DefaultTextHandler,
	}
}

// newPlot makes a plot of the axes around the data's extent.
func (a Axes) newPlot(e *extent) (*plot.Plot, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	p := plot.New()
	p.BackgroundColor = nil
	p.Title.Text = OnOneLine(a.Title)
	style := TextStyle(TitleSize, true)
	style.XAlign, style.YAlign = draw.XCenter, draw.YTop
	p.Title.TextStyle = style
	p.Title.Padding = vg.Points(5)

	xr := fitRange(a.XRange, e.x, a.LogX, 0.04)
	yr := fitRange(a.YRange, e.y, a.LogY, 0.04)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = xr.Min, xr.Max, yr.Min, yr.Max
	p.X.Label.Text, p.Y.Label.Text = OnOneLine(a.X), OnOneLine(a.Y)
	for _, ax := range []struct {
		*plot.Axis
		log, whole bool
	}{{&p.X, a.LogX, a.WholeX}, {&p.Y, a.LogY, false}} {
		ax.Padding = 0
		ax.Label.TextStyle.Font = TextStyle(FontSize, false).Font
		ax.Label.TextStyle.Color = Ink
		ax.Label.Padding = vg.Points(3)
		ax.Tick.Label.Font = TextStyle(FontSize-1, false).Font
		ax.Tick.Label.Color = Ink
		ax.Tick.Color, ax.Color = Ink, Ink
		ax.Tick.Length = vg.Points(3)
		ax.Tick.Marker = ticks{log: ax.log, whole: ax.whole}
		if ax.log {
			ax.Scale = plot.LogScale{}
		}
		if a.Bare {
			ax.Tick.Marker = plot.ConstantTicks{}
			ax.Tick.Length = 0
			ax.Width = 0
		}
	}
	return p, nil
}

// equalizeScales widens one range so that both axes have the same scale on c.
func equalizeScales(p *plot.Plot, c draw.Canvas) {
	d := p.DataCanvas(c)
	w, h := float64(d.Max.X-d.Min.X), float64(d.Max.Y-d.Min.Y)
	if w <= 0 || h <= 0 {
		return
	}
	sx, sy := (p.X.Max-p.X.Min)/w, (p.Y.Max-p.Y.Min)/h
	if sx < sy {
		m := (sy - sx) * w / 2
		p.X.Min, p.X.Max = p.X.Min-m, p.X.Max+m
	} else {
		m := (sx - sy) * h / 2
		p.Y.Min, p.Y.Max = p.Y.Min-m, p.Y.Max+m
	}
}

// drawPlot draws p with a legend below it. An empty figure has the text "no data".
func (a Axes) drawPlot(c draw.Canvas, p *plot.Plot, entries []entry, empty bool) {
	c = draw.Crop(c, 4, -4, 4, -4)
	p.Title.Text = Shorten(p.Title.Text, p.Title.TextStyle.Width, c.Max.X-c.Min.X)
	for i := range entries {
		entries[i].fit(c.Max.X - c.Min.X)
	}
	lines := layOutRows(entries, c.Max.X-c.Min.X)
	drawLegend(draw.Crop(c, 0, 0, 0, -(c.Max.Y-c.Min.Y-legendHeight(lines))), lines)
	c = draw.Crop(c, 0, 0, legendHeight(lines), 0)
	if a.Equal {
		equalizeScales(p, c)
	}
	p.Draw(c)
	if empty {
		d := p.DataCanvas(c)
		s := TextStyle(FontSize, false)
		s.XAlign, s.YAlign = draw.XCenter, draw.YCenter
		c.FillText(s, d.Center(), "no data")
	}
}

// OnOneLine makes a string safe for a one-line label.
func OnOneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return s
}

// Shorten returns s with as much of its middle left out as is needed for the width
// room, so that names that differ at the end stay different.
func Shorten(s string, width func(string) vg.Length, room vg.Length) string {
	if width(s) <= room {
		return s
	}
	r := []rune(s)
	for n := len(r) - 1; n > 1; n-- {
		if t := string(r[:(n+1)/2]) + "…" + string(r[len(r)-n/2:]); width(t) <= room {
			return t
		}
	}
	return "…"
}
