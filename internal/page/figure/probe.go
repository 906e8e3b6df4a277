package figure

import (
	"encoding/json"
	"fmt"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot/vg"

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
	p.curves = append(p.curves, probedCurve{Name: escape.Printable(name), Colour: HexColour(c), Quiet: quiet})
	return &p.curves[len(p.curves)-1]
}

func (c *probedCurve) add(p *probe, at vg.Point, x, value string) {
	c.X, c.Y = append(c.X, pointNum(at.X)), append(c.Y, pointNum(p.height-float64(at.Y)))
	c.At, c.Value = append(c.At, x), append(c.Value, value)
}

func (p *probe) point(at vg.Point, text string) {
	p.points = append(p.points, probedPoint{pointNum(at.X), pointNum(p.height - float64(at.Y)), escape.Printable(text)})
}

// FormatShort writes a value for the text under the pointer.
func FormatShort(v float64) string { return FormatMinus(strconv.FormatFloat(v, 'g', 4, 64)) }

// Inline returns f as an <svg> element that follows the reader's colour scheme, and as JSON
// the values that a page shows under the pointer; nil if there are none.
func Inline(f Figure) (svg string, values []byte, err error) {
	_, height := f.Size()
	p := probe{height: height}
	if with, ok := f.(probed); ok {
		f = with.withProbe(&p)
	}
	raw, err := rawSVG(f)
	if err != nil {
		return "", nil, err
	}
	svg = schemeColours.Replace(string(withHead(raw, f, ` class="fig"`, "")))
	if len(p.curves) == 0 && len(p.points) == 0 {
		return svg, nil, nil
	}
	values, err = json.Marshal(struct {
		X      string        `json:"x"`
		Curves []probedCurve `json:"curves,omitempty"`
		Points []probedPoint `json:"points,omitempty"`
	}{p.x, p.curves, p.points})
	if err != nil {
		return "", nil, fmt.Errorf("the values of %q: %w", f.Description(), err)
	}
	return svg, values, nil
}
