package figure

import (
	"fmt"
	"image/color"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Scatter shows points (X[i], Y[i]) coloured by class. Up to 1500 points are
// drawn as vector marks, more as one picture inside the vector figure.
type Scatter struct {
	Axes
	X, Y []float64
	// Class[i] is an index into Names; negative means none (grey). An empty
	// Class puts all points in one unnamed class.
	Class []int
	Names []string
	// Label writes each class's name at its median point.
	Label bool
	// Diagonal draws the line y = x.
	Diagonal bool
	// Radius of a mark in points; 0 chooses by the number of points.
	Radius float64
	// Tips are the texts of the points, which a page shows under the pointer; optional.
	Tips []string

	probe *probe
}

const (
	vectorMarks   = 1500
	legendClasses = 24 // more classes are counted, not listed
)

// Classes numbers labels 0, 1, ... in ascending order and names them. A label
// without an entry in names is named by its number.
func Classes(labels []int64, names map[int64]string) (class []int, classNames []string) {
	uniq := slices.Clone(labels)
	slices.Sort(uniq)
	uniq = slices.Compact(uniq)
	index := make(map[int64]int, len(uniq))
	for i, l := range uniq {
		index[l] = i
		name, ok := names[l]
		if !ok {
			name = fmt.Sprint(l)
		}
		classNames = append(classNames, name)
	}
	class = make([]int, len(labels))
	for i, l := range labels {
		class[i] = index[l]
	}
	return class, classNames
}

func (s Scatter) withProbe(p *probe) Figure {
	s.probe = p
	return s
}

// Draw implements Figure.
func (s Scatter) Draw(c draw.Canvas, dpi float64) error {
	if len(s.X) != len(s.Y) || (len(s.Class) != 0 && len(s.Class) != len(s.X)) {
		return fmt.Errorf("scatter %q: %d x, %d y and %d class values", s.Description(), len(s.X), len(s.Y),
			len(s.Class))
	}
	for i, k := range s.Class {
		if k >= len(s.Names) {
			return fmt.Errorf("scatter %q: point %d has class %d, but %d names are given", s.Description(), i, k,
				len(s.Names))
		}
	}
	m := marks{x: s.X, y: s.Y, radius: s.Radius, dpi: dpi}
	e := newExtent()
	for i := range s.X {
		if CanShow(s.X[i], s.LogX) && CanShow(s.Y[i], s.LogY) {
			m.order = append(m.order, i)
			e.add(s.X[i], s.Y[i])
		}
	}
	m.look = func(i int) (color.NRGBA, shape) {
		if len(s.Class) == 0 {
			return ClassStyle(0, 1)
		}
		return ClassStyle(s.Class[i], len(s.Names))
	}
	p, err := s.newPlot(e)
	if err != nil {
		return err
	}
	if s.Diagonal {
		p.Add(diagonal{})
	}
	p.Add(&m)
	if s.probe != nil && len(s.Tips) == len(s.X) {
		p.Add(tips{&s, m.order})
	}
	if s.Label {
		p.Add(s.labels(m.order))
	}
	s.drawPlot(c, p, s.legend(len(s.X)-len(m.order)), e.empty())
	return nil
}

func (s Scatter) legend(dropped int) []entry {
	var out []entry
	if len(s.Class) > 0 && len(s.Names) <= legendClasses {
		for k, name := range s.Names {
			col, sh := ClassStyle(k, len(s.Names))
			out = append(out, entry{label: name, colour: col, shape: sh})
		}
	} else if len(s.Class) > 0 {
		out = append(out, entry{label: fmt.Sprintf("%d classes", len(s.Names)), note: true})
	}
	return append(out, droppedNote(dropped)...)
}

func droppedNote(n int) []entry {
	if n == 0 {
		return nil
	}
	return []entry{{label: fmt.Sprintf("%d values not finite, left out", n), note: true}}
}

// labels places each class's name at the median of its points.
func (s Scatter) labels(order []int) plot.Plotter {
	xs, ys := make([][]float64, len(s.Names)), make([][]float64, len(s.Names))
	for _, i := range order {
		if len(s.Class) > 0 && s.Class[i] >= 0 {
			k := s.Class[i]
			xs[k], ys[k] = append(xs[k], s.X[i]), append(ys[k], s.Y[i])
		}
	}
	var t tags
	for k, name := range s.Names {
		if len(xs[k]) > 0 {
			sort.Float64s(xs[k])
			sort.Float64s(ys[k])
			t = append(t, tag{xs[k][len(xs[k])/2], ys[k][len(ys[k])/2], name})
		}
	}
	return t
}

// tips gives the probe the positions of the points.
type tips struct {
	s     *Scatter
	order []int
}

// Plot implements plot.Plotter.
func (t tips) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	for _, i := range t.order {
		if at := (vg.Point{X: tx(t.s.X[i]), Y: ty(t.s.Y[i])}); c.Contains(at) {
			t.s.probe.point(at, t.s.Tips[i])
		}
	}
}

// marks draws points in a shuffled order, so that no class covers the others
// because it comes last.
type marks struct {
	x, y   []float64
	order  []int // the points to draw
	look   func(i int) (color.NRGBA, shape)
	radius float64
	dpi    float64
}

// Plot implements plot.Plotter.
func (m *marks) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	n := len(m.order)
	r, alpha := m.radius, 0.85
	switch {
	case n > 20000:
		alpha = 0.6
	case n > vectorMarks:
		alpha = 0.7
	}
	if r == 0 {
		switch {
		case n > 20000:
			r = 0.8
		case n > 5000:
			r = 1.1
		case n > 500:
			r = 1.5
		default:
			r = 2.2
		}
	}
	order := slices.Clone(m.order)
	rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	if n <= vectorMarks {
		for _, i := range order {
			pt := vg.Point{X: tx(m.x[i]), Y: ty(m.y[i])}
			if !c.Contains(pt) {
				continue
			}
			col, sh := m.look(i)
			c.SetColor(withAlpha(col, alpha))
			c.Fill(sh.path(pt, vg.Length(r)))
		}
		return
	}
	px := m.dpi / 72 // pixels per point
	w, h := float64(c.Max.X-c.Min.X), float64(c.Max.Y-c.Min.Y)
	l := newLayer(max(1, int(w*px)), max(1, int(h*px)), r*px)
	for _, i := range order {
		pt := vg.Point{X: tx(m.x[i]), Y: ty(m.y[i])}
		if !c.Contains(pt) {
			continue
		}
		col, sh := m.look(i)
		l.put(float64(pt.X-c.Min.X)*px, float64(c.Max.Y-pt.Y)*px, sh, withAlpha(col, alpha))
	}
	c.DrawImage(c.Rectangle, l.img)
}
