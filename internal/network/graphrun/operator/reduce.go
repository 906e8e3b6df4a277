package operator

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// globalPool is the mean, the maximum or the norm (sum of |x|^p)^(1/p) of each channel.
func globalPool(c *Call) []*tensor.Tensor {
	c.RequireInputs(1)
	x := c.In[0]
	if len(x.Shape) < 3 || !x.IsFloat() {
		Fail("its input of shape %d is not an image of floating-point numbers", x.Shape)
	}
	if x.Last && c.Node.Op == "GlobalAveragePool" {
		return Single(c.overPositions(x, true))
	}
	x = c.Contiguous(x)
	shape := append([]int{}, x.Shape...)
	for i := range shape[2:] {
		shape[2+i] = 1
	}
	y := c.NewFloats(shape)
	n := tensor.Size(x.Shape[2:])
	p := float64(c.Int("p", 2))
	for i := range y.Floats {
		v := x.Floats[i*n : (i+1)*n]
		switch c.Node.Op {
		case "GlobalAveragePool":
			y.Floats[i] = float32(total(v) / float64(n))
		case "GlobalMaxPool":
			y.Floats[i] = float32(reduction("ReduceMax")(v))
		default:
			var sum float64
			for _, u := range v {
				sum += math.Pow(math.Abs(float64(u)), p)
			}
			y.Floats[i] = float32(math.Pow(sum, 1/p))
		}
	}
	return Single(y)
}

// reduction computes one value from many.
func reduction(op string) func(v []float32) float64 {
	sum := func(v []float32, f func(float64) float64) float64 {
		var s float64
		for _, x := range v {
			s += f(float64(x))
		}
		return s
	}
	square := func(v float64) float64 { return v * v }
	switch op {
	case "ReduceSum":
		return total
	case "ReduceMean":
		return func(v []float32) float64 { return total(v) / float64(len(v)) }
	case "ReduceSumSquare":
		return func(v []float32) float64 { return sum(v, square) }
	case "ReduceL1":
		return func(v []float32) float64 { return sum(v, math.Abs) }
	case "ReduceL2":
		return func(v []float32) float64 { return math.Sqrt(sum(v, square)) }
	case "ReduceLogSum":
		return func(v []float32) float64 { return math.Log(total(v)) }
	case "ReduceLogSumExp":
		return func(v []float32) float64 {
			top := float64(simd.Max(v))
			if math.IsInf(top, 0) {
				return top
			}
			return top + math.Log(sum(v, func(x float64) float64 { return math.Exp(x - top) }))
		}
	case "ReduceProd":
		return func(v []float32) float64 {
			p := 1.0
			for _, x := range v {
				p *= float64(x)
			}
			return p
		}
	case "ReduceMax":
		return func(v []float32) float64 { return extreme(v, func(a, b float32) float32 { return max(a, b) }, -1) }
	case "ReduceMin":
		return func(v []float32) float64 { return extreme(v, func(a, b float32) float32 { return min(a, b) }, 1) }
	}
	return nil
}

// extreme is the result of f over all values. That of none is the infinity which any value replaces.
func extreme(v []float32, f func(a, b float32) float32, sign int) float64 {
	if len(v) == 0 {
		return math.Inf(sign)
	}
	m := v[0]
	for _, x := range v[1:] {
		m = f(m, x)
	}
	return float64(m)
}

// total is the sum in float64, of four runs side by side.
func total(v []float32) float64 {
	var s [4]float64
	n := len(v) &^ 3
	for i := 0; i < n; i += 4 {
		s[0] += float64(v[i])
		s[1] += float64(v[i+1])
		s[2] += float64(v[i+2])
		s[3] += float64(v[i+3])
	}
	for _, x := range v[n:] {
		s[0] += float64(x)
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

// ReduceAxes are the axes that a reduction goes over and the shape of what is left.
func (c *Call) ReduceAxes(shape []int) (axes, to []int) {
	want, ok := c.Numbers(1, "axes")
	axes = Must(tensor.AxesOf(want, len(shape)))
	if (!ok || len(axes) == 0) && c.Int("noop_with_empty_axes", 0) == 0 {
		axes = AxesOrAll(nil, len(shape))
	}
	to = []int{}
	for i, d := range shape {
		switch {
		case !slices.Contains(axes, i):
			to = append(to, d)
		case c.Int("keepdims", 1) != 0:
			to = append(to, 1)
		}
	}
	return axes, to
}

// reduce is one of the reductions of ONNX. Floating-point sums are in float64: their order then hardly counts.
func reduce(c *Call) []*tensor.Tensor {
	c.RequireInputs(1)
	x := c.In[0]
	axes, to := c.ReduceAxes(x.Shape)
	if x.Last && slices.Equal(axes, []int{2, 3}) && (c.Node.Op == "ReduceMean" || c.Node.Op == "ReduceSum") {
		out := c.overPositions(x, c.Node.Op == "ReduceMean")
		return Single(out.View(to))
	}
	return Single(c.ReduceTo(c.Node.Op, c.Contiguous(x), axes, to))
}

// ReduceTo brings the axes that an operator reduces to the end, so that each of its results is that of one row. The
// result has the shape to.
func (c *Call) ReduceTo(op string, x *tensor.Tensor, axes, to []int) *tensor.Tensor {
	own := tensor.Strides(x.Shape)
	var shape, stride []int
	n := 1
	for i, d := range x.Shape {
		if !slices.Contains(axes, i) {
			shape, stride = append(shape, d), append(stride, own[i])
		}
	}
	for _, i := range axes {
		shape, stride = append(shape, x.Shape[i]), append(stride, own[i])
		n *= x.Shape[i]
	}
	if !slices.Equal(shape, x.Shape) || !slices.Equal(stride, own) {
		x = c.Gather(x, shape, stride, 0)
	}
	out := c.NewLike(x, to)
	if !x.IsFloat() {
		f := integerReductions[op]
		if f == nil {
			Fail("%s is not supported for integers", op)
		}
		for i := range out.Ints {
			out.Ints[i] = tensor.Wrap(f(x.Ints[i*n:(i+1)*n]), out.Type)
		}
		return out
	}
	f := reduction(op)
	c.RunRanges(out.Len(), x.Len(), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			out.Floats[i] = float32(f(x.Floats[i*n : (i+1)*n]))
		}
	})
	return out
}

// integerReductions are the reductions that ONNX defines for integers. A sum wraps as arithmetic of int64 does.
var integerReductions = map[string]func(v []int64) int64{
	"ReduceSum":  wholeTotal,
	"ReduceMean": func(v []int64) int64 { return wholeTotal(v) / int64(max(len(v), 1)) },
	"ReduceProd": func(v []int64) int64 {
		p := int64(1)
		for _, x := range v {
			p *= x
		}
		return p
	},
	"ReduceMax": func(v []int64) int64 { return slices.Max(nonEmpty(v)) },
	"ReduceMin": func(v []int64) int64 { return slices.Min(nonEmpty(v)) },
}

// wholeTotal is a sum that wraps.
func wholeTotal(v []int64) (sum int64) {
	for _, x := range v {
		sum += x
	}
	return sum
}

// nonEmpty refuses an extreme of no integers, which have no infinity.
func nonEmpty(v []int64) []int64 {
	if len(v) == 0 {
		Fail("its input has no values to reduce")
	}
	return v
}

// overPositions sums or averages an image whose channels lie last.
func (c *Call) overPositions(x *tensor.Tensor, mean bool) *tensor.Tensor {
	n, ch := x.Shape[0], x.Shape[1]
	area := x.Shape[2] * x.Shape[3]
	out := c.NewFloats([]int{n, ch, 1, 1})
	by := 1.0
	if mean {
		by = float64(area)
	}
	const block = 16
	blocks := (ch + block - 1) / block
	c.RunRanges(n*blocks, x.Len(), func(lo, hi int) {
		for k := lo; k < hi; k++ {
			i, from := k/blocks, k%blocks*block
			to := min(from+block, ch)
			var sum [block]float64
			for p := range area {
				for j, v := range x.Floats[(i*area+p)*ch+from : (i*area+p)*ch+to] {
					sum[j] += float64(v)
				}
			}
			for j := from; j < to; j++ {
				out.Floats[i*ch+j] = float32(sum[j-from] / by)
			}
		}
	})
	return out
}
