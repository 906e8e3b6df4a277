package report

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/kindred-ml/kindred/internal/page/figure"
)

// Retrieval shows queries with their nearest neighbours. Right neighbours have a frame
// in one colour and a tick, wrong ones a frame in another colour and a cross. Neighbours
// without a label have a plain frame. On a page a click enlarges a picture beside its query.
type Retrieval struct {
	Caption string
	Rows    []RetrievalRow
	// Side is the size of a thumbnail in pixels. 0 chooses the largest size with
	// which all pictures fit thumbBudget on a page, and 96 in a figure. Smaller
	// pictures are enlarged by a whole factor.
	Side int
}

// RetrievalRow is one row: the query and its neighbours, nearest first.
type RetrievalRow struct {
	Item       Picture
	Neighbours []Picture
}

func (q Retrieval) html(r *renderer) (g.Node, error) {
	var all []Picture
	for _, query := range q.Rows {
		all = append(append(all, query.Item), query.Neighbours...)
	}
	thumbs, err := thumbnails(all, q.Side)
	if err != nil {
		return nil, err
	}
	next := func(p Picture, class, mark string) g.Node {
		t := thumbs[0]
		thumbs = thumbs[1:]
		return p.node(t, class, mark)
	}
	var rows g.Group
	for _, query := range q.Rows {
		item := next(query.Item, "query", "")
		var found g.Group
		for _, n := range query.Neighbours {
			found = append(found, next(n, n.Match.class(), n.Match.sign()))
		}
		rows = append(rows, h.Div(h.Class("row"), line, item, h.Div(h.Class("found"), line, found), line), line)
	}
	r.use("gallery.js")
	title := nodeIf(q.Caption, h.FigCaption(g.Text(q.Caption)))
	return g.Group{h.Figure(h.Class("retrieval"), line, title, rows), line}, nil
}

// node returns the picture on a page: a button that enlarges it.
func (p Picture) node(t thumb, class, mark string) g.Node {
	class = "pic " + class
	if t.tiny {
		class += " tiny"
	}
	shown := h.Span(h.Class("none"), g.Text("no picture"))
	if t.src != "" {
		shown = h.Img(h.Src(t.src), h.Alt(p.Label+" "+p.Name), h.Loading("lazy"), g.Attr("decoding", "async"))
	}
	return g.Group{h.Figure(h.Class(class), line,
		h.Button(h.Type("button"), h.Class("zoom"), nodeIf(p.Link, h.Data("full", p.Link)), shown), line,
		h.FigCaption(
			g.If(mark != "" || p.Label != "", g.Group{
				h.Span(h.Class("label"), nodeIf(mark, h.B(g.Text(mark))), shortName(p.Label).node()), line}),
			nodeIf(p.Name, g.Group{shortPath(p.Name).node(), line}),
			nodeIf(p.Distance, h.Span(h.Class("distance"), g.Text(p.Distance)))), line), line}
}

const (
	cellGap    = 7.0
	lineHeight = 10.0 // height of a line of text under a picture
)

// side returns the side of a thumbnail in a figure, in CSS pixels.
func (q Retrieval) side() int {
	if q.Side <= 0 {
		return 96
	}
	return min(q.Side, 512)
}

// cellSize returns the side of a thumbnail in points.
func (q Retrieval) cellSize() float64 { return float64(q.side()) * 0.75 }

// lines returns the texts under a picture in a figure.
func (p *Picture) lines() []string {
	var out []string
	for _, s := range []string{p.Label, p.Name, p.Distance} {
		if s != "" {
			out = append(out, figure.OnOneLine(s))
		}
	}
	return out
}

// textHeight returns the height of the longest text under any picture.
func (q Retrieval) textHeight() float64 {
	n := 1
	for _, r := range q.Rows {
		n = max(n, len(r.Item.lines()))
		for i := range r.Neighbours {
			n = max(n, len(r.Neighbours[i].lines()))
		}
	}
	return float64(n)*lineHeight + 3
}

// Size implements figure.Figure.
func (q Retrieval) Size() (w, h float64) {
	n := 0
	for _, r := range q.Rows {
		n = max(n, len(r.Neighbours))
	}
	c := q.cellSize() + cellGap
	w, h = float64(n+1)*c+3*cellGap, float64(len(q.Rows))*(c+q.textHeight())+cellGap
	if q.Caption != "" {
		h += figure.TitleHeight
	}
	return w, max(h, 40)
}

// Description implements figure.Figure.
func (q Retrieval) Description() string {
	if q.Caption != "" {
		return q.Caption
	}
	return "queries and their nearest neighbours"
}

// Draw makes Retrieval a Figure, for PNG and SVG files.
func (q Retrieval) Draw(c vgdraw.Canvas, _ float64) error {
	y := c.Max.Y - cellGap
	if q.Caption != "" {
		s := figure.TextStyle(figure.TitleSize, true)
		s.YAlign = vgdraw.YTop
		c.FillText(s, vg.Point{X: c.Min.X + cellGap, Y: y}, figure.OnOneLine(q.Caption))
		y -= figure.TitleHeight
	}
	side, room := vg.Length(q.cellSize()), vg.Length(q.textHeight())
	for _, row := range q.Rows {
		x := c.Min.X + cellGap
		q.drawPicture(c, x, y, row.Item, figure.Ink)
		x += side + 3*cellGap
		for _, n := range row.Neighbours {
			q.drawPicture(c, x, y, n, n.Match.frameColour())
			x += side + cellGap
		}
		y -= side + cellGap + room
	}
	return nil
}

// drawPicture draws a framed thumbnail with its upper left corner at (x, y).
func (q Retrieval) drawPicture(c vgdraw.Canvas, x, y vg.Length, p Picture, frame color.NRGBA) {
	side := vg.Length(q.cellSize())
	box := vg.Rectangle{Min: vg.Point{X: x, Y: y - side}, Max: vg.Point{X: x + side, Y: y}}
	if p.Image != nil && !p.Image.Bounds().Empty() {
		t := enlargeSharply(shrink(p.Image, 2*q.side()), 2*q.side())
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
	s := figure.TextStyle(figure.FontSize-1.5, false)
	s.XAlign, s.YAlign = vgdraw.XCenter, vgdraw.YTop
	for i, line := range p.lines() {
		at := vg.Point{X: x + side/2, Y: y - side - 3 - vg.Length(i)*lineHeight}
		c.FillText(s, at, figure.Shorten(line, s.Width, side+cellGap-2))
	}
}
