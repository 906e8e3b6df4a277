package figure

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Heat shows values on a regular grid as colours. Z[r][c] is the value of the cell in
// column c and row r; rows go from the bottom up, and the grid covers XRange and
// YRange. With zero ranges, cell centres are at whole numbers from 0 on.
type Heat struct {
	Axes
	Z [][]float64
	// Scale is the range of values mapped to colours; zero means the data's.
	Scale Range
	// Diverging centres the colours on zero: blue below, white at, red above.
	Diverging bool
	// Label is the text beside the colour bar: what the values are.
	Label string
	// Rows and Cols name the rows and columns, for confusion-like matrices;
	// Numbers writes each value into its cell with that many decimals (-1: no).
	Rows, Cols []string
	Numbers    int
	// Arrows are drawn over the map.
	Arrows []Arrow
	// Diagonal draws the line y = x.
	Diagonal bool
}

const heatNaN = 0x59 // opacity of the grey of missing values

func (h Heat) rows() (rows, cols int, err error) {
	rows = len(h.Z)
	if rows > 0 {
		cols = len(h.Z[0])
	}
	for r := range h.Z {
		if len(h.Z[r]) != cols {
			return 0, 0,
				fmt.Errorf("heat %q: row %d has %d values, row 0 has %d", h.Description(), r, len(h.Z[r]), cols)
		}
	}
	if (len(h.Rows) > 0 && len(h.Rows) != rows) || (len(h.Cols) > 0 && len(h.Cols) != cols) {
		return 0, 0, fmt.Errorf("heat %q: %d x %d values, %d row and %d column names", h.Description(), rows, cols,
			len(h.Rows), len(h.Cols))
	}
	return rows, cols, nil
}

func (h Heat) scale() Range {
	s := h.Scale
	if s == (Range{}) {
		e := newExtent()
		for _, row := range h.Z {
			for _, v := range row {
				if CanShow(v, false) {
					e.add(v, 0)
				}
			}
		}
		if s = e.x; e.empty() {
			s = Range{0, 1}
		}
		if h.Diverging {
			m := max(math.Abs(s.Min), math.Abs(s.Max))
			s = Range{-m, m}
		}
	}
	if s.Min >= s.Max {
		s.Max = s.Min + 1
	}
	return s
}

func (h Heat) colour(v float64, s Range) color.NRGBA {
	if !CanShow(v, false) {
		return color.NRGBA{0x9a, 0xa0, 0xa6, heatNaN}
	}
	if h.Diverging {
		return ramp(diverging[:], (v-s.Min)/(s.Max-s.Min))
	}
	return ramp(sequential[:], (v-s.Min)/(s.Max-s.Min))
}

// Draw implements Figure.
func (h Heat) Draw(c draw.Canvas, _ float64) error {
	rows, cols, err := h.rows()
	if err != nil {
		return err
	}
	if h.LogX || h.LogY {
		return fmt.Errorf("heat %q: cells are evenly spaced, so its axes cannot be logarithmic", h.Description())
	}
	if h.XRange == (Range{}) {
		h.XRange = Range{-0.5, max(float64(cols), 1) - 0.5}
	}
	if h.YRange == (Range{}) {
		h.YRange = Range{-0.5, max(float64(rows), 1) - 0.5}
	}
	p, err := h.newPlot(newExtent())
	if err != nil {
		return err
	}
	nameTicks(&p.X, h.Cols)
	nameTicks(&p.Y, h.Rows)
	scale := h.scale()
	if rows*cols > 0 {
		p.Add(cells{h, rows, cols, scale})
	}
	if h.Diagonal {
		p.Add(diagonal{})
	}
	p.Add(arrows(h.Arrows))
	const bar = 46
	right := vg.Length(bar)
	h.drawPlot(draw.Crop(c, 0, -right, 0, 0), p, nil, rows*cols == 0)
	h.drawBar(draw.Crop(c, c.Max.X-c.Min.X-right, 0, 0, 0), p, scale)
	return nil
}

func nameTicks(a *plot.Axis, names []string) {
	if len(names) == 0 {
		return
	}
	var t plot.ConstantTicks
	for i, n := range names {
		t = append(t, plot.Tick{Value: float64(i), Label: OnOneLine(n)})
	}
	a.Tick.Marker, a.Tick.Color = t, faint
}

// drawBar draws the colour bar at the right.
func (h Heat) drawBar(c draw.Canvas, p *plot.Plot, s Range) {
	top, bottom := c.Max.Y-24, c.Min.Y+34
	const steps = 64
	for i := range steps {
		v := s.Min + (s.Max-s.Min)*(float64(i)+0.5)/steps
		y0 := bottom + (top-bottom)*vg.Length(i)/steps
		c.SetColor(h.colour(v, s))
		c.Fill(vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: y0},
			Max: vg.Point{X: c.Min.X + 9, Y: y0 + (top-bottom)/steps + 0.3}}.Path())
	}
	text := TextStyle(FontSize-1, false)
	text.YAlign = draw.YCenter
	for _, t := range (ticks{}).Ticks(s.Min, s.Max) {
		y := bottom + (top-bottom)*vg.Length((t.Value-s.Min)/(s.Max-s.Min))
		c.FillText(text, vg.Point{X: c.Min.X + 12, Y: y}, t.Label)
	}
	text.YAlign = draw.YBottom
	c.FillText(text, vg.Point{X: c.Min.X - 4, Y: top + 5}, OnOneLine(h.Label))
}

// cells is the coloured grid; many cells become one picture.
type cells struct {
	Heat
	r, c  int
	scale Range
}

// Plot implements plot.Plotter.
func (m cells) Plot(c draw.Canvas, p *plot.Plot) {
	if m.r*m.c > 900 {
		img := image.NewNRGBA(image.Rect(0, 0, m.c*enlarge(m.c), m.r*enlarge(m.r)))
		b := img.Bounds().Max
		for y := range b.Y {
			for x := range b.X {
				img.SetNRGBA(x, b.Y-1-y, m.colour(m.Z[y/enlarge(m.r)][x/enlarge(m.c)], m.scale))
			}
		}
		c.DrawImage(c.Rectangle, img)
		return
	}
	w, h := (c.Max.X-c.Min.X)/vg.Length(m.c), (c.Max.Y-c.Min.Y)/vg.Length(m.r)
	text := TextStyle(FontSize-1, false)
	text.XAlign, text.YAlign = draw.XCenter, draw.YCenter
	for r, row := range m.Z {
		for k, v := range row {
			lo := vg.Point{X: c.Min.X + w*vg.Length(k), Y: c.Min.Y + h*vg.Length(r)}
			col := m.colour(v, m.scale)
			c.SetColor(col)
			c.Fill(vg.Rectangle{Min: lo, Max: vg.Point{X: lo.X + w, Y: lo.Y + h}}.Path())
			if m.Rows != nil && m.Numbers >= 0 && CanShow(v, false) {
				text.Color = color.NRGBA{0xff, 0xff, 0xff, 0xff}
				if 299*int(col.R)+587*int(col.G)+114*int(col.B) > 140000 {
					text.Color = color.NRGBA{0x10, 0x10, 0x10, 0xff}
				}
				c.FillText(text, vg.Point{X: lo.X + w/2, Y: lo.Y + h/2},
					FormatMinus(strconv.FormatFloat(v, 'f', m.Numbers, 64)))
			}
		}
	}
}

// enlarge returns the number of pixels for a cell. It is large enough that a viewer
// that smooths enlarged pictures does not blur the cells into each other.
func enlarge(n int) int { return max(1, 600/n) }

type diagonal struct{}

// Plot implements plot.Plotter.
func (diagonal) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	lo, hi := max(p.X.Min, p.Y.Min), min(p.X.Max, p.Y.Max)
	if lo < hi {
		c.StrokeLine2(draw.LineStyle{Color: Ink, Width: 0.9, Dashes: []vg.Length{4, 3}}, tx(lo), ty(lo), tx(hi), ty(hi))
	}
}
