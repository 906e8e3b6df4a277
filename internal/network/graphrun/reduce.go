package graphrun

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

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

// reduceAxes are the axes that a reduction goes over and the shape of what is left.
func (c *call) reduceAxes(shape []int) (axes, to []int) {
	want, ok := c.numbers(1, "axes")
	axes = must(AxesOf(want, len(shape)))
	if (!ok || len(axes) == 0) && c.int("noop_with_empty_axes", 0) == 0 {
		axes = nil
		for i := range shape {
			axes = append(axes, i)
		}
	}
	to = []int{}
	for i, d := range shape {
		switch {
		case !slices.Contains(axes, i):
			to = append(to, d)
		case c.int("keepdims", 1) != 0:
			to = append(to, 1)
		}
	}
	return axes, to
}

func reduce(c *call) []*Tensor {
	c.requireInputs(1)
	x := c.in[0]
	axes, to := c.reduceAxes(x.Shape)
	if x.last && slices.Equal(axes, []int{2, 3}) && (c.n.Op == "ReduceMean" || c.n.Op == "ReduceSum") {
		out := c.overPositions(x, c.n.Op == "ReduceMean")
		return single(out.view(to))
	}
	return single(c.reduceTo(c.n.Op, c.contiguous(x), axes, to))
}

// reduceTo brings the axes that an operator reduces to the end, so that each of its results is that of one row. The
// result has the shape to.
func (c *call) reduceTo(op string, x *Tensor, axes, to []int) *Tensor {
	own := strides(x.Shape)
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
		x = c.gather(x, shape, stride, 0)
	}
	out := c.newLike(x, to)
	if !x.isFloat() {
		f := integerReductions[op]
		if f == nil {
			fail("%s is not supported for integers", op)
		}
		for i := range out.Ints {
			out.Ints[i] = wrapInt(f(x.Ints[i*n:(i+1)*n]), out.typ)
		}
		return out
	}
	f := reduction(op)
	c.runRanges(out.len(), x.len(), func(lo, hi int) {
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

func wholeTotal(v []int64) (sum int64) {
	for _, x := range v {
		sum += x
	}
	return sum
}

func nonEmpty(v []int64) []int64 {
	if len(v) == 0 {
		fail("its input has no values to reduce")
	}
	return v
}

// overPositions sums or averages an image whose channels lie last.
func (c *call) overPositions(x *Tensor, mean bool) *Tensor {
	n, ch := x.Shape[0], x.Shape[1]
	area := x.Shape[2] * x.Shape[3]
	out := c.newFloats([]int{n, ch, 1, 1})
	by := 1.0
	if mean {
		by = float64(area)
	}
	const block = 16
	blocks := (ch + block - 1) / block
	c.runRanges(n*blocks, x.len(), func(lo, hi int) {
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

// lines cuts a tensor along an axis: values of the axis are inner apart, and outer x inner lines
// of them.
func lines(shape []int, axis int) (outer, side, inner int) {
	return size(shape[:axis]), shape[axis], size(shape[axis+1:])
}

func argExtreme(c *call) []*Tensor {
	x := c.input()
	axis := c.axis("axis", 0, len(x.Shape))
	outer, side, inner := lines(x.Shape, axis)
	if side == 0 {
		fail("its input has no values along the axis")
	}
	shape := slices.Clone(x.Shape)
	shape[axis] = 1
	out := c.newInts(shape, onnx.Int64)
	lastOne, largest := c.int("select_last_index", 0) != 0, c.n.Op == "ArgMax"
	for o := range outer {
		for i := range inner {
			best := 0
			at := func(k int) float64 { return x.value((o*side+k)*inner + i) }
			for k := 1; k < side; k++ {
				a, b := at(k), at(best)
				if !largest {
					a, b = b, a
				}
				if a > b || lastOne && a == b {
					best = k
				}
			}
			out.Ints[o*inner+i] = int64(best)
		}
	}
	if c.int("keepdims", 1) == 0 {
		out = out.view(slices.Delete(shape, axis, axis+1))
	}
	return single(out)
}

func cumSum(c *call) []*Tensor {
	x := c.input()
	c.requireInputs(2)
	if c.in[1].len() != 1 {
		fail("its axis is not a single number")
	}
	axis := must(AxisOf(toInt(c.in[1].value(0)), len(x.Shape)))
	out := c.newLike(x, x.Shape)
	outer, side, inner := lines(x.Shape, axis)
	back, without := c.int("reverse", 0) != 0, c.int("exclusive", 0) != 0
	for o := range outer {
		for i := range inner {
			var real float64
			var whole int64
			for s := range side {
				k := s
				if back {
					k = side - 1 - s
				}
				at := (o*side+k)*inner + i
				before, beforeInt := real, whole
				if x.isFloat() {
					real += float64(x.Floats[at])
				} else {
					whole += x.Ints[at]
				}
				if !without {
					before, beforeInt = real, whole
				}
				if x.isFloat() {
					out.Floats[at] = float32(before)
				} else {
					out.Ints[at] = wrapInt(beforeInt, x.typ)
				}
			}
		}
	}
	return single(out)
}

// topK puts equal values in the order in which they stand.
func topK(c *call) []*Tensor {
	x := c.input()
	k := c.int("k", -1)
	if c.hasInput(1) {
		v := c.in[1].integers()
		if len(v) != 1 {
			fail("its k is not a single number")
		}
		k = v[0]
	}
	axis := c.axis("axis", -1, len(x.Shape))
	outer, side, inner := lines(x.Shape, axis)
	if k < 0 || k > int64(side) {
		fail("k is %d, but the axis has %d values", k, side)
	}
	shape := slices.Clone(x.Shape)
	shape[axis] = int(k)
	values := c.newLike(x, shape)
	index := c.newInts(shape, onnx.Int64)
	largest := c.int("largest", 1) != 0
	order := make([]int, side)
	for o := range outer {
		for i := range inner {
			for s := range order {
				order[s] = s
			}
			slices.SortStableFunc(order, func(a, b int) int {
				u, v := x.value((o*side+a)*inner+i), x.value((o*side+b)*inner+i)
				if largest {
					u, v = v, u
				}
				switch {
				case u < v:
					return -1
				case u > v:
					return 1
				}
				return 0
			})
			for s, from := range order[:k] {
				to := (o*int(k)+s)*inner + i
				values.copy(to, x, (o*side+from)*inner+i, 1)
				index.Ints[to] = int64(from)
			}
		}
	}
	return []*Tensor{values, index}
}

// softmax goes over all axes from one on up to opset 12, over that one later.
func softmax(c *call) []*Tensor {
	x := c.floats(0)
	old := c.opset < 13
	otherwise := int64(-1)
	if old {
		otherwise = 1
	}
	axis := c.int("axis", otherwise)
	if old && axis == int64(len(x.Shape)) {
		axis--
	}
	at := must(AxisOf(axis, len(x.Shape)))
	outer, side, inner := lines(x.Shape, at)
	if old {
		side, inner = side*inner, 1
	}
	if inner != 1 { // bring the axis to the end and back
		turned := c.gather(x, []int{outer, inner, side}, []int{side * inner, 1, inner}, 0)
		turned = c.softmaxRows(turned, outer*inner, side)
		out := c.gather(turned, []int{outer, side, inner}, []int{side * inner, 1, side}, 0)
		return single(out.view(x.Shape))
	}
	return single(c.softmaxRows(x, outer, side))
}

func (c *call) softmaxRows(x *Tensor, rows, width int) *Tensor {
	y := c.newFloats(x.Shape)
	if width == 0 {
		return y
	}
	op := c.n.Op
	c.runRanges(rows, 4*x.len(), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			from, to := x.Floats[i*width:(i+1)*width], y.Floats[i*width:(i+1)*width]
			switch op {
			case "LogSoftmax":
				top := simd.Max(from)
				var sum float64
				for _, v := range from {
					sum += math.Exp(float64(v - top))
				}
				less := float64(top) + math.Log(sum)
				for k, v := range from {
					to[k] = float32(float64(v) - less)
				}
			case "Hardmax":
				clear(to)
				best := 0
				for k, v := range from {
					if v > from[best] {
						best = k
					}
				}
				to[best] = 1
			default:
				softmaxRow(to, from)
			}
		}
	})
	return y
}

// softmaxRow computes y = exp(x) / sum of exp(x); y may be x. Values that are far below the
// largest, as those that a mask leaves out, give zero.
func softmaxRow(y, x []float32) {
	top := simd.Max(x)
	if math.IsInf(float64(top), 0) {
		var sum float64
		for i, v := range x {
			e := math.Exp(float64(v) - float64(top))
			y[i] = float32(e)
			sum += e
		}
		simd.Scale(y, float32(1/sum), y)
		return
	}
	const far = -86
	clean := true
	for _, v := range x {
		if v-top < far {
			clean = false
			break
		}
	}
	if clean {
		sum := simd.ExpSum(y, x, top)
		simd.Scale(y, 1/sum, y)
		return
	}
	var sum float64
	for i, v := range x {
		e := math.Exp(float64(v) - float64(top))
		y[i] = float32(e)
		sum += e
	}
	simd.Scale(y, float32(1/sum), y)
}
