package spatial

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// gridSample takes, for each place of a grid, the value of an image between its pixels.
func gridSample(c *operator.Call) []*tensor.Tensor {
	x := c.Floats(0)
	grid := c.Floats(1)
	if len(x.Shape) != 4 || len(grid.Shape) != 4 || grid.Shape[3] != 2 || grid.Shape[0] != x.Shape[0] || x.Len() == 0 {
		operator.Fail("its grid of shape %d does not fit images of shape %d", grid.Shape, x.Shape)
	}
	s := &sampler{x: x, mode: c.Text("mode", "linear"), padding: c.Text("padding_mode", "zeros"),
		corners: c.Int("align_corners", 0) != 0}
	switch s.mode {
	case "linear", "bilinear":
		s.mode = "linear"
	case "cubic", "bicubic":
		s.mode = "cubic"
	case "nearest":
	default:
		operator.Fail("mode %q is not supported", s.mode)
	}
	if !slices.Contains([]string{"zeros", "border", "reflection"}, s.padding) {
		operator.Fail("padding_mode %q is not supported", s.padding)
	}
	n, ch, h, w := x.Shape[0], x.Shape[1], grid.Shape[1], grid.Shape[2]
	y := c.NewFloats([]int{n, ch, h, w})
	c.RunRanges(n*h*w, 8*y.Len(), func(lo, hi int) {
		for k := lo; k < hi; k++ {
			taps := s.taps(float64(grid.Floats[2*k]), float64(grid.Floats[2*k+1]))
			i, p := k/(h*w), k%(h*w)
			for j := range ch {
				plane := x.Floats[(i*ch+j)*x.Shape[2]*x.Shape[3]:]
				var sum float64
				for _, t := range taps {
					sum += t.weight * float64(plane[t.at])
				}
				y.Floats[(i*ch+j)*h*w+p] = float32(sum)
			}
		}
	})
	return operator.Single(y)
}

// sampler samples images.
type sampler struct {
	x             *tensor.Tensor
	mode, padding string
	corners       bool
}

// tap is a pixel with its weight.
type tap struct {
	at     int
	weight float64
}

// place turns a coordinate of -1..1 into one of pixels.
func (s *sampler) place(v float64, side int) float64 {
	if s.corners {
		return (v + 1) / 2 * float64(side-1)
	}
	return ((v+1)*float64(side) - 1) / 2
}

// fold brings a coordinate back between the edges of a side.
func (s *sampler) fold(v float64, side int) float64 {
	lo, hi := -0.5, float64(side)-0.5
	if s.corners {
		lo, hi = 0, float64(side-1)
	}
	span := hi - lo
	if span <= 0 {
		return 0
	}
	d := math.Mod(math.Abs(v-lo), 2*span)
	if d > span {
		d = 2*span - d
	}
	return d + lo
}

// outside brings a coordinate into the image as the padding says, before the pixels are known.
func (s *sampler) outside(v float64, side int) float64 {
	switch s.padding {
	case "border":
		return min(max(v, 0), float64(side-1))
	case "reflection":
		return min(max(s.fold(v, side), 0), float64(side-1))
	}
	return v
}

// taps lists the pixels around a place of the grid with their weights. Places that are no numbers give NaN; those
// far outside are cut before they become integers.
func (s *sampler) taps(gx, gy float64) []tap {
	h, w := s.x.Shape[2], s.x.Shape[3]
	x, y := s.place(gx, w), s.place(gy, h)
	if x != x || y != y || math.Abs(x) > 1e9 || math.Abs(y) > 1e9 {
		x, y = min(max(x, -1e9), 1e9), min(max(y, -1e9), 1e9)
		if x != x || y != y {
			return []tap{{0, math.NaN()}}
		}
	}
	var xs, ys [4]float64
	var x0, y0, n int
	switch s.mode {
	case "nearest":
		x, y = s.outside(x, w), s.outside(y, h)
		x0, y0, n = int(math.RoundToEven(x)), int(math.RoundToEven(y)), 1
		xs[0], ys[0] = 1, 1
	case "linear":
		x, y = s.outside(x, w), s.outside(y, h)
		x0, y0, n = int(math.Floor(x)), int(math.Floor(y)), 2
		fx, fy := x-math.Floor(x), y-math.Floor(y)
		xs, ys = [4]float64{1 - fx, fx}, [4]float64{1 - fy, fy}
	default:
		x0, y0, n = int(math.Floor(x))-1, int(math.Floor(y))-1, 4
		cubic := resizing{mode: "cubic", cubic: -0.75}
		for k := range 4 {
			xs[k], ys[k] = cubic.kernel(x-float64(x0+k)), cubic.kernel(y-float64(y0+k))
		}
	}
	var list []tap
	for j := range n {
		for i := range n {
			px, py := x0+i, y0+j
			if s.padding != "zeros" {
				px, py = int(s.outside(float64(px), w)), int(s.outside(float64(py), h))
			}
			if px >= 0 && px < w && py >= 0 && py < h {
				list = append(list, tap{py*w + px, xs[i] * ys[j]})
			}
		}
	}
	return list
}

// affineGrid makes the grid of an affine map of the plane.
func affineGrid(c *operator.Call) []*tensor.Tensor {
	theta := c.Floats(0)
	c.RequireInputs(2)
	sides := operator.Must(c.In[1].Sides())
	if len(sides) != 4 || !slices.Equal(theta.Shape, []int{sides[0], 2, 3}) {
		operator.Fail("its affine maps of shape %d do not fit images of %d: only maps of "+
			"the plane are supported", theta.Shape,
			sides)
	}
	n, h, w := sides[0], sides[2], sides[3]
	out := c.NewFloats([]int{n, h, w, 2})
	at := func(i, side int) float64 {
		if c.Int("align_corners", 0) != 0 {
			if side == 1 {
				return 0
			}
			return 2*float64(i)/float64(side-1) - 1
		}
		return (2*float64(i)+1)/float64(side) - 1
	}
	for k := range n * h * w {
		m := theta.Floats[k/(h*w)*6:]
		x, y := at(k%w, w), at(k/w%h, h)
		for r := range 2 {
			out.Floats[2*k+r] = float32(float64(m[3*r])*x + float64(m[3*r+1])*y + float64(m[3*r+2]))
		}
	}
	return operator.Single(out)
}
