package spatial

import (
	"math"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// pool2 computes the maxima, means or norms under windows.
func pool2(c *operator.Call) []*tensor.Tensor {
	c.RequireInputs(1)
	x := c.In[0]
	if len(x.Shape) < 3 {
		operator.Fail("its input of shape %d is not an image", x.Shape)
	}
	w := NewWindow(c, x.Shape[2:], nil)
	wantsIndex := c.Wants(1)
	if len(x.Shape) == 4 && x.IsFloat() && c.Node.Op != "LpPool" && !wantsIndex && x.Len() > 0 {
		return operator.Single(poolImage(c, x, w))
	}
	x = c.Contiguous(x)
	return poolAny(c, x, w, wantsIndex)
}

// poolImage pools an image whose channels lie last, all channels of a position at a time.
func poolImage(c *operator.Call, x *tensor.Tensor, w *Window) *tensor.Tensor {
	x = c.ChannelsLast(x)
	n, ch := x.Shape[0], x.Shape[1]
	y := c.NewFloats([]int{n, ch, w.Out[0], w.Out[1]})
	y.Last = true
	largest := c.Node.Op == "MaxPool"
	padded := c.Int("count_include_pad", 0) != 0
	taps := w.taps()
	area, positions := tensor.Size(w.In), tensor.Size(w.Out)
	c.RunRanges(n*positions, len(y.Floats)*len(taps), func(lo, hi int) {
		place := make([]int, 2)
		for k := lo; k < hi; k++ {
			i, p := k/positions, k%positions
			w.place(p, place)
			to := y.Floats[k*ch : (k+1)*ch]
			count := 0
			for _, tap := range taps {
				off := w.inside(place, tap)
				if off < 0 {
					continue
				}
				from := x.Floats[(i*area+off)*ch:][:ch]
				switch {
				case count == 0:
					copy(to, from)
				case largest:
					simd.Larger(to, to, from)
				default:
					simd.AddClamp(to, to, from, simd.Linear())
				}
				count++
			}
			if count == 0 {
				none := float32(0)
				if largest {
					none = float32(math.Inf(-1))
				}
				for j := range to {
					to[j] = none
				}
			}
			if !largest {
				by := w.meanDivisor(place, count, padded)
				for j, v := range to {
					to[j] = v / by
				}
			}
		}
	})
	return y
}

// meanDivisor is what a mean is divided by: the values in the window or, with padding, also those that
// padding adds, but not what lies behind it where the number of positions was rounded up.
func (w *Window) meanDivisor(place []int, inside int, padded bool) float32 {
	if !padded {
		return float32(max(inside, 1))
	}
	n := 1
	for i, d := range w.In {
		from := place[i]*w.Stride[i] - w.Before[i]
		k := 0
		for t := range w.Kernel[i] {
			if at := from + t*w.Dilation[i]; at < d+w.After[i] {
				k++
			}
		}
		n *= k
	}
	return float32(max(n, 1))
}

// poolAny pools any number of axes. The places of maxima are those in the whole input.
func poolAny(c *operator.Call, x *tensor.Tensor, w *Window, wantsIndex bool) []*tensor.Tensor {
	y := c.NewLike(x, append([]int{x.Shape[0], x.Shape[1]}, w.Out...))
	if !x.IsFloat() && c.Node.Op != "MaxPool" {
		operator.Fail("%s is not supported for integers", c.Node.Op)
	}
	var index *tensor.Tensor
	if wantsIndex {
		if c.Int("storage_order", 0) != 0 {
			operator.Fail("storage_order 1 is not supported")
		}
		index = c.New(y.Shape, onnx.Int64)
	}
	p := float64(c.Int("p", 2))
	padded := c.Int("count_include_pad", 0) != 0
	taps := w.taps()
	area, positions := tensor.Size(w.In), tensor.Size(w.Out)
	c.Spend(operator.PlainWork, y.Len(), len(taps))
	place := make([]int, len(w.Out))
	for k := range y.Len() {
		plane := k / positions
		w.place(k%positions, place)
		best, sum, count := -1, 0.0, 0
		for _, tap := range taps {
			off := w.inside(place, tap)
			if off < 0 {
				continue
			}
			count++
			off += plane * area
			switch c.Node.Op {
			case "MaxPool":
				if best < 0 || x.Value(off) > x.Value(best) {
					best = off
				}
			case "LpPool":
				sum += math.Pow(math.Abs(x.Value(off)), p)
			default:
				sum += x.Value(off)
			}
		}
		switch {
		case c.Node.Op == "MaxPool" && best >= 0:
			y.Copy(k, x, best, 1)
		case c.Node.Op == "MaxPool":
			y.SetValue(k, math.Inf(-1))
		case c.Node.Op == "LpPool":
			y.SetValue(k, math.Pow(sum, 1/p))
		default:
			y.SetValue(k, sum/float64(w.meanDivisor(place, count, padded)))
		}
		if index != nil {
			index.Ints[k] = int64(best)
		}
	}
	if index != nil {
		return []*tensor.Tensor{y, index}
	}
	return operator.Single(y)
}
