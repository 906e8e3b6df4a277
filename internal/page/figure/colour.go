package figure

import (
	"fmt"
	"image/color"
	"math"
	"strings"
)

// The three colours that follow the reader's scheme. They are near black, grey
// and white. No mark uses exactly these, so they can be found in an SVG's text.
var (
	Ink   = color.NRGBA{0x1b, 0x1f, 0x25, 0xff}
	faint = color.NRGBA{0xdf, 0xe3, 0xe9, 0xff}
	paper = color.NRGBA{0xfe, 0xfe, 0xff, 0xff}
)

// schemeColours replaces them by the page's variables.
var schemeColours = strings.NewReplacer(
	HexColour(Ink), "var(--ink)",
	HexColour(faint), "var(--line)",
	HexColour(paper), "var(--paper)",
)

// backgroundColour is the colour of one curve or line among many.
var backgroundColour = color.NRGBA{0x9a, 0xa0, 0xa6, 0xff}

func HexColour(c color.NRGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

// categorical holds ten colours chosen for distance under the common kinds of
// colour-blindness and for contrast on white and on dark grey (Petroff,
// "Accessible color sequences for data visualization", 2021).
var categorical = [...]color.NRGBA{
	{0x3f, 0x90, 0xda, 0xff}, {0xff, 0xa9, 0x0e, 0xff}, {0xbd, 0x1f, 0x01, 0xff},
	{0x94, 0xa4, 0xa2, 0xff}, {0x83, 0x2d, 0xb6, 0xff}, {0xa9, 0x6b, 0x59, 0xff},
	{0xe7, 0x63, 0x00, 0xff}, {0xb9, 0xac, 0x70, 0xff}, {0x71, 0x75, 0x81, 0xff},
	{0x92, 0xda, 0xdd, 0xff},
}

// The colours for correct, and for ours, and for wrong.
var GoodColour, BadColour = categorical[0], categorical[2]

// ClassStyle returns the colour and the shape of class i of n: ten colours, then the
// same ten in the next shape. Beyond fifty classes it spreads hues by the golden
// angle; then only neighbouring clusters can be told apart.
func ClassStyle(i, n int) (color.NRGBA, shape) {
	if i < 0 {
		return backgroundColour, disc
	}
	if n <= len(categorical)*int(shapes) {
		return categorical[i%len(categorical)], shape(i / len(categorical) % int(shapes))
	}
	h := math.Mod(float64(i)*0.61803398875, 1)
	v := 0.62 + 0.22*float64(i%3)/2
	return hsv(h, 0.75, v), shape(i % int(shapes))
}

func hsv(h, s, v float64) color.NRGBA {
	f := func(n float64) uint8 {
		k := math.Mod(n+h*6, 6)
		return uint8(math.Round(255 * (v - v*s*max(0, min(k, 4-k, 1)))))
	}
	return color.NRGBA{f(5), f(3), f(1), 0xff}
}

// Colour maps for heat: sequential runs from dark blue over green to yellow
// with even lightness, diverging from blue over white to red.
var (
	sequential = [...]color.NRGBA{
		{0x44, 0x01, 0x54, 0xff}, {0x47, 0x2d, 0x7b, 0xff}, {0x3b, 0x52, 0x8b, 0xff},
		{0x2c, 0x72, 0x8e, 0xff}, {0x21, 0x91, 0x8c, 0xff}, {0x28, 0xae, 0x80, 0xff},
		{0x5e, 0xc9, 0x62, 0xff}, {0xad, 0xdc, 0x30, 0xff}, {0xfd, 0xe7, 0x25, 0xff},
	}
	diverging = [...]color.NRGBA{
		{0x21, 0x66, 0xac, 0xff}, {0x67, 0xa9, 0xcf, 0xff}, {0xd1, 0xe5, 0xf0, 0xff},
		{0xf7, 0xf7, 0xf7, 0xff},
		{0xfd, 0xdb, 0xc7, 0xff}, {0xef, 0x8a, 0x62, 0xff}, {0xb2, 0x18, 0x2b, 0xff},
	}
)

// ramp returns the colour at t in [0, 1] of a list of evenly spaced anchors.
func ramp(anchors []color.NRGBA, t float64) color.NRGBA {
	x := min(max(t, 0), 1) * float64(len(anchors)-1)
	i := min(int(x), len(anchors)-2)
	u := x - float64(i)
	a, b := anchors[i], anchors[i+1]
	mix := func(p, q uint8) uint8 { return uint8(math.Round(float64(p)*(1-u) + float64(q)*u)) }
	return color.NRGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 0xff}
}

func withAlpha(c color.NRGBA, a float64) color.NRGBA {
	c.A = uint8(math.Round(255 * a))
	return c
}
