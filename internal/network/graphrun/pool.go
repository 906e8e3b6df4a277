package graphrun

import (
	"math"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// pool2 computes the maxima, means or norms under windows.
func pool2(c *call) []*Tensor {
	c.requireInputs(1)
	x := c.in[0]
	if len(x.Shape) < 3 {
		fail("its input of shape %d is not an image", x.Shape)
	}
	w := c.window(x.Shape[2:], nil)
	wantsIndex := len(c.n.out) > 1 && c.n.out[1] >= 0
	if len(x.Shape) == 4 && x.isFloat() && c.n.Op != "LpPool" && !wantsIndex && x.len() > 0 {
		return single(c.poolImage(x, w))
	}
	x = c.contiguous(x)
	return c.poolAny(x, w, wantsIndex)
}

// poolImage pools an image whose channels lie last, all channels of a position at a time.
func (c *call) poolImage(x *Tensor, w *window) *Tensor {
	x = c.channelsLast(x)
	n, ch := x.Shape[0], x.Shape[1]
	y := c.newFloats([]int{n, ch, w.out[0], w.out[1]})
	y.last = true
	largest := c.n.Op == "MaxPool"
	padded := c.int("count_include_pad", 0) != 0
	taps := w.taps()
	area, positions := size(w.in), size(w.out)
	c.runRanges(n*positions, len(y.Floats)*len(taps), func(lo, hi int) {
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
func (w *window) meanDivisor(place []int, inside int, padded bool) float32 {
	if !padded {
		return float32(max(inside, 1))
	}
	n := 1
	for i, d := range w.in {
		from := place[i]*w.stride[i] - w.before[i]
		k := 0
		for t := range w.kernel[i] {
			if at := from + t*w.dilation[i]; at < d+w.after[i] {
				k++
			}
		}
		n *= k
	}
	return float32(max(n, 1))
}

// poolAny pools any number of axes. The places of maxima are those in the whole input.
func (c *call) poolAny(x *Tensor, w *window, wantsIndex bool) []*Tensor {
	y := c.newLike(x, append([]int{x.Shape[0], x.Shape[1]}, w.out...))
	if !x.isFloat() && c.n.Op != "MaxPool" {
		fail("%s is not supported for integers", c.n.Op)
	}
	var index *Tensor
	if wantsIndex {
		if c.int("storage_order", 0) != 0 {
			fail("storage_order 1 is not supported")
		}
		index = c.newInts(y.Shape, onnx.Int64)
	}
	p := float64(c.int("p", 2))
	padded := c.int("count_include_pad", 0) != 0
	taps := w.taps()
	area, positions := size(w.in), size(w.out)
	c.spend(plainWork, y.len(), len(taps))
	place := make([]int, len(w.out))
	for k := range y.len() {
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
			switch c.n.Op {
			case "MaxPool":
				if best < 0 || x.value(off) > x.value(best) {
					best = off
				}
			case "LpPool":
				sum += math.Pow(math.Abs(x.value(off)), p)
			default:
				sum += x.value(off)
			}
		}
		switch {
		case c.n.Op == "MaxPool" && best >= 0:
			y.copy(k, x, best, 1)
		case c.n.Op == "MaxPool":
			y.setValue(k, math.Inf(-1))
		case c.n.Op == "LpPool":
			y.setValue(k, math.Pow(sum, 1/p))
		default:
			y.setValue(k, sum/float64(w.meanDivisor(place, count, padded)))
		}
		if index != nil {
			index.Ints[k] = int64(best)
		}
	}
	if index != nil {
		return []*Tensor{y, index}
	}
	return single(y)
}

func globalPool(c *call) []*Tensor {
	c.requireInputs(1)
	x := c.in[0]
	if len(x.Shape) < 3 || !x.isFloat() {
		fail("its input of shape %d is not an image of floating-point numbers", x.Shape)
	}
	if x.last && c.n.Op == "GlobalAveragePool" {
		return single(c.overPositions(x, true))
	}
	x = c.contiguous(x)
	shape := append([]int{}, x.Shape...)
	for i := range shape[2:] {
		shape[2+i] = 1
	}
	y := c.newFloats(shape)
	n := size(x.Shape[2:])
	p := float64(c.int("p", 2))
	for i := range y.Floats {
		v := x.Floats[i*n : (i+1)*n]
		switch c.n.Op {
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
	return single(y)
}
