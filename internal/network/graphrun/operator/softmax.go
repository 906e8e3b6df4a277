package operator

import (
	"math"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// softmax goes over all axes from one on up to opset 12, over that one later.
func softmax(c *Call) []*tensor.Tensor {
	x := c.Floats(0)
	old := c.Opset < 13
	otherwise := int64(-1)
	if old {
		otherwise = 1
	}
	axis := c.Int("axis", otherwise)
	if old && axis == int64(len(x.Shape)) {
		axis--
	}
	at := Must(tensor.AxisOf(axis, len(x.Shape)))
	outer, side, inner := tensor.Lines(x.Shape, at)
	if old {
		side, inner = side*inner, 1
	}
	if inner != 1 { // bring the axis to the end and back
		turned := c.Gather(x, []int{outer, inner, side}, []int{side * inner, 1, inner}, 0)
		turned = c.softmaxRows(turned, outer*inner, side)
		out := c.Gather(turned, []int{outer, side, inner}, []int{side * inner, 1, side}, 0)
		return Single(out.View(x.Shape))
	}
	return Single(c.softmaxRows(x, outer, side))
}

// softmaxRows computes exp(x - m) / sum of exp(x - m) for each row, where m is its maximum, so that no power
// overflows; its logarithm for LogSoftmax, and 1 at the first maximum for Hardmax.
func (c *Call) softmaxRows(x *tensor.Tensor, rows, width int) *tensor.Tensor {
	y := c.NewFloats(x.Shape)
	if width == 0 {
		return y
	}
	op := c.Node.Op
	c.RunRanges(rows, 4*x.Len(), func(lo, hi int) {
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
				SoftmaxRow(to, from)
			}
		}
	})
	return y
}

// SoftmaxRow computes y = exp(x) / sum of exp(x); y may be x. Values that are far below the
// largest, as those that a mask leaves out, give zero.
func SoftmaxRow(y, x []float32) {
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
