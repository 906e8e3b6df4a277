package graphrun

import (
	"slices"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// window is what a convolution or pool does along each axis behind the channels.
type window struct {
	in, out        []int
	kernel, stride []int
	dilation       []int
	before, after  []int // padding; negative: values are left out
}

// maxSide bounds what a window's attributes may say.
const maxSide = 1 << 20

// window reads a node's geometry for an input of the given sides, with padding by name resolved.
func (c *call) window(in, kernel []int) *window {
	n := len(in)
	list := func(name string, otherwise int) []int {
		v := c.list(name)
		out := make([]int, n)
		for i := range out {
			out[i] = otherwise
		}
		if v == nil {
			return out
		}
		if len(v) != n {
			fail("%s is %d, but the input has %d axes", name, v, n)
		}
		for i, x := range v {
			if x < 1 || x > maxSide {
				fail("%s %d: each must be in 1..%d", name, v, maxSide)
			}
			out[i] = int(x)
		}
		return out
	}
	w := &window{in: in, kernel: kernel, before: make([]int, n), after: make([]int, n), out: make([]int, n)}
	w.stride = list("strides", 1)
	w.dilation = list("dilations", 1)
	if kernel == nil {
		if c.list("kernel_shape") == nil {
			fail("it has no kernel_shape")
		}
		w.kernel = list("kernel_shape", 1)
	}
	w.setPads(c.list("pads"))
	w.checkKernel()
	ceil, auto := c.int("ceil_mode", 0) != 0, c.text("auto_pad", "NOTSET")
	for i := range n {
		reach := (w.kernel[i]-1)*w.dilation[i] + 1
		switch auto {
		case "NOTSET", "":
		case "VALID":
			w.before[i], w.after[i] = 0, 0
		case "SAME_UPPER", "SAME_LOWER":
			total := max(0, ((in[i]+w.stride[i]-1)/w.stride[i]-1)*w.stride[i]+reach-in[i])
			w.before[i], w.after[i] = total/2, total-total/2
			if auto == "SAME_LOWER" {
				w.before[i], w.after[i] = w.after[i], w.before[i]
			}
		default:
			fail("auto_pad %q is not known", auto)
		}
		room := in[i] + w.before[i] + w.after[i] - reach
		if room < 0 {
			fail("its kernel of %d is larger than its input of %d", w.kernel, in)
		}
		w.out[i] = room/w.stride[i] + 1
		if ceil && room%w.stride[i] != 0 && w.out[i]*w.stride[i] < in[i]+w.before[i] {
			w.out[i]++
		}
	}
	return w
}

// checkKernel reports a kernel of more values than any layer has.
func (w *window) checkKernel() {
	n := int64(1)
	for _, d := range w.kernel {
		if n = budget.Product(n, int64(d)); n > maxSide {
			fail("its kernel of %d is too large: at most %d values are supported", w.kernel, maxSide)
		}
	}
}

// setPads takes padding over: the start of each axis, then the end.
func (w *window) setPads(v []int64) {
	n := len(w.in)
	if v == nil {
		return
	}
	if len(v) != 2*n {
		fail("pads is %d, but the input has %d axes: two pads for each axis are needed", v, n)
	}
	for i, p := range v {
		if p < -maxSide || p > maxSide {
			fail("pads %d: each must be in %d..%d", v, -maxSide, maxSide)
		}
		if i < n {
			w.before[i] = int(p)
		} else {
			w.after[i-n] = int(p)
		}
	}
}

// taps lists the offsets of a window's values within an input whose axes lie as its shape says,
// relative to its first, and the place of each along every axis.
func (w *window) taps() (places [][]int) {
	n := size(w.kernel)
	for t := range n {
		place := make([]int, len(w.kernel))
		rest := t
		for i := len(place) - 1; i >= 0; i-- {
			place[i] = rest % w.kernel[i] * w.dilation[i]
			rest /= w.kernel[i]
		}
		places = append(places, place)
	}
	return places
}

// inside returns the offset of a tap of the window at place, or -1 outside the input.
func (w *window) inside(place, tap []int) int {
	off := 0
	for i, d := range w.in {
		at := place[i]*w.stride[i] - w.before[i] + tap[i]
		if at < 0 || at >= d {
			return -1
		}
		off = off*d + at
	}
	return off
}

// place returns where a number of the output lies along each axis.
func (w *window) place(i int, to []int) {
	for k := len(w.out) - 1; k >= 0; k-- {
		to[k] = i % w.out[k]
		i /= w.out[k]
	}
}

// plain reports windows that have no gaps.
func (w *window) isDense() bool {
	return !slices.ContainsFunc(w.dilation, func(d int) bool { return d != 1 })
}
