package figure

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// tags are short texts on a patch of paper, so that they can be read over any marks.
// The patch is opaque, because the plot library rounds translucent colours, which then
// are not replaced by the scheme's. Tags that would cover each other are moved apart
// and tied to their points by a line.
type tags []tag

type tag struct {
	x, y float64
	text string
}

// Plot implements plot.Plotter.
func (t tags) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	style := TextStyle(FontSize+1, true)
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	boxes := make([]tagBox, len(t))
	for i, g := range t {
		boxes[i] = tagBox{float64(tx(g.x)), float64(ty(g.y)), float64(style.Width(OnOneLine(g.text)))/2 + 2.5, 7}
	}
	moved := partBoxes(boxes, float64(c.Min.X), float64(c.Max.X), float64(c.Min.Y), float64(c.Max.Y))
	for i, b := range moved {
		if math.Hypot(b.x-boxes[i].x, b.y-boxes[i].y) > 6 {
			line := draw.LineStyle{Color: Ink, Width: 0.8}
			c.StrokeLine2(line, vg.Length(boxes[i].x), vg.Length(boxes[i].y), vg.Length(b.x), vg.Length(b.y))
		}
	}
	for i, b := range moved {
		c.SetColor(paper)
		c.Fill(vg.Rectangle{
			Min: vg.Point{X: vg.Length(b.x - b.w), Y: vg.Length(b.y - b.h)},
			Max: vg.Point{X: vg.Length(b.x + b.w), Y: vg.Length(b.y + b.h)},
		}.Path())
		c.FillText(style, vg.Point{X: vg.Length(b.x), Y: vg.Length(b.y)}, OnOneLine(t[i].text))
	}
}

// tagBox is a rectangle by its centre and half its width and height.
type tagBox struct{ x, y, w, h float64 }

// partBoxes moves overlapping boxes apart, in small steps, within the given bounds.
// If the boxes need more room than there is, some overlap remains.
func partBoxes(in []tagBox, x0, x1, y0, y1 float64) []tagBox {
	out := append([]tagBox(nil), in...)
	for range 300 {
		calm := true
		for i := range out {
			for j := range i {
				a, b := &out[i], &out[j]
				dx, dy := a.x-b.x, a.y-b.y
				ox, oy := a.w+b.w+1-math.Abs(dx), a.h+b.h+1-math.Abs(dy)
				if ox <= 0.01 || oy <= 0.01 {
					continue
				}
				calm = false
				if ox < oy { // the shorter way out
					m := math.Copysign(ox/4, dx)
					a.x, b.x = a.x+m, b.x-m
				} else {
					m := math.Copysign(oy/4, dy)
					a.y, b.y = a.y+m, b.y-m
				}
			}
		}
		for i := range out {
			b := &out[i]
			b.x = min(max(b.x, x0+b.w), max(x0+b.w, x1-b.w))
			b.y = min(max(b.y, y0+b.h), max(y0+b.h, y1-b.h))
		}
		if calm {
			break
		}
	}
	return out
}
