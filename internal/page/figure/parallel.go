package figure

import (
	"fmt"
	"maps"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Parallel shows items with several values each, as lines through upright axes.
type Parallel struct {
	Title string
	Axes  []ParallelAxis
	Lines []ParallelLine
}

// ParallelAxis is an axis with the places of all lines on it, from 0 at the bottom to
// 1 at the top, and with their values as text. Ticks are places with a label.
type ParallelAxis struct {
	Name   string
	At     []float64
	Values []string
	Ticks  map[string]float64
}

// ParallelLine is an item. A quiet line is thin and grey, and is drawn below the others.
type ParallelLine struct {
	Name  string
	Quiet bool
}

// Sizes of a Parallel, in points.
const (
	parallelGap    = 96.0 // between axes
	parallelHeight = 190.0
	parallelEdge   = 54.0 // left and right
	parallelHead   = 34.0 // names of the axes
)

// Size implements Figure.
func (p Parallel) Size() (w, h float64) {
	return 2*parallelEdge + parallelGap*float64(max(len(p.Axes)-1, 1)), parallelHeight + parallelHead + 20
}

// Description implements Figure.
func (p Parallel) Description() string {
	if p.Title == "" {
		return "values of all items, side by side"
	}
	return p.Title
}

func (p Parallel) withProbe(pr *probe) Figure { return probedParallel{p, pr} }

// Draw implements Figure.
func (p Parallel) Draw(c draw.Canvas, _ float64) error { return p.paint(c, nil) }

type probedParallel struct {
	Parallel
	probe *probe
}

// Draw implements Figure.
func (p probedParallel) Draw(c draw.Canvas, _ float64) error { return p.paint(c, p.probe) }

func (p Parallel) paint(c draw.Canvas, pr *probe) error {
	for _, a := range p.Axes {
		if len(a.At) != len(p.Lines) || len(a.Values) != len(p.Lines) {
			return fmt.Errorf("parallel axis %q has %d places and %d values of %d lines", a.Name, len(a.At),
				len(a.Values), len(p.Lines))
		}
	}
	at := func(axis int, u float64) vg.Point {
		if !CanShow(u, false) { // a value without a place is below all others
			u = 0
		}
		return vg.Point{X: c.Min.X + vg.Length(parallelEdge+parallelGap*float64(axis)),
			Y: c.Min.Y + 12 + vg.Length(parallelHeight*u)}
	}
	for _, quiet := range []bool{true, false} {
		loud := 0
		for i, l := range p.Lines {
			if l.Quiet != quiet {
				continue
			}
			style := draw.LineStyle{Color: backgroundColour, Width: 0.6}
			colour := backgroundColour
			if !quiet {
				colour, _ = ClassStyle(loud, len(p.Lines))
				style.Color, style.Width = colour, 1.8
				loud++
			}
			var line []vg.Point
			for k, a := range p.Axes {
				line = append(line, at(k, a.At[i]))
			}
			c.StrokeLines(style, line)
			if pr == nil {
				continue
			}
			cv := pr.curve(l.Name, colour, quiet)
			for k, a := range p.Axes {
				cv.add(pr, line[k], a.Name, a.Values[i])
			}
		}
	}
	p.drawScales(c, at)
	return nil
}

// drawScales draws the axes over the lines.
func (p Parallel) drawScales(c draw.Canvas, at func(axis int, u float64) vg.Point) {
	for k, a := range p.Axes {
		low, high := at(k, 0), at(k, 1)
		c.StrokeLine2(draw.LineStyle{Color: Ink, Width: 0.9}, low.X, low.Y, high.X, high.Y)
		head := TextStyle(FontSize-1, true)
		head.XAlign = draw.XCenter
		// Names of neighbouring axes are at two heights, so that long names do not touch.
		c.FillText(head, vg.Point{X: high.X, Y: high.Y + vg.Length(8+12*(k%2))}, OnOneLine(a.Name))
		label := TextStyle(FontSize-1, false)
		label.YAlign = draw.YCenter
		for _, name := range slices.Sorted(maps.Keys(a.Ticks)) {
			pos := at(k, a.Ticks[name])
			s := OnOneLine(name)
			c.StrokeLine2(draw.LineStyle{Color: Ink, Width: 0.9}, pos.X-2, pos.Y, pos.X+2, pos.Y)
			pos.X += 4
			box := label.Rectangle(s)
			c.SetColor(paper)
			around := vg.Point{X: 1}
			c.Fill(vg.Rectangle{Min: box.Min.Add(pos).Sub(around), Max: box.Max.Add(pos).Add(around)}.Path())
			c.FillText(label, pos, s)
		}
	}
}
