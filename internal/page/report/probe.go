package report

import (
	"encoding/json"
	"fmt"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot/vg"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/kindred-ml/kindred/internal/base/escape"
)

// probe notes where a figure has drawn its values. A page shows them under the
// pointer. Figures with such values implement probed.
type probe struct {
	height float64 // size of the figure in points
	x      string  // name of the x axis
	curves []probedCurve
	points []probedPoint
}

// probed is a figure that notes its values when it is drawn.
type probed interface {
	Figure
	withProbe(p *probe) Figure
}

type probedCurve struct {
	Name   string     `json:"name"`
	Colour string     `json:"colour"`
	Quiet  bool       `json:"quiet,omitempty"`
	X      []pointNum `json:"x"`
	Y      []pointNum `json:"y"`
	At     []string   `json:"at"` // the x values
	Value  []string   `json:"value"`
}

type probedPoint struct {
	X    pointNum `json:"x"`
	Y    pointNum `json:"y"`
	Text string   `json:"text"`
}

// pointNum is a length in points with one decimal. y goes downwards, as in SVG.
type pointNum float64

func (p pointNum) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, math.Round(float64(p)*10)/10, 'f', -1, 64), nil
}

func (p *probe) curve(name string, c color.NRGBA, quiet bool) *probedCurve {
	p.curves = append(p.curves, probedCurve{Name: escape.Printable(name), Colour: hexColour(c), Quiet: quiet})
	return &p.curves[len(p.curves)-1]
}

func (c *probedCurve) add(p *probe, at vg.Point, x, value string) {
	c.X, c.Y = append(c.X, pointNum(at.X)), append(c.Y, pointNum(p.height-float64(at.Y)))
	c.At, c.Value = append(c.At, x), append(c.Value, value)
}

func (p *probe) point(at vg.Point, text string) {
	p.points = append(p.points, probedPoint{pointNum(at.X), pointNum(p.height - float64(at.Y)), escape.Printable(text)})
}

// formatShort writes a value for the text under the pointer.
func formatShort(v float64) string { return formatMinus(strconv.FormatFloat(v, 'g', 4, 64)) }

// drawnFigure is a figure on a page: the SVG, and the values for the pointer.
type drawnFigure struct {
	SVG   string
	Width int    // natural width in CSS pixels
	Chart []byte // JSON
}

func (d drawnFigure) node() g.Node {
	chart := len(d.Chart) > 0
	return g.Group{h.Div(h.Class("draw"), h.Style(pixelWidth("w", d.Width)), flagAttribute(chart, "data-chart"), line,
		g.Raw(d.SVG), g.If(chart, dataElement(d.Chart))), line}
}

// drawFigure draws f for a page.
func (r *renderer) drawFigure(f Figure) (drawnFigure, error) {
	w, h := f.size()
	p := probe{height: h}
	if with, ok := f.(probed); ok {
		f = with.withProbe(&p)
	}
	svg, err := inlineSVG(f)
	if err != nil {
		return drawnFigure{}, err
	}
	d := drawnFigure{SVG: string(svg), Width: int(w * 4 / 3)}
	if len(p.curves) == 0 && len(p.points) == 0 {
		return d, nil
	}
	text, err := json.Marshal(struct {
		X      string        `json:"x"`
		Curves []probedCurve `json:"curves,omitempty"`
		Points []probedPoint `json:"points,omitempty"`
	}{p.x, p.curves, p.points})
	if err != nil {
		return d, fmt.Errorf("the values of %q: %w", f.name(), err)
	}
	r.use("chart.js")
	d.Chart = text
	return d, nil
}
