package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Field shows arrows in the plane, coloured by class: a vector field, or the
// movement of points.
type Field struct {
	Axes
	Arrows   []Arrow
	Names    []string // names of the arrows' classes
	Diagonal bool     // draw the line y = x
}

// Arrow runs from (X, Y) to (X+U, Y+V).
type Arrow struct {
	X, Y, U, V float64
	// Class is an index into Names; negative is grey.
	Class int
}

// FitArrows scales arrows on a grid so that the longest is as long as the spacing.
// The new length is proportional to the old one to the given power: 1 keeps
// proportions, less than 1 lengthens short arrows, 0 shows only directions.
func FitArrows(a []Arrow, spacing, power float64) []Arrow {
	longest := 0.0
	for _, w := range a {
		if l := math.Hypot(w.U, w.V); CanShow(l, false) {
			longest = max(longest, l)
		}
	}
	out := make([]Arrow, len(a))
	for i, w := range a {
		out[i] = w
		if l := math.Hypot(w.U, w.V); l > 0 {
			k := math.Pow(l/longest, power) * spacing / l
			out[i].U, out[i].V = w.U*k, w.V*k
		}
	}
	return out
}

// Draw implements Figure.
func (f Field) Draw(c draw.Canvas, _ float64) error {
	e := newExtent()
	dropped := 0
	var shown arrows
	for _, a := range f.Arrows {
		if !CanShow(a.X, f.LogX) || !CanShow(a.Y, f.LogY) || !CanShow(a.U, false) || !CanShow(a.V, false) {
			dropped++
			continue
		}
		shown = append(shown, a)
		e.add(a.X, a.Y)
		if CanShow(a.X+a.U, f.LogX) && CanShow(a.Y+a.V, f.LogY) {
			e.add(a.X+a.U, a.Y+a.V)
		}
	}
	p, err := f.newPlot(e)
	if err != nil {
		return err
	}
	if f.Diagonal {
		p.Add(diagonal{})
	}
	p.Add(shown)
	var entries []entry
	for k, n := range f.Names {
		col, _ := ClassStyle(k, len(f.Names))
		entries = append(entries, entry{label: n, colour: col, line: true})
	}
	f.drawPlot(c, p, append(entries, droppedNote(dropped)...), e.empty())
	return nil
}

type arrows []Arrow

// Plot implements plot.Plotter.
func (as arrows) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	for _, a := range as {
		from := vg.Point{X: tx(a.X), Y: ty(a.Y)}
		to := vg.Point{X: tx(a.X + a.U), Y: ty(a.Y + a.V)}
		if !c.Contains(from) && !c.Contains(to) {
			continue
		}
		var col color.NRGBA
		if col, _ = ClassStyle(a.Class, len(categorical)); a.Class < 0 {
			col = Ink
		}
		dx, dy := float64(to.X-from.X), float64(to.Y-from.Y)
		l := math.Hypot(dx, dy)
		if !(l > 0.2) {
			c.SetColor(col)
			c.Fill(disc.path(from, 0.6))
			continue
		}
		head := min(4.2, 0.45*l)
		ux, uy := dx/l, dy/l
		back := vg.Point{X: to.X - vg.Length(ux*head), Y: to.Y - vg.Length(uy*head)}
		c.StrokeLine2(draw.LineStyle{Color: col, Width: 0.8}, from.X, from.Y, back.X, back.Y)
		side := head * 0.45
		c.FillPolygon(col, []vg.Point{
			to,
			{X: back.X - vg.Length(uy*side), Y: back.Y + vg.Length(ux*side)},
			{X: back.X + vg.Length(uy*side), Y: back.Y - vg.Length(ux*side)},
		})
	}
}
