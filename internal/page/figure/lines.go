package figure

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Lines shows curves, each with an optional band (such as mean ± std), and
// horizontal or vertical reference lines, such as a published value.
// A value that is not finite breaks its curve.
type Lines struct {
	Axes
	Curves []Curve
	Refs   []Ref
	// Marks puts a mark on every value; curves of one value always have one.
	Marks bool

	probe *probe
}

// Curve is one line of a Lines figure.
type Curve struct {
	Name string
	X, Y []float64
	// Low and High bound the band around the curve; empty means none.
	Low, High []float64
	// Same gives this curve the colour of the one before it, dashed: for a
	// second measure of the same run.
	Same bool
	// Quiet draws the curve thin and grey, without marks and without a legend entry.
	// A reader finds such a curve by pointing at it.
	Quiet bool
}

// Ref is a reference line, horizontal at Y unless Vertical.
type Ref struct {
	Name     string
	At       float64
	Vertical bool
}

// MeanBand returns the mean of several runs of a curve and the band of one
// standard deviation (n - 1) around it. runs[r][i] is run r's value at point i;
// runs may end early. Where only one run has a value the band has no width.
func MeanBand(runs [][]float64) (mean, low, high []float64) {
	n := 0
	for _, r := range runs {
		n = max(n, len(r))
	}
	for i := range n {
		var s, ss float64
		k := 0
		for _, r := range runs {
			if i < len(r) && CanShow(r[i], false) {
				s += r[i]
				k++
			}
		}
		m := s / float64(k)
		for _, r := range runs {
			if i < len(r) && CanShow(r[i], false) {
				ss += (r[i] - m) * (r[i] - m)
			}
		}
		sd := 0.0
		if k > 1 {
			sd = math.Sqrt(ss / float64(k-1))
		}
		mean, low, high = append(mean, m), append(low, m-sd), append(high, m+sd)
	}
	return mean, low, high
}

func (l Lines) withProbe(p *probe) Figure {
	p.x = l.X
	l.probe = p
	return l
}

// Draw implements Figure.
func (l Lines) Draw(c draw.Canvas, _ float64) error {
	e := newExtent()
	var entries []entry
	var drawn []plot.Plotter
	k, quiet := -1, 0
	for _, cv := range l.Curves {
		if len(cv.X) != len(cv.Y) || len(cv.Low) != len(cv.High) || (len(cv.Low) != 0 && len(cv.Low) != len(cv.X)) {
			return fmt.Errorf("lines %q: curve %q has %d x, %d y, %d low and %d high values",
				l.Description(), cv.Name, len(cv.X), len(cv.Y), len(cv.Low), len(cv.High))
		}
		pc := curve{Curve: cv, logX: l.LogX, logY: l.LogY, marks: l.Marks, probe: l.probe}
		if cv.Quiet {
			quiet++
			pc.colour, pc.marks = backgroundColour, false
		} else {
			if !cv.Same || k < 0 {
				k++
			}
			pc.colour, pc.shape = ClassStyle(k, l.numLoud())
		}
		if cv.Same {
			pc.dashes = []vg.Length{5, 3}
		}
		for j := range cv.X {
			for _, y := range pc.valuesAt(j) {
				if CanShow(cv.X[j], l.LogX) && CanShow(y, l.LogY) {
					e.add(cv.X[j], y)
				}
			}
		}
		if cv.Quiet { // below the others
			drawn = slices.Insert(drawn, quiet-1, plot.Plotter(&pc))
			continue
		}
		drawn = append(drawn, &pc)
		if cv.Name != "" {
			entries = append(entries, entry{label: cv.Name, colour: pc.colour, line: true, dashes: pc.dashes})
		}
	}
	if quiet > 0 {
		entries = append(entries, entry{label: fmt.Sprintf("%d more, in grey", quiet), note: true})
	}
	empty := e.empty()
	for _, r := range l.Refs {
		if !CanShow(r.At, (r.Vertical && l.LogX) || (!r.Vertical && l.LogY)) {
			continue
		}
		if !empty && r.Vertical {
			e.add(r.At, e.y.Min)
		} else if !empty {
			e.add(e.x.Min, r.At)
		}
		drawn = append(drawn, ref(r))
	}
	p, err := l.newPlot(e)
	if err != nil {
		return err
	}
	p.Add(grid{})
	p.Add(drawn...)
	l.drawPlot(c, p, entries, empty)
	return nil
}

// numLoud returns the number of curves that are not quiet.
func (l Lines) numLoud() int {
	n := 0
	for i := range l.Curves {
		if !l.Curves[i].Quiet {
			n++
		}
	}
	return n
}

// grid draws faint lines at the labelled ticks.
type grid struct{}

// Plot implements plot.Plotter.
func (grid) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	style := draw.LineStyle{Color: faint, Width: 0.6}
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if x := tx(t.Value); t.Label != "" && c.ContainsX(x) {
			c.StrokeLine2(style, x, c.Min.Y, x, c.Max.Y)
		}
	}
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if y := ty(t.Value); t.Label != "" && c.ContainsY(y) {
			c.StrokeLine2(style, c.Min.X, y, c.Max.X, y)
		}
	}
}

type curve struct {
	Curve
	colour     color.NRGBA
	shape      shape
	dashes     []vg.Length
	logX, logY bool
	marks      bool
	probe      *probe
}

// valuesAt returns the values at the curve's point j: its own and its band's.
func (k *curve) valuesAt(j int) []float64 {
	if len(k.Low) == 0 {
		return []float64{k.Y[j]}
	}
	return []float64{k.Low[j], k.Y[j], k.High[j]}
}

// Plot implements plot.Plotter.
func (k *curve) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	style := draw.LineStyle{Color: k.colour, Width: 1.8, Dashes: k.dashes}
	if k.Quiet {
		style.Width = 0.6
	}
	band := k.colour
	if k.probe != nil {
		k.addToProbe(tx, ty)
	}
	for lo, hi := range k.visibleRanges() {
		var line, edge []vg.Point
		for j := lo; j < hi; j++ {
			line = append(line, vg.Point{X: tx(k.X[j]), Y: ty(k.Y[j])})
			if len(k.Low) > 0 && CanShow(k.Low[j], k.logY) && CanShow(k.High[j], k.logY) {
				edge = append(edge, vg.Point{X: tx(k.X[j]), Y: ty(k.High[j])})
			}
		}
		if len(edge) > 1 {
			for j := hi - 1; j >= lo; j-- {
				if CanShow(k.Low[j], k.logY) && CanShow(k.High[j], k.logY) {
					edge = append(edge, vg.Point{X: tx(k.X[j]), Y: ty(k.Low[j])})
				}
			}
			if poly := c.ClipPolygonXY(edge); len(poly) > 2 {
				c.FillPolygon(withAlpha(band, 0.2), poly)
			}
		}
		c.StrokeLines(style, c.ClipLinesXY(line)...)
		for _, pt := range line {
			if (k.marks || len(line) == 1) && c.Contains(pt) {
				c.SetColor(k.colour)
				c.Fill(k.shape.path(pt, 2.4))
			}
		}
	}
}

// addToProbe gives the probe the positions of the curve's values.
func (k *curve) addToProbe(tx, ty func(float64) vg.Length) {
	c := k.probe.curve(k.Name, k.colour, k.Quiet)
	for lo, hi := range k.visibleRanges() {
		for j := lo; j < hi; j++ {
			value := FormatShort(k.Y[j])
			if len(k.Low) > 0 && CanShow(k.High[j]-k.Low[j], false) && k.High[j] > k.Low[j] {
				value += fmt.Sprintf(" (%s to %s)", FormatShort(k.Low[j]), FormatShort(k.High[j]))
			}
			c.add(k.probe, vg.Point{X: tx(k.X[j]), Y: ty(k.Y[j])}, FormatShort(k.X[j]), value)
		}
	}
}

// visibleRanges yields the ranges of consecutive values that can be shown.
func (k *curve) visibleRanges() func(yield func(lo, hi int) bool) {
	return func(yield func(lo, hi int) bool) {
		lo := 0
		for j := 0; j <= len(k.X); j++ {
			if j < len(k.X) && CanShow(k.X[j], k.logX) && CanShow(k.Y[j], k.logY) {
				continue
			}
			if j > lo && !yield(lo, j) {
				return
			}
			lo = j + 1
		}
	}
}

type ref Ref

// Plot implements plot.Plotter.
func (r ref) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	style := draw.LineStyle{Color: Ink, Width: 0.9, Dashes: []vg.Length{2, 2}}
	label := TextStyle(FontSize-1, false)
	if r.Vertical {
		x := tx(r.At)
		c.StrokeLine2(style, x, c.Min.Y, x, c.Max.Y)
		label.YAlign = draw.YBottom
		at := vg.Point{X: x + 3, Y: c.Min.Y + 2}           // the lower right, which rising scores leave free
		if label.Width(OnOneLine(r.Name)) > c.Max.X-at.X { // no room to the right
			at.X, label.XAlign = x-3, draw.XRight
		}
		r.drawName(c, label, at)
		return
	}
	y := ty(r.At)
	c.StrokeLine2(style, c.Min.X, y, c.Max.X, y)
	label.XAlign = draw.XRight
	r.drawName(c, label, vg.Point{X: c.Max.X - 2, Y: y + 2})
}

// drawName writes the line's name on a patch of paper, above the curves.
func (r ref) drawName(c draw.Canvas, style text.Style, at vg.Point) {
	s := OnOneLine(r.Name)
	if s == "" {
		return
	}
	box := style.Rectangle(s)
	c.SetColor(paper)
	c.Fill(vg.Rectangle{Min: box.Min.Add(at).Sub(vg.Point{X: 1}), Max: box.Max.Add(at).Add(vg.Point{X: 1})}.Path())
	c.FillText(style, at, s)
}
