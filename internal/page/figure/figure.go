// Package figure draws figures as SVG and PNG files, and for pages.
//
// Plain structs go in: Scatter, Lines, Bars, Heat, Field, Parallel, Triplets and Panels.
// The colours can be told apart by colour-blind readers; if a figure has more
// classes than colours, the shape of the marks changes too. Every string is
// escaped. Files are replaced by rename.
package figure

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/escape"
)

// Figure is a drawing, such as one of this package's types of figures. A figure without
// data has empty axes and the text "no data". Values that are not finite are left
// out and counted in the legend.
type Figure interface {
	// Size is the natural width and height in points (1/72 inch).
	Size() (w, h float64)
	// Description is a short description for readers who cannot see it.
	Description() string
	// Draw paints the figure; dpi is the resolution for parts that are
	// painted as pixels.
	Draw(c draw.Canvas, dpi float64) error
}

const (
	pngDPI = 192 // twice a screen's 96
	svgDPI = 216 // resolution of pixel layers inside an SVG
)

// SVG returns f as an SVG document with a white background, to be opened or
// printed on its own.
func SVG(f Figure) ([]byte, error) {
	raw, err := rawSVG(f)
	if err != nil {
		return nil, err
	}
	w, h := f.Size()
	back := fmt.Sprintf("<rect width=\"%.5g\" height=\"%.5g\" fill=\"#FFFFFF\"/>\n", w, h)
	return append([]byte(`<?xml version="1.0" encoding="UTF-8"?>`+"\n"), withHead(raw, f, "", back)...), nil
}

// rawSVG draws f and returns the content between <svg ...> and </svg>.
func rawSVG(f Figure) (body string, err error) {
	w, h := f.Size()
	if err := checkSize(w, h); err != nil {
		return "", err
	}
	canvas := vgsvg.NewWith(vgsvg.UseWH(vg.Length(w), vg.Length(h)))
	if err := paint(f, draw.New(canvas), svgDPI); err != nil {
		return "", err
	}
	var buf bytes.Buffer
	if _, err := canvas.WriteTo(&buf); err != nil {
		return "", err
	}
	s := escape.Printable(buf.String())
	start := strings.Index(s, "<svg")
	if start < 0 {
		return "", fmt.Errorf("drawing %q gave no SVG", f.Description())
	}
	s = s[start+strings.Index(s[start:], ">")+1:]
	s = strings.TrimSuffix(strings.TrimSpace(s), "</svg>")
	return svgFixes.Replace(s), nil
}

// svgFixes adds fonts for readers without Liberation, and corrects the type of pixel
// layers.
var svgFixes = strings.NewReplacer(
	"font-family:Liberation Sans;", "font-family:Liberation Sans,Arial,Helvetica,sans-serif;",
	"font-variant:normal;", "", "font-style:normal;", "", "font-weight:normal;", "",
	"data:image/jpg;", "data:image/png;",
	"xlink:href=", "href=",
	"\n\tstyle=", " style=",
)

func withHead(body string, f Figure, attrs, back string) []byte {
	w, h := f.Size()
	label := escape.HTML(f.Description())
	return fmt.Appendf(nil,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.5g\" height=\"%.5g\" viewBox=\"0 0 %.5g %.5g\" "+
			"role=\"img\" aria-label=\"%s\"%s>\n<title>%s</title>\n%s%s</svg>\n",
		w*4/3, h*4/3, w, h, label, attrs, label, back, body)
}

// PNG returns f as a PNG image on white, at twice a screen's resolution.
func PNG(f Figure) ([]byte, error) {
	w, h := f.Size()
	if err := checkSize(w, h); err != nil {
		return nil, err
	}
	canvas := vgimg.NewWith(vgimg.UseWH(vg.Length(w), vg.Length(h)), vgimg.UseDPI(pngDPI))
	if err := paint(f, draw.New(canvas), pngDPI); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(&buf); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// WriteFigure writes f to path in the format of the extension: .svg or .png.
func WriteFigure(path string, f Figure) error {
	var data []byte
	var err error
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".svg":
		data, err = SVG(f)
	case ".png":
		data, err = PNG(f)
	default:
		return fmt.Errorf("figure %s: extension %q is not supported: use .svg or .png", path, ext)
	}
	if err != nil {
		return err
	}
	return atomic.WriteFile(path, atomic.Bytes(data))
}

// paint draws f and turns a panic of the plot library (it has no other way to
// refuse input) into an error.
func paint(f Figure, c draw.Canvas, dpi float64) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("drawing %q: %v", f.Description(), r)
		}
	}()
	return f.Draw(c, dpi)
}

func checkSize(w, h float64) error {
	if !(w > 0 && h > 0) || w*h > 1e8 || math.IsInf(w*h, 0) {
		return fmt.Errorf("a figure of %g x %g points cannot be drawn", w, h)
	}
	return nil
}
