package spatial

import (
	"slices"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// Window is what a convolution or pool does along each axis behind the channels.
type Window struct {
	In, Out        []int
	Kernel, Stride []int
	Dilation       []int
	Before, After  []int // padding; negative: values are left out
}

// readList reads an attribute with a number for each of n axes, from least on; otherwise is used if it is left out.
func readList(c *operator.Call, name string, n, least, otherwise int) []int {
	v := c.List(name)
	out := slices.Repeat([]int{otherwise}, n)
	if v != nil && len(v) != n {
		operator.Fail("%s is %d, but the input has %d axes", name, v, n)
	}
	for i, x := range v {
		if x < int64(least) || x > operator.MaxSide {
			operator.Fail("%s %d: each must be in %d..%d", name, v, least, operator.MaxSide)
		}
		out[i] = int(x)
	}
	return out
}

// NewWindow reads a node's geometry for an input of the given sides, with padding by name resolved. The kernel is
// the attribute kernel_shape if it is nil.
//
// Along each axis the window reaches over r = (kernel-1) dilation + 1 values, and the output has
// (in + before + after - r) / stride + 1 positions, rounded down. With ceil_mode it is rounded up, unless the last
// window would begin in the padding behind the input: ONNX counts no window without a value.
func NewWindow(c *operator.Call, in, kernel []int) *Window {
	n := len(in)
	w := &Window{In: in, Kernel: kernel, Before: make([]int, n), After: make([]int, n), Out: make([]int, n)}
	w.Stride, w.Dilation = readList(c, "strides", n, 1, 1), readList(c, "dilations", n, 1, 1)
	if kernel == nil {
		if c.List("kernel_shape") == nil {
			operator.Fail("it has no kernel_shape")
		}
		w.Kernel = readList(c, "kernel_shape", n, 1, 1)
	}
	w.setPads(c.List("pads"))
	w.checkKernel()
	ceil, auto := c.Int("ceil_mode", 0) != 0, c.Text("auto_pad", "NOTSET")
	for i := range n {
		reach := (w.Kernel[i]-1)*w.Dilation[i] + 1
		switch auto {
		case "NOTSET", "":
		case "VALID":
			w.Before[i], w.After[i] = 0, 0
		case "SAME_UPPER", "SAME_LOWER":
			total := max(0, ((in[i]+w.Stride[i]-1)/w.Stride[i]-1)*w.Stride[i]+reach-in[i])
			w.Before[i], w.After[i] = total/2, total-total/2
			if auto == "SAME_LOWER" {
				w.Before[i], w.After[i] = w.After[i], w.Before[i]
			}
		default:
			operator.Fail("auto_pad %q is not known", auto)
		}
		room := in[i] + w.Before[i] + w.After[i] - reach
		if room < 0 {
			operator.Fail("its kernel of %d is larger than its input of %d", w.Kernel, in)
		}
		w.Out[i] = room/w.Stride[i] + 1
		if ceil && room%w.Stride[i] != 0 && w.Out[i]*w.Stride[i] < in[i]+w.Before[i] {
			w.Out[i]++
		}
	}
	return w
}

// checkKernel reports a kernel of more values than any layer has.
func (w *Window) checkKernel() {
	n := int64(1)
	for _, d := range w.Kernel {
		if n = budget.Product(n, int64(d)); n > operator.MaxSide {
			operator.Fail("its kernel of %d is too large: at most %d values are supported", w.Kernel, operator.MaxSide)
		}
	}
}

// setPads takes padding over: the start of each axis, then the end.
func (w *Window) setPads(v []int64) {
	n := len(w.In)
	if v == nil {
		return
	}
	if len(v) != 2*n {
		operator.Fail("pads is %d, but the input has %d axes: two pads for each axis are needed", v, n)
	}
	for i, p := range v {
		if p < -operator.MaxSide || p > operator.MaxSide {
			operator.Fail("pads %d: each must be in %d..%d", v, -operator.MaxSide, operator.MaxSide)
		}
		if i < n {
			w.Before[i] = int(p)
		} else {
			w.After[i-n] = int(p)
		}
	}
}

// taps lists the offsets of a window's values within an input whose axes lie as its shape says,
// relative to its first, and the place of each along every axis.
func (w *Window) taps() (places [][]int) {
	n := tensor.Size(w.Kernel)
	for t := range n {
		place := make([]int, len(w.Kernel))
		rest := t
		for i := len(place) - 1; i >= 0; i-- {
			place[i] = rest % w.Kernel[i] * w.Dilation[i]
			rest /= w.Kernel[i]
		}
		places = append(places, place)
	}
	return places
}

// inside returns the offset of a tap of the window at place, or -1 outside the input.
func (w *Window) inside(place, tap []int) int {
	off := 0
	for i, d := range w.In {
		at := place[i]*w.Stride[i] - w.Before[i] + tap[i]
		if at < 0 || at >= d {
			return -1
		}
		off = off*d + at
	}
	return off
}

// place returns where a number of the output lies along each axis.
func (w *Window) place(i int, to []int) {
	for k := len(w.Out) - 1; k >= 0; k-- {
		to[k] = i % w.Out[k]
		i /= w.Out[k]
	}
}

// IsDense reports windows that have no gaps.
func (w *Window) IsDense() bool {
	return !slices.ContainsFunc(w.Dilation, func(d int) bool { return d != 1 })
}
