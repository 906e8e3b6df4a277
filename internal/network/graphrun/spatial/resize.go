package spatial

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// resampling says, for each place along an axis of the output, which values of the input it is made
// of and how much of each.
type resampling struct {
	from   [][]int // -1: the value that stands outside
	weight [][]float64
}

// resizing is what Resize does along one axis.
type resizing struct {
	mode, coordinates, nearest string
	cubic                      float64
	exclude, antialias         bool
	in, out                    int
	scale                      float64 // out / in, as the model says it
	from, to                   float64 // of tf_crop_and_resize
}

// source is the place in the input of a place in the output. It is computed in T.
func source[T float32 | float64](r *resizing, i int) T {
	x, in, out, scale := T(i), T(r.in), T(r.out), T(r.scale)
	switch r.coordinates {
	case "asymmetric":
		return x / scale
	case "align_corners":
		if r.out == 1 {
			return 0
		}
		return x * (in - 1) / (out - 1)
	case "pytorch_half_pixel":
		if r.out == 1 {
			return 0
		}
	case "half_pixel_symmetric":
		adjust := out / (scale * in)
		return in/2*(1-adjust) + (x+0.5)/scale - 0.5
	case "tf_half_pixel_for_nn":
		return (x + 0.5) / scale
	case "tf_crop_and_resize":
		from, to := T(r.from), T(r.to)
		if r.out == 1 {
			return 0.5 * (from + to) * (in - 1)
		}
		return from*(in-1) + x*(to-from)*(in-1)/(out-1)
	}
	return (x+0.5)/scale - 0.5
}

// check refuses what this axis cannot be resized by.
func (r *resizing) check() {
	for _, known := range []struct {
		what, value string
		values      []string
	}{
		{"mode", r.mode, []string{"nearest", "linear", "cubic"}},
		{"coordinate_transformation_mode", r.coordinates, []string{"half_pixel", "asymmetric", "align_corners",
			"pytorch_half_pixel", "half_pixel_symmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"}},
		{"nearest_mode", r.nearest, []string{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}},
	} {
		if !slices.Contains(known.values, known.value) {
			operator.Fail("%s %q is not supported", known.what, known.value)
		}
	}
}

// pick rounds a place that was computed in single precision, as in other programs: where two values
// are as near, the last bit decides.
func (r *resizing) pick(place float32) int {
	x := float64(place)
	switch r.nearest {
	case "floor":
		x = math.Floor(x)
	case "ceil":
		x = math.Ceil(x)
	case "round_prefer_ceil":
		x = math.Floor(x + 0.5)
	default:
		x = math.Ceil(x - 0.5)
	}
	return int(x)
}

// plan lists the values and weights of every place.
func (r *resizing) plan() *resampling {
	p := &resampling{}
	for i := range r.out {
		x := source[float64](r, i)
		var from []int
		var weight []float64
		switch {
		case r.coordinates == "tf_crop_and_resize" && (x < 0 || x > float64(r.in-1)):
			from, weight = []int{-1}, []float64{1}
		case r.mode == "nearest":
			from, weight = []int{min(max(r.pick(source[float32](r, i)), 0), r.in-1)}, []float64{1}
		default:
			from, weight = r.taps(x)
		}
		p.from, p.weight = append(p.from, from), append(p.weight, weight)
	}
	return p
}

// kernel is the weight of a value at a distance.
func (r *resizing) kernel(d float64) float64 {
	d = math.Abs(d)
	if r.mode == "linear" {
		return max(0, 1-d)
	}
	a := r.cubic
	switch {
	case d <= 1:
		return ((a+2)*d-(a+3))*d*d + 1
	case d < 2:
		return ((a*d-5*a)*d+8*a)*d - 4*a
	}
	return 0
}

// taps lists the values around a place: those outside are the nearest ones, or left out.
func (r *resizing) taps(x float64) (from []int, weight []float64) {
	reach, squeeze := 1.0, 1.0
	if r.mode == "cubic" {
		reach = 2
	}
	if r.antialias && r.scale < 1 {
		squeeze = r.scale
		reach /= squeeze
	}
	if r.mode == "linear" && squeeze == 1 {
		x = min(max(x, 0), float64(r.in-1))
	}
	sum := 0.0
	for k := int(math.Floor(x-reach)) + 1; float64(k) < x+reach; k++ {
		w := r.kernel((float64(k) - x) * squeeze)
		outside := k < 0 || k >= r.in
		if w == 0 || outside && r.exclude {
			continue
		}
		from, weight = append(from, min(max(k, 0), r.in-1)), append(weight, w)
		sum += w
	}
	if sum != 0 && (r.exclude || squeeze < 1) {
		for i := range weight {
			weight[i] /= sum
		}
	}
	return from, weight
}

// resize goes along one axis after the other.
func resize(c *operator.Call) []*tensor.Tensor {
	x := c.Input()
	plans := resizings(c, x)
	outside := c.Float("extrapolation_value", 0)
	if !x.IsFloat() { // an image of bytes
		y := resizeAll(c, c.AsFloats(x), plans, outside)
		out := c.New(y.Shape, x.Type)
		for i, v := range y.Floats {
			out.Ints[i] = tensor.Wrap(tensor.Round(float64(v)), x.Type)
		}
		return operator.Single(out)
	}
	return operator.Single(resizeAll(c, x, plans, outside))
}

// resizeAll resizes one axis after the other: the kernels of several axes are products of those of each.
func resizeAll(c *operator.Call, x *tensor.Tensor, plans []*resizing, outside float32) *tensor.Tensor {
	for axis, r := range plans {
		if r.in == r.out && r.scale == 1 && r.coordinates != "tf_crop_and_resize" {
			continue
		}
		if r.in == 0 {
			operator.Fail("its input has no values to resize")
		}
		x = resample(c, x, axis, r.plan(), outside)
	}
	return x
}

// resample applies a resampling along an axis.
func resample(c *operator.Call, x *tensor.Tensor, axis int, p *resampling, outside float32) *tensor.Tensor {
	shape := slices.Clone(x.Shape)
	shape[axis] = len(p.from)
	y := c.NewFloats(shape)
	outer, side, inner := tensor.Lines(x.Shape, axis)
	n := len(p.from)
	c.RunRanges(outer*n, 8*y.Len(), func(lo, hi int) {
		for k := lo; k < hi; k++ {
			o, i := k/n, k%n
			to := y.Floats[k*inner : (k+1)*inner]
			if len(p.from[i]) == 1 && p.weight[i][0] == 1 {
				if at := p.from[i][0]; at >= 0 {
					copy(to, x.Floats[(o*side+at)*inner:])
				} else {
					for j := range to {
						to[j] = outside
					}
				}
				continue
			}
			for j := range to {
				var sum float64
				for t, at := range p.from[i] {
					sum += p.weight[i][t] * float64(x.Floats[(o*side+at)*inner+j])
				}
				to[j] = float32(sum)
			}
		}
	})
	return y
}

// resizings reads what is done along each axis. Resize has its sizes in its third or fourth input,
// Upsample and Resize of opset 10 have scales in their second.
func resizings(c *operator.Call, x *tensor.Tensor) []*resizing {
	rank := len(x.Shape)
	plans := make([]*resizing, rank)
	common := resizing{mode: c.Text("mode", "nearest"), nearest: c.Text("nearest_mode", "round_prefer_floor"),
		coordinates: c.Text("coordinate_transformation_mode", "half_pixel"),
		cubic:       float64(c.Float("cubic_coeff_a", -0.75)), exclude: c.Int("exclude_outside", 0) != 0,
		antialias: c.Int("antialias", 0) != 0, scale: 1}
	scaleAt, sizeAt, roiAt := 2, 3, 1
	if c.Node.Op == "Upsample" || c.Opset == 10 {
		scaleAt, sizeAt, roiAt = 1, -1, -1
		common.coordinates, common.nearest = "asymmetric", "floor"
		if common.mode == "bilinear" {
			common.mode = "linear"
		}
	}
	common.check()
	for i := range plans {
		r := common
		r.in, r.out, r.to = x.Shape[i], x.Shape[i], 1
		plans[i] = &r
	}
	axes := operator.AxesOrAll(c.List("axes"), rank)
	var scales []float32
	if c.HasInput(scaleAt) {
		scales = c.In[scaleAt].Floats
	} else if a := c.Node.Attr("scales"); a != nil {
		scales = a.Floats
	}
	switch {
	case len(scales) > 0:
		if len(scales) != len(axes) {
			operator.Fail("it has %d scales for %d axes: the numbers must be equal", len(scales), len(axes))
		}
		for k, i := range axes {
			s := float64(scales[k])
			side := math.Floor(float64(x.Shape[i]) * s)
			if !(s > 0 && side >= 0 && side <= math.MaxInt32) {
				operator.Fail("its scale %g does not fit a side of %d", s, x.Shape[i])
			}
			plans[i].scale, plans[i].out = s, int(side)
		}
	case sizeAt >= 0 && c.HasInput(sizeAt):
		readSizes(c, plans, axes, c.In[sizeAt])
	default:
		operator.Fail("it has neither scales nor sizes")
	}
	if common.coordinates == "tf_crop_and_resize" {
		if !c.HasInput(roiAt) || len(c.In[roiAt].Floats) != 2*len(axes) {
			operator.Fail("its region of interest is not given as numbers")
		}
		for k, i := range axes {
			plans[i].from, plans[i].to = float64(c.In[roiAt].Floats[k]), float64(c.In[roiAt].Floats[len(axes)+k])
		}
	}
	return plans
}

// readSizes reads sizes, which keep the aspect ratio if the model says so.
func readSizes(c *operator.Call, plans []*resizing, axes []int, sizes *tensor.Tensor) {
	want := operator.Must(sizes.Sides())
	if len(want) != len(axes) {
		operator.Fail("it has %d sizes for %d axes: the numbers must be equal", len(want), len(axes))
	}
	policy := c.Text("keep_aspect_ratio_policy", "stretch")
	scale := 0.0
	for k, i := range axes {
		r := plans[i]
		r.out = want[k]
		r.scale = float64(r.out) / float64(max(r.in, 1))
		switch {
		case policy == "not_larger" && (scale == 0 || r.scale < scale),
			policy == "not_smaller" && (scale == 0 || r.scale > scale):
			scale = r.scale
		}
	}
	switch policy {
	case "stretch":
	case "not_larger", "not_smaller":
		for _, i := range axes {
			plans[i].scale = scale
			plans[i].out = int(math.Floor(float64(plans[i].in)*scale + 0.5))
		}
	default:
		operator.Fail("keep_aspect_ratio_policy %q is not supported", policy)
	}
}
