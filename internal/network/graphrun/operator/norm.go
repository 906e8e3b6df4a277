package operator

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// BatchNormAffine is the scale and shift of each channel that a batch norm comes to.
func (c *Call) BatchNormAffine(channels int) (scale, shift []float32) {
	var v [4][]float32
	for i := range v {
		t := c.Floats(i + 1)
		if t.Len() != channels {
			Fail("it has %d values for %d channels: the numbers must be equal", t.Len(), channels)
		}
		v[i] = t.Floats
	}
	eps := float64(c.Float("epsilon", 1e-5))
	scale, shift = make([]float32, channels), make([]float32, channels)
	for i := range scale {
		a := float64(v[0][i]) / math.Sqrt(float64(v[3][i])+eps)
		scale[i] = float32(a)
		shift[i] = float32(float64(v[1][i]) - a*float64(v[2][i]))
	}
	return scale, shift
}

// batchNorm is y = scale (x - mean) / sqrt(variance + epsilon) + bias for each channel, with the statistics of
// training.
func batchNorm(c *Call) []*tensor.Tensor {
	c.RequireInputs(5)
	x := c.In[0]
	if len(x.Shape) < 2 || !x.IsFloat() {
		Fail("its input of shape %d has no channels", x.Shape)
	}
	scale, shift := c.BatchNormAffine(x.Shape[1])
	return Single(c.scaleChannels(x, scale, shift))
}

// scaleChannels computes a x + b for each channel.
func (c *Call) scaleChannels(x *tensor.Tensor, a, b []float32) *tensor.Tensor {
	y := c.NewFloats(x.Shape)
	if y.Len() == 0 {
		return y
	}
	y.Last = x.Last
	ch := x.Shape[1]
	if x.Last || len(x.Shape) == 2 {
		c.RunRanges(x.Len()/ch, x.Len(), func(lo, hi int) {
			simd.ScaleShift(y.Floats[lo*ch:hi*ch], x.Floats[lo*ch:hi*ch], a, b, simd.Linear())
		})
		return y
	}
	n := tensor.Size(x.Shape[2:])
	c.RunRanges(x.Shape[0]*ch, x.Len(), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			to, s, t := y.Floats[i*n:(i+1)*n], a[i%ch], b[i%ch]
			for k, v := range x.Floats[i*n : (i+1)*n] {
				to[k] = s*v + t
			}
		}
	})
	return y
}

// moments are the mean and the variance of values, in float64.
func moments(v []float32) (mean, variance float64) {
	mean = total(v) / float64(len(v))
	var s [2]float64
	for i, x := range v {
		d := float64(x) - mean
		s[i&1] += d * d
	}
	return mean, (s[0] + s[1]) / float64(len(v))
}

// groupNorm normalises each image over groups of channels: of InstanceNormalization each channel
// is one. Up to opset 20 GroupNormalization has a scale for each group.
func groupNorm(c *Call) []*tensor.Tensor {
	x := c.Floats(0)
	if len(x.Shape) < 3 || x.Len() == 0 {
		Fail("its input of shape %d is not an image", x.Shape)
	}
	n, ch := x.Shape[0], x.Shape[1]
	groups := ch
	if c.Node.Op == "GroupNormalization" {
		groups = c.Count("num_groups", 0)
	}
	if groups < 1 || ch%groups != 0 {
		Fail("num_groups is %d, which does not divide %d channels", groups, ch)
	}
	var affine [2][]float32
	for i := range affine {
		t := c.Floats(i + 1)
		affine[i] = t.Floats
		if t.Len() == groups && groups != ch {
			affine[i] = nil
			for _, v := range t.Floats {
				affine[i] = append(affine[i], slices.Repeat([]float32{v}, ch/groups)...)
			}
		}
		if len(affine[i]) != ch {
			Fail("it has %d values for %d channels: the numbers must be equal", t.Len(), ch)
		}
	}
	y := c.NewFloats(x.Shape)
	eps := float64(c.Float("epsilon", 1e-5))
	area := tensor.Size(x.Shape[2:])
	few := ch / groups
	c.RunRanges(n*groups, 4*x.Len(), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			mean, variance := moments(x.Floats[i*few*area : (i+1)*few*area])
			inv := 1 / math.Sqrt(variance+eps)
			for k := range few {
				a := float64(affine[0][i%groups*few+k]) * inv
				b := float64(affine[1][i%groups*few+k]) - a*mean
				row := (i*few + k) * area
				to := y.Floats[row : row+area]
				for j, v := range x.Floats[row : row+area] {
					to[j] = float32(a*float64(v) + b)
				}
			}
		}
	})
	return Single(y)
}

// layerNorm is LayerNormalization or, without the mean, RMSNormalization over the axes from one on.
func layerNorm(c *Call) []*tensor.Tensor {
	x := c.Floats(0)
	return c.normalizeRows(x, c.Node.Op != "RMSNormalization" && c.Node.Op != "SimplifiedLayerNormalization", 1, 2)
}

// normalizeRows computes (x - mean) / sqrt(variance + epsilon) or, if it is not centred,
// x / sqrt(mean of x^2 + epsilon), for each row of the axes from one on, times a scale plus a bias, which are
// inputs of these numbers.
func (c *Call) normalizeRows(x *tensor.Tensor, centred bool, weights ...int) []*tensor.Tensor {
	axis := c.Axis("axis", -1, len(x.Shape))
	width := tensor.Size(x.Shape[axis:])
	if width == 0 || x.Len() == 0 {
		Fail("its input of shape %d has no values to normalize", x.Shape)
	}
	rows := x.Len() / width
	usual := float32(1e-5)
	if isSkip(c.Node.Op) {
		usual = 1e-12
	}
	eps := c.Float("epsilon", usual)
	affine := [2][]float32{slices.Repeat([]float32{1}, width), make([]float32, width)}
	for i, at := range weights {
		if !c.HasInput(at) {
			continue
		}
		t := c.Floats(at)
		if s, err := tensor.Broadcast(t.Shape, x.Shape[axis:]); err != nil || tensor.Size(s) != width {
			Fail("its weights of shape %d do not fit values of shape %d", t.Shape, x.Shape[axis:])
		}
		c.BroadcastEach(x.Shape[axis:], [][]int{leadingOnes(t.Shape, len(x.Shape)-axis)},
			func(k int, at []int) { affine[i][k] = t.Floats[at[0]] })
	}
	y := c.NewFloats(x.Shape)
	stats := c.NewFloats([]int{2 * rows})
	c.RunRanges(rows, 4*x.Len(), func(lo, hi int) {
		if centred {
			simd.LayerNorm(y.Floats[lo*width:hi*width], x.Floats[lo*width:hi*width], affine[0], affine[1],
				stats.Floats[2*lo:2*hi], eps)
			return
		}
		for i := lo; i < hi; i++ {
			v, to := x.Floats[i*width:(i+1)*width], y.Floats[i*width:(i+1)*width]
			var sum float64
			for _, u := range v {
				sum += float64(u) * float64(u)
			}
			inv := 1 / math.Sqrt(sum/float64(width)+float64(eps))
			stats.Floats[2*i], stats.Floats[2*i+1] = 0, float32(inv)
			for k, u := range v {
				to[k] = float32(float64(u)*inv)*affine[0][k] + affine[1][k]
			}
		}
	})
	return c.withStatistics(y, stats, axis, centred)
}

// leadingOnes leaves out sides of 1 in front of the last n.
func leadingOnes(shape []int, n int) []int {
	for len(shape) > n && shape[0] == 1 {
		shape = shape[1:]
	}
	return shape
}

// withStatistics adds the outputs of the means and the inverse deviations, where they are asked for.
func (c *Call) withStatistics(y, stats *tensor.Tensor, axis int, centred bool) []*tensor.Tensor {
	out := []*tensor.Tensor{y}
	shape := slices.Clone(y.Shape)
	for i := axis; i < len(shape); i++ {
		shape[i] = 1
	}
	first := 0
	if !centred {
		first = 1
	}
	for k := first; k < 2 && len(c.Node.Outputs) > len(out) && !isSkip(c.Node.Op); k++ {
		t := c.NewFloats(shape)
		for i := range t.Floats {
			t.Floats[i] = stats.Floats[2*i+k]
		}
		out = append(out, t)
	}
	return out
}

// isSkip tells the layer norms of a sum, whose epsilon is 1e-12 by default, and which return no statistics.
func isSkip(op string) bool {
	return op == "SkipLayerNormalization" || op == "SkipSimplifiedLayerNormalization"
}

// skipLayerNorm is a layer norm of the sum of two inputs and a bias, which it returns as its fourth
// output.
func skipLayerNorm(c *Call) []*tensor.Tensor {
	c.RequireInputs(3)
	if !c.In[0].IsFloat() {
		Fail("its input must hold floating-point numbers")
	}
	centred := c.Node.Op == "SkipLayerNormalization"
	sum := c.Pair("Add", c.In[0], c.In[1])
	bias := 4
	if !centred {
		bias = 3
	}
	if c.HasInput(bias) {
		sum = c.Pair("Add", sum, c.In[bias])
	}
	weights := []int{2}
	if centred {
		weights = append(weights, 3)
	}
	sum = c.Contiguous(sum)
	return []*tensor.Tensor{c.normalizeRows(sum, centred, weights...)[0], nil, nil, sum}
}

// lpNorm is y = x / |x|_p along an axis. A row of zeros stays zero.
func lpNorm(c *Call) []*tensor.Tensor {
	x := c.Floats(0)
	axis := c.Axis("axis", -1, len(x.Shape))
	p := c.Int("p", 2)
	if p != 1 && p != 2 {
		Fail("p is %d: only norms of order 1 and 2 are supported", p)
	}
	y := c.NewFloats(x.Shape)
	outer, side, inner := tensor.Lines(x.Shape, axis)
	for o := range outer {
		for i := range inner {
			var sum float64
			for k := range side {
				v := math.Abs(float64(x.Floats[(o*side+k)*inner+i]))
				if p == 2 {
					v *= v
				}
				sum += v
			}
			if p == 2 {
				sum = math.Sqrt(sum)
			}
			if sum == 0 {
				sum = 1
			}
			for k := range side {
				at := (o*side+k)*inner + i
				y.Floats[at] = float32(float64(x.Floats[at]) / sum)
			}
		}
	}
	return Single(y)
}

// lrn is y = x / (bias + alpha/size sum of x^2 over size neighbouring channels)^beta. Of an even size the channel
// itself stands left of the middle.
func lrn(c *Call) []*tensor.Tensor {
	x := c.Floats(0)
	wide := max(c.Count("size", 1), 1)
	alpha, beta, bias := float64(c.Float("alpha", 1e-4)), float64(c.Float("beta", 0.75)), float64(c.Float("bias", 1))
	if len(x.Shape) < 3 {
		Fail("its input of shape %d is not an image", x.Shape)
	}
	y := c.NewFloats(x.Shape)
	ch, area := x.Shape[1], tensor.Size(x.Shape[2:])
	c.Spend(PlainWork, y.Len(), min(wide, ch))
	before, after := (wide-1)/2, wide-1-(wide-1)/2
	for i := range y.Floats {
		n, k, p := i/(ch*area), i/area%ch, i%area
		var sum float64
		for j := max(0, k-before); j <= min(ch-1, k+after); j++ {
			v := float64(x.Floats[(n*ch+j)*area+p])
			sum += v * v
		}
		y.Floats[i] = float32(float64(x.Floats[i]) / math.Pow(bias+alpha/float64(wide)*sum, beta))
	}
	return Single(y)
}

// meanVariance is (x - mean) / (deviation + 1e-9) over the attribute axes, by default all but the channels. The values
// of one result may lie apart in memory: they are gathered first.
func meanVariance(c *Call) []*tensor.Tensor {
	x := c.Floats(0)
	list := c.List("axes")
	if list == nil {
		list = []int64{0, 2, 3}
	}
	axes := Must(tensor.AxesOf(list, len(x.Shape)))
	own := tensor.Strides(x.Shape)
	kept, over := slices.Clone(x.Shape), slices.Repeat([]int{1}, len(x.Shape))
	for _, i := range axes {
		kept[i], over[i] = 1, x.Shape[i]
	}
	y := c.NewFloats(x.Shape)
	if x.Len() == 0 {
		return Single(y)
	}
	offsets := func(shape []int) (list []int) {
		r := tensor.NewRows(shape, own)
		r.Walk(0, r.Count(), func(_ int, at []int) {
			for i := range r.Width() {
				list = append(list, at[0]+i*r.Stride(0))
			}
		})
		return list
	}
	steps := offsets(over)
	values := make([]float32, len(steps))
	for _, from := range offsets(kept) {
		for i, d := range steps {
			values[i] = x.Floats[from+d]
		}
		mean, variance := moments(values)
		for _, d := range steps {
			y.Floats[from+d] = float32((float64(x.Floats[from+d]) - mean) / (math.Sqrt(variance) + 1e-9))
		}
	}
	return Single(y)
}
