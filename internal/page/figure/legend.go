package figure

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// entry is one item of a legend: a sample of the mark and its meaning. An entry
// without a sample is a remark.
type entry struct {
	label  string
	colour color.NRGBA
	shape  shape
	line   bool
	dashes []vg.Length
	note   bool
}

const (
	swatch    = 10 // width of a mark's sample
	lineSwath = 20 // width of a line's sample
	entryGap  = 12
	rowHeight = 13
)

func (e entry) sample() vg.Length {
	switch {
	case e.note:
		return 0
	case e.line:
		return lineSwath + 3
	}
	return swatch + 2
}

func (e entry) width() vg.Length {
	return e.sample() + TextStyle(legendSize, false).Width(OnOneLine(e.label)) + entryGap
}

// fit shortens the label of an entry that is wider than the figure.
func (e *entry) fit(width vg.Length) {
	e.label = Shorten(OnOneLine(e.label), TextStyle(legendSize, false).Width, width-e.sample()-entryGap)
}

// layOutRows breaks entries into rows no wider than width.
func layOutRows(entries []entry, width vg.Length) [][]entry {
	var rows [][]entry
	var used vg.Length
	for _, e := range entries {
		w := e.width()
		if len(rows) == 0 || used+w-entryGap > width {
			rows, used = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], e)
		used += w
	}
	return rows
}

func legendHeight(rows [][]entry) vg.Length {
	if len(rows) == 0 {
		return 0
	}
	return vg.Length(len(rows)*rowHeight) + 4
}

// drawLegend draws the rows, each centred, from the top of c.
func drawLegend(c draw.Canvas, rows [][]entry) {
	style := TextStyle(legendSize, false)
	style.YAlign = draw.YCenter
	for i, row := range rows {
		var w vg.Length
		for _, e := range row {
			w += e.width()
		}
		x := max(c.Min.X, (c.Min.X+c.Max.X-w+entryGap)/2)
		y := c.Max.Y - 4 - vg.Length(i)*rowHeight - rowHeight/2
		for _, e := range row {
			switch {
			case e.note:
			case e.line:
				c.StrokeLine2(draw.LineStyle{Color: e.colour, Width: 1.8, Dashes: e.dashes}, x, y, x+lineSwath, y)
			default:
				c.SetColor(e.colour)
				c.Fill(e.shape.path(vg.Point{X: x + swatch/2, Y: y}, 3.6))
			}
			c.FillText(style, vg.Point{X: x + e.sample(), Y: y}, OnOneLine(e.label))
			x += e.width()
		}
	}
}
