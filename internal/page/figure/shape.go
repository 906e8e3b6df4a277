package figure

import (
	"math"

	"gonum.org/v1/plot/vg"
)

// shape is the outline of a mark. All shapes have about the area of the unit disc.
type shape int

const (
	disc shape = iota
	triangle
	square
	diamond
	wedge
	shapes // number of shapes
)

// corners returns the vertices of the unit shape, nil for the disc.
func (s shape) corners() [][2]float64 {
	switch s {
	case triangle:
		return [][2]float64{{0, 1.35}, {-1.2, -0.75}, {1.2, -0.75}}
	case square:
		return [][2]float64{{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}}
	case diamond:
		return [][2]float64{{0, -1.35}, {1.15, 0}, {0, 1.35}, {-1.15, 0}}
	case wedge:
		return [][2]float64{{0, -1.35}, {1.2, 0.75}, {-1.2, 0.75}}
	}
	return nil
}

// path returns the shape of radius r around p.
func (s shape) path(p vg.Point, r vg.Length) vg.Path {
	var path vg.Path
	if s == disc {
		path.Move(vg.Point{X: p.X + r, Y: p.Y})
		path.Arc(p, r, 0, 2*math.Pi)
		path.Close()
		return path
	}
	for i, c := range s.corners() {
		q := vg.Point{X: p.X + r*vg.Length(c[0]), Y: p.Y + r*vg.Length(c[1])}
		if i == 0 {
			path.Move(q)
		} else {
			path.Line(q)
		}
	}
	path.Close()
	return path
}

// contains reports whether the unit shape contains the point (x, y), y upwards.
func (s shape) contains(x, y float64) bool {
	corners := s.corners()
	if corners == nil {
		return x*x+y*y <= 1
	}
	for i, a := range corners {
		b := corners[(i+1)%len(corners)]
		if (b[0]-a[0])*(y-a[1])-(b[1]-a[1])*(x-a[0]) < 0 {
			return false
		}
	}
	return true
}
