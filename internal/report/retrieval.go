package report

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/png"

	"golang.org/x/image/draw"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
)

// Retrieval shows queries with their nearest neighbours, right ones framed in
// one colour and ticked, wrong ones in another and crossed.
type Retrieval struct {
	Caption string
	Rows    []Query
	// Side is the size of a thumbnail in pixels; 0 means 72. Larger pictures
	// are reduced, smaller ones enlarged by whole pixels when shown.
	Side int
}

// Query is one row: the query and its neighbours, nearest first.
type Query struct {
	Item       Picture
	Neighbours []Picture
}

// Picture is a thumbnail with its label. A nil Image shows the label alone.
type Picture struct {
	Image image.Image
	Label string
	// Right says whether a neighbour has the query's label.
	Right bool
}

func (q Retrieval) side() int {
	if q.Side <= 0 {
		return 72
	}
	return min(q.Side, 512)
}

func (q Retrieval) html(r *renderer) (template.HTML, error) {
	type picture struct {
		Src          template.URL
		Label, Class string
		Mark         string
	}
	type row struct {
		Query      picture
		Neighbours []picture
	}
	data := struct {
		Caption string
		Side    int
		Rows    []row
	}{Caption: q.Caption, Side: q.side()}
	convert := func(p Picture) (picture, error) {
		out := picture{Label: p.Label}
		if p.Image == nil {
			return out, nil
		}
		var b bytes.Buffer
		if err := png.Encode(&b, thumbnail(p.Image, q.side())); err != nil {
			return out, fmt.Errorf("report: thumbnail of %q: %w", p.Label, err)
		}
		out.Src = template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()))
		return out, nil
	}
	for _, query := range q.Rows {
		var out row
		var err error
		if out.Query, err = convert(query.Item); err != nil {
			return "", err
		}
		out.Query.Class = "query"
		for _, n := range query.Neighbours {
			p, err := convert(n)
			if err != nil {
				return "", err
			}
			p.Class, p.Mark = "wrong", "✗"
			if n.Right {
				p.Class, p.Mark = "right", "✓"
			}
			out.Neighbours = append(out.Neighbours, p)
		}
		data.Rows = append(data.Rows, out)
	}
	return r.execute("retrieval", data)
}

// thumbnail returns img scaled to fit a square: smoothly if it is larger, by a
// whole factor with hard pixels if it is at most half as large.
func thumbnail(img image.Image, side int) image.Image {
	b := img.Bounds()
	if b.Dx() <= 0 || b.Dy() <= 0 {
		return image.NewNRGBA(image.Rect(0, 0, 1, 1))
	}
	long := max(b.Dx(), b.Dy())
	w, h := max(1, b.Dx()*side/long), max(1, b.Dy()*side/long)
	var scaler draw.Scaler = draw.CatmullRom
	if long <= side {
		k := side / long
		w, h = b.Dx()*k, b.Dy()*k
		scaler = draw.NearestNeighbor
	}
	out := image.NewNRGBA(image.Rect(0, 0, w, h))
	scaler.Scale(out, out.Bounds(), img, b, draw.Src, nil)
	return out
}

const (
	cellGap   = 7.0
	labelRoom = 12.0
)

// cell is the side of a thumbnail in points.
func (q Retrieval) cell() float64 { return float64(q.side()) * 0.75 }

func (q Retrieval) size() (w, h float64) {
	n := 0
	for _, r := range q.Rows {
		n = max(n, len(r.Neighbours))
	}
	c := q.cell() + cellGap
	w, h = float64(n+1)*c+3*cellGap, float64(len(q.Rows))*(c+labelRoom)+cellGap
	if q.Caption != "" {
		h += panelTitle
	}
	return w, max(h, 40)
}

func (q Retrieval) name() string {
	if q.Caption != "" {
		return q.Caption
	}
	return "queries and their nearest neighbours"
}

// draw makes Retrieval a Figure, for PNG and SVG files.
func (q Retrieval) draw(c vgdraw.Canvas, _ float64) error {
	y := c.Max.Y - cellGap
	if q.Caption != "" {
		s := textStyle(titleSize, true)
		s.YAlign = vgdraw.YTop
		c.FillText(s, vg.Point{X: c.Min.X + cellGap, Y: y}, oneLine(q.Caption))
		y -= panelTitle
	}
	side := vg.Length(q.cell())
	for _, row := range q.Rows {
		x := c.Min.X + cellGap
		q.drawPicture(c, x, y, row.Item, ink)
		x += side + 3*cellGap
		for _, n := range row.Neighbours {
			frame := categorical[bad]
			if n.Right {
				frame = categorical[good]
			}
			q.drawPicture(c, x, y, n, frame)
			x += side + cellGap
		}
		y -= side + cellGap + labelRoom
	}
	return nil
}

// drawPicture draws a framed thumbnail with its upper left corner at (x, y).
func (q Retrieval) drawPicture(c vgdraw.Canvas, x, y vg.Length, p Picture, frame color.NRGBA) {
	side := vg.Length(q.cell())
	box := vg.Rectangle{Min: vg.Point{X: x, Y: y - side}, Max: vg.Point{X: x + side, Y: y}}
	if p.Image != nil {
		t := thumbnail(p.Image, 2*q.side())
		b := t.Bounds()
		k := side / vg.Length(max(b.Dx(), b.Dy()))
		w, h := k*vg.Length(b.Dx()), k*vg.Length(b.Dy())
		c.DrawImage(vg.Rectangle{
			Min: vg.Point{X: x + (side-w)/2, Y: y - (side+h)/2},
			Max: vg.Point{X: x + (side+w)/2, Y: y - (side-h)/2},
		}, t)
	}
	c.SetLineStyle(vgdraw.LineStyle{Color: frame, Width: 2})
	c.Stroke(box.Path())
	s := textStyle(fontSize-2, false)
	s.XAlign, s.YAlign = vgdraw.XCenter, vgdraw.YTop
	c.FillText(s, vg.Point{X: x + side/2, Y: y - side - 2}, shorten(oneLine(p.Label), s.Width, side+cellGap))
}

// shorten cuts s with an ellipsis so that it is no wider than room.
func shorten(s string, width func(string) vg.Length, room vg.Length) string {
	if width(s) <= room {
		return s
	}
	r := []rune(s)
	for len(r) > 0 && width(string(r)+"…") > room {
		r = r[:len(r)-1]
	}
	return string(r) + "…"
}
