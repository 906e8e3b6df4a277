package figure

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bars compares series over groups: Values[s][g] is series s in group g, with
// error bars of Err[s][g] where Err is given. Bars start at 0 unless YRange
// says otherwise. A value that is not finite has no bar.
type Bars struct {
	Axes
	Groups []string
	Series []string
	Values [][]float64
	Err    [][]float64
}

// Draw implements Figure.
func (b Bars) Draw(c draw.Canvas, _ float64) error {
	if b.LogX || b.LogY {
		return fmt.Errorf("bars %q: bars start at 0, so their axis cannot be logarithmic", b.Description())
	}
	if err := b.checkShapes(); err != nil {
		return err
	}
	e := newExtent()
	var entries []entry
	for s, name := range b.Series {
		for g := range b.Groups {
			if v := b.Values[s][g]; CanShow(v, false) {
				e.add(float64(g), v-b.errorOf(s, g))
				e.add(float64(g), v+b.errorOf(s, g))
			}
		}
		col, _ := ClassStyle(s, len(b.Series))
		if len(b.Series) > 1 || name != "" {
			entries = append(entries, entry{label: name, colour: col, shape: square})
		}
	}
	empty := e.empty()
	if !empty {
		e.add(0, 0)
	}
	if b.XRange == (Range{}) {
		b.XRange = Range{-0.6, max(0.6, float64(len(b.Groups))-0.4)}
	}
	if b.YRange == (Range{}) && !empty {
		b.YRange = e.y
		m := (e.y.Max - e.y.Min) * 0.06
		if e.y.Max > 0 {
			b.YRange.Max += m
		}
		if e.y.Min < 0 {
			b.YRange.Min -= m
		}
		if b.YRange.Min == b.YRange.Max {
			b.YRange.Max++
		}
	}
	p, err := b.newPlot(e)
	if err != nil {
		return err
	}
	var names plot.ConstantTicks
	for g, n := range b.Groups {
		names = append(names, plot.Tick{Value: float64(g), Label: OnOneLine(n)})
	}
	p.X.Tick.Marker = names
	p.X.Tick.Color = faint
	w, _ := b.Size()
	widest := vg.Length(0)
	for _, n := range b.Groups {
		widest = max(widest, p.X.Tick.Label.Width(OnOneLine(n)))
	}
	if float64(widest)*float64(len(b.Groups)) > w-60 { // the names would overlap: slant them
		p.X.Tick.Label.Rotation = math.Pi / 5
		p.X.Tick.Label.XAlign = draw.XRight
		p.X.Tick.Label.YAlign = draw.YTop
	}
	p.Add(grid{}, barMarks(b))
	b.drawPlot(c, p, entries, empty)
	return nil
}

func (b Bars) checkShapes() error {
	if len(b.Values) != len(b.Series) || (b.Err != nil && len(b.Err) != len(b.Series)) {
		return fmt.Errorf("bars %q: %d series, %d rows of values, %d of errors", b.Description(), len(b.Series),
			len(b.Values), len(b.Err))
	}
	for s := range b.Series {
		if len(b.Values[s]) != len(b.Groups) || (b.Err != nil && len(b.Err[s]) != len(b.Groups)) {
			return fmt.Errorf("bars %q: series %q has %d values for %d groups", b.Description(), b.Series[s],
				len(b.Values[s]), len(b.Groups))
		}
	}
	return nil
}

func (b Bars) errorOf(s, g int) float64 {
	if b.Err == nil || !CanShow(b.Err[s][g], false) {
		return 0
	}
	return math.Abs(b.Err[s][g])
}

type barMarks Bars

// Plot implements plot.Plotter.
func (b barMarks) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	width := 0.8 / float64(len(b.Series))
	clip := func(y vg.Length) vg.Length { return min(max(y, c.Min.Y), c.Max.Y) }
	for s := range b.Series {
		col, _ := ClassStyle(s, len(b.Series))
		for g := range b.Groups {
			v := b.Values[s][g]
			if !CanShow(v, false) {
				continue
			}
			x0 := float64(g) - 0.4 + width*float64(s)
			lo, hi := clip(ty(0)), clip(ty(v))
			c.SetColor(col)
			c.Fill(vg.Rectangle{
				Min: vg.Point{X: tx(x0 + width*0.04), Y: min(lo, hi)},
				Max: vg.Point{X: tx(x0 + width*0.96), Y: max(lo, hi)},
			}.Path())
			if d := Bars(b).errorOf(s, g); d > 0 {
				x := tx(x0 + width/2)
				style := draw.LineStyle{Color: Ink, Width: 1}
				a, z := clip(ty(v-d)), clip(ty(v+d))
				c.StrokeLine2(style, x, a, x, z)
				c.StrokeLine2(style, x-2.5, a, x+2.5, a)
				c.StrokeLine2(style, x-2.5, z, x+2.5, z)
			}
		}
	}
	c.StrokeLine2(draw.LineStyle{Color: Ink, Width: 0.6}, c.Min.X, clip(ty(0)), c.Max.X, clip(ty(0)))
}
