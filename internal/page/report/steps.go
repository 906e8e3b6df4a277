package report

import (
	"html/template"
)

// Steps shows figures one at a time with a slider and a play button: the same
// picture at each checkpoint of a run. On paper, and without JavaScript, all
// are shown in a grid. Give the figures equal sizes and ranges.
type Steps struct {
	Caption string
	Frames  []Frame
	// Start is the frame shown first; negative counts from the end.
	Start int
}

// Frame is one step with its name, such as "epoch 5".
type Frame struct {
	Name   string
	Figure Figure
}

func (s Steps) html(r *renderer) (template.HTML, error) {
	r.use("steps.js")
	type frame struct {
		Name    string
		Drawing drawing
	}
	data := struct {
		Last, Start int
		Caption     string
		Frames      []frame
		Width       int
	}{Last: max(0, len(s.Frames)-1), Caption: s.Caption}
	data.Start = min(max(s.Start, 0), data.Last)
	if s.Start < 0 {
		data.Start = max(0, len(s.Frames)+s.Start)
	}
	for _, f := range s.Frames {
		d, err := r.drawn(f.Figure)
		if err != nil {
			return "", err
		}
		data.Width = max(data.Width, d.Width*5/4)
		data.Frames = append(data.Frames, frame{f.Name, d})
	}
	return r.execute("steps", data)
}
