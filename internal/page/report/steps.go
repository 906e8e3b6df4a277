package report

import (
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/kindred-ml/kindred/internal/page/figure"
)

// Steps shows figures one at a time with a slider and a play button, such as the
// same picture at each checkpoint of a run. On paper, and without JavaScript, it
// shows all in a grid. Give the figures equal sizes and ranges.
type Steps struct {
	Caption string
	Frames  []Frame
	// Start is the frame shown first; negative counts from the end.
	Start int
}

// Frame is one step with its name, such as "epoch 5".
type Frame struct {
	Name   string
	Figure figure.Figure
}

func (s Steps) html(r *renderer) (g.Node, error) {
	r.use("steps.js")
	last := max(0, len(s.Frames)-1)
	start := min(max(s.Start, 0), last)
	if s.Start < 0 {
		start = max(0, len(s.Frames)+s.Start)
	}
	width := 0
	var frames g.Group
	for _, f := range s.Frames {
		drawing, w, err := r.drawFigure(f.Figure)
		if err != nil {
			return nil, err
		}
		width = max(width, w*5/4)
		frames = append(frames, h.Figure(h.Class("frame"), h.Data("name", f.Name), line, drawing,
			h.FigCaption(g.Text(f.Name)), line), line)
	}
	at := strconv.Itoa(start)
	return g.Group{h.Figure(h.Class("steps"), h.Data("start", at), h.Style(pixelWidth("width", width)), line,
		h.Div(h.Class("controls"), g.Attr("hidden"), line,
			h.Button(h.Type("button"), g.Text("Play")), line,
			h.Input(h.Type("range"), h.Min("0"), h.Max(strconv.Itoa(last)), h.Value(at), h.Step("1"),
				h.Aria("label", "Step"), h.AutoComplete("off")), line,
			g.El("output"), line), line,
		h.Div(h.Class("frames"), line, frames), line, figureCaption(s.Caption)), line}, nil
}
