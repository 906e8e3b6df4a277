package figure

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Panels sets figures side by side, Columns in a row (0: all in one row), as
// one figure. Each panel keeps its size; a row is as high as its highest.
type Panels struct {
	Title   string
	Figures []Figure
	Columns int
}

// PanelRow is Panels in one row.
func PanelRow(figures ...Figure) Panels { return Panels{Figures: figures} }

const (
	panelGap    = 12.0
	TitleHeight = 20.0
)

// NumColumns returns the number of panels in a row.
func (p Panels) NumColumns() int {
	if p.Columns > 0 {
		return min(p.Columns, max(1, len(p.Figures)))
	}
	return max(1, len(p.Figures))
}

// layout yields each panel's rectangle, y downwards from the top.
func (p Panels) layout(place func(f Figure, x, y, w, h float64)) (width, height float64) {
	cols := p.NumColumns()
	if p.Title != "" {
		height = TitleHeight
	}
	for lo := 0; lo < len(p.Figures); lo += cols {
		row := p.Figures[lo:min(lo+cols, len(p.Figures))]
		if lo > 0 {
			height += panelGap
		}
		var x, tall float64
		for _, f := range row {
			w, h := f.Size()
			place(f, x, height, w, h)
			x += w + panelGap
			tall = max(tall, h)
		}
		width = max(width, x-panelGap)
		height += tall
	}
	return max(width, 40), max(height, 40)
}

// Size implements Figure.
func (p Panels) Size() (w, h float64) {
	return p.layout(func(Figure, float64, float64, float64, float64) {})
}

// Description implements Figure.
func (p Panels) Description() string {
	s := p.Title
	for _, f := range p.Figures {
		if s != "" {
			s += "; "
		}
		s += f.Description()
	}
	return s
}

// Draw implements Figure.
func (p Panels) Draw(c draw.Canvas, dpi float64) (err error) {
	if p.Title != "" {
		s := TextStyle(TitleSize+1, true)
		s.XAlign, s.YAlign = draw.XCenter, draw.YTop
		c.FillText(s, vg.Point{X: (c.Min.X + c.Max.X) / 2, Y: c.Max.Y - 4}, OnOneLine(p.Title))
	}
	p.layout(func(f Figure, x, y, w, h float64) {
		if err != nil {
			return
		}
		sub := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: c.Min.X + vg.Length(x), Y: c.Max.Y - vg.Length(y+h)},
			Max: vg.Point{X: c.Min.X + vg.Length(x+w), Y: c.Max.Y - vg.Length(y)},
		}}
		err = f.Draw(sub, dpi)
	})
	return err
}
