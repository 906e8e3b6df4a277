package graphrun

import (
	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/conv"
	"github.com/kindred-ml/kindred/matrix"
)

// filters are those of a convolution of images, channels last, which its kernel keeps packed.
type filters struct {
	w      []float32
	packed conv.Filters
}

// convolution computes images without gaps by the engine, all else by products.
func convolution(c *call) []*Tensor {
	c.requireInputs(2)
	x, ws := c.in[0], c.in[1].Shape
	if len(x.Shape) < 3 || len(ws) != len(x.Shape) || !x.isFloat() || !c.in[1].isFloat() {
		fail("its filters of shape %d do not fit an input of shape %d", ws, x.Shape)
	}
	groups := c.int("group", 1)
	if groups < 1 || groups > maxSide || ws[1]*int(groups) != x.Shape[1] || ws[0]%int(groups) != 0 || ws[0] < 1 ||
		size(ws) == 0 {
		fail("its filters of shape %d in %d groups do not fit an input of shape %d", ws, groups,
			x.Shape)
	}
	w := c.window(x.Shape[2:], ws[2:])
	var y *Tensor
	if len(ws) == 4 && w.isDense() && x.len() > 0 {
		y = c.convImage(w, int(groups))
	} else {
		y = c.convAny(w, int(groups))
	}
	if c.hasInput(3) { // of FusedConv
		y = c.pair("Add", y, c.in[3])
	}
	return c.activate(y)
}

// bias is an input of one value for each of n channels, nil if it is left out.
func (c *call) bias(i, n int) []float32 {
	if !c.hasInput(i) {
		return nil
	}
	b := c.floats(i)
	if b.len() != n {
		fail("it has %d biases for %d channels: the numbers must be equal", b.len(), n)
	}
	return b.Floats
}

func (c *call) convImage(w *window, groups int) *Tensor {
	x, ws := c.in[0], c.in[1].Shape
	out := ws[0]
	bias := c.bias(2, out)
	f, kept := c.n.state.(*filters)
	if !kept {
		v := &c.values[c.n.in[1]]
		t := c.in[1]
		f = &filters{packed: conv.Filters{Precise: true}}
		switch {
		case v.constant != nil && v.layout == ChannelsLast:
			f.w = t.Floats
		default:
			if v.constant != nil {
				t = v.inOrder()
			} else {
				t = c.contiguous(t)
			}
			f.w = make([]float32, len(t.Floats))
			c.turn(f.w, t.Floats, out, ws[1], ws[2]*ws[3])
		}
		if v.constant != nil {
			f.packed.Constant = true
			c.n.state = f
		}
	}
	before, after := [2]int{w.before[0], w.before[1]}, [2]int{w.after[0], w.after[1]}
	if before[0] < 0 || before[1] < 0 || after[0] < before[0] || after[1] < before[1] {
		x = c.contiguous(x)
		zero := floatsOf([]int{1}, []float32{0})
		x = c.pad(x, []int{0, 0, before[0], before[1]}, []int{0, 0, after[0], after[1]}, "constant",
			zero)
		before, after = [2]int{}, [2]int{}
	}
	x = c.channelsLast(x)
	s := conv.Shape{N: x.Shape[0], H: x.Shape[2], W: x.Shape[3], C: x.Shape[1], K: out, R: ws[2], S: ws[3],
		StrideH: w.stride[0], StrideW: w.stride[1], PadH: before[0], PadW: before[1], EndH: after[0] - before[0],
		EndW: after[1] - before[1], Groups: groups}
	check(s.Check())
	shape := []int{s.N, out, s.OutH(), s.OutW()}
	y := c.newFloats(shape)
	y.last = true
	e := c.epilogue(shape, true)
	if e.Shift == nil {
		e.Shift = bias
	}
	e.Filters = &f.packed
	c.spend(y.len(), len(f.w)/max(out, 1))
	conv.Forward(&c.ws, &s, x.Floats, f.w, y.Floats, e)
	return y
}

// band is how many positions are laid out side by side for a product.
const band = 1024

// columns lays the values under windows from to to-1 out, a window a row, for channels from on.
func (w *window) columns(dst, x []float32, from, to, channels int, taps [][]int) {
	area := size(w.in)
	place := make([]int, len(w.out))
	width := channels * len(taps)
	for p := from; p < to; p++ {
		w.place(p, place)
		row := dst[(p-from)*width : (p-from+1)*width]
		for t, tap := range taps {
			off := w.inside(place, tap)
			for ch := range channels {
				if off < 0 {
					row[ch*len(taps)+t] = 0
				} else {
					row[ch*len(taps)+t] = x[ch*area+off]
				}
			}
		}
	}
}

// convAny computes convolutions of any number of axes, with gaps, as products of the filters with
// the values under each window.
func (c *call) convAny(w *window, groups int) *Tensor {
	x := c.contiguous(c.in[0])
	f := c.weight(1)
	out := f.Shape[0]
	bias := c.bias(2, out)
	y := c.newFloats(append([]int{x.Shape[0], out}, w.out...))
	if y.len() == 0 {
		return y
	}
	taps := w.taps()
	cg, kg, area, positions := f.Shape[1], out/groups, size(w.in), size(w.out)
	width := cg * len(taps)
	c.spend(y.len(), width)
	rows := c.newFloats([]int{min(band, positions), width})
	for i := range x.Shape[0] * groups {
		n, g := i/groups, i%groups
		from := x.Floats[(n*groups+g)*cg*area:][:cg*area]
		for p := 0; p < positions; p += band {
			few := min(band, positions-p)
			c.runRanges(few, few*width, func(lo, hi int) {
				w.columns(rows.Floats[lo*width:hi*width], from, p+lo, p+hi, cg, taps)
			})
			matrix.Gemm(false, true, 1, denseOf(f.Floats[g*kg*width:(g+1)*kg*width], kg, width, false),
				denseOf(rows.Floats[:few*width], few, width, false), 0,
				&matrix.Dense{Rows: kg, Cols: few, Stride: positions, Data: y.Floats[(n*out+g*kg)*positions+p:]})
		}
	}
	c.addBias(y, bias)
	return y
}

// addBias adds a value to each channel of a tensor in the order of its shape.
func (c *call) addBias(y *Tensor, bias []float32) {
	if bias == nil {
		return
	}
	n := len(y.Floats) / (y.Shape[0] * y.Shape[1])
	for i := range y.Shape[0] * y.Shape[1] {
		row := y.Floats[i*n : (i+1)*n]
		addNumber(row, row, bias[i%y.Shape[1]])
	}
}

// convTranspose spreads each value over the window that a convolution would have taken it from.
func convTranspose(c *call) []*Tensor {
	x := c.floats(0)
	f := c.floats(1)
	groups := int(min(max(c.int("group", 1), 0), maxSide))
	rank := len(x.Shape)
	if rank < 3 || len(f.Shape) != rank || groups < 1 || f.Shape[0] != x.Shape[1] || x.Shape[1]%groups != 0 ||
		f.len() == 0 || x.len() == 0 {
		fail("its filters of shape %d in %d groups do not fit an input of shape %d", f.Shape,
			groups, x.Shape)
	}
	w := c.spreading(x.Shape[2:], f.Shape[2:])
	kg, cg := f.Shape[1], x.Shape[1]/groups
	bias := c.bias(2, kg*groups)
	y := c.newFloats(append([]int{x.Shape[0], kg * groups}, w.in...))
	if y.len() == 0 {
		return single(y)
	}
	clear(y.Floats)
	taps := w.taps()
	area, positions, width := size(w.in), size(w.out), kg*len(taps)
	sums := c.newFloats([]int{width, positions})
	c.spend(x.Shape[0]*groups, sums.len(), cg)
	for i := range x.Shape[0] * groups {
		matrix.Gemm(true, false, 1, denseOf(f.Floats[i%groups*cg*width:][:cg*width], width, cg, true),
			denseOf(x.Floats[i*cg*positions:(i+1)*cg*positions], cg, positions, false), 0,
			denseOf(sums.Floats, width, positions, false))
		to := y.Floats[i*kg*area : (i+1)*kg*area]
		c.runRanges(kg, len(sums.Floats), func(lo, hi int) {
			place := make([]int, len(w.out))
			for k := lo; k < hi; k++ {
				for t, tap := range taps {
					row := sums.Floats[(k*len(taps)+t)*positions:][:positions]
					for p, v := range row {
						w.place(p, place)
						if off := w.inside(place, tap); off >= 0 {
							to[k*area+off] += v
						}
					}
				}
			}
		})
	}
	c.addBias(y, bias)
	return single(y)
}

// spreading is the window of the convolution whose transpose a ConvTranspose is: its in are the
// sides of what that makes.
func (c *call) spreading(in, kernel []int) *window {
	n := len(in)
	list := func(name string, least, otherwise int64) []int64 {
		v := c.list(name)
		if v == nil {
			for range n {
				v = append(v, otherwise)
			}
		}
		for _, x := range v {
			if x < least || x > maxSide {
				fail("%s %d: each must be in %d..%d", name, v, least, maxSide)
			}
		}
		if len(v) != n {
			fail("%s is %d, but the input has %d axes", name, v, n)
		}
		return v
	}
	stride := list("strides", 1, 1)
	dilation := list("dilations", 1, 1)
	more := list("output_padding", 0, 0)
	w := &window{in: make([]int, n), out: in, kernel: kernel, before: make([]int, n), after: make([]int, n)}
	w.setPads(c.list("pads"))
	w.checkKernel()
	want, auto := c.list("output_shape"), c.text("auto_pad", "NOTSET")
	if want != nil && len(want) != n {
		fail("output_shape is %d, but the input has %d axes", want, n)
	}
	for i := range n {
		w.stride, w.dilation = append(w.stride, int(stride[i])), append(w.dilation, int(dilation[i]))
		full := (in[i]-1)*w.stride[i] + (kernel[i]-1)*w.dilation[i] + 1 + int(more[i])
		side := full - w.before[i] - w.after[i]
		switch {
		case want != nil:
			side = int(min(max(want[i], 0), maxSide))
		case auto == "SAME_UPPER" || auto == "SAME_LOWER":
			side = in[i] * w.stride[i]
		case auto == "VALID":
			side = full
		}
		if want != nil || auto != "NOTSET" && auto != "" {
			total := max(full-side, 0)
			w.before[i], w.after[i] = total-total/2, total/2
			if auto == "SAME_UPPER" {
				w.before[i], w.after[i] = w.after[i], w.before[i]
			}
		}
		if side < 1 {
			fail("padding of %d and %d cuts off the whole output", w.before, w.after)
		}
		w.in[i] = side
	}
	return w
}

// wholeConv is a convolution of integers: x less its zero by filters less theirs.
func (c *call) wholeConv(x, f *Tensor, zero int64) *Tensor {
	groups := int(min(max(c.int("group", 1), 0), maxSide))
	if len(x.Shape) < 3 || len(f.Shape) != len(x.Shape) || groups < 1 || f.Shape[1]*groups != x.Shape[1] ||
		f.Shape[0]%groups != 0 || f.len() == 0 {
		fail("its filters of shape %d in %d groups do not fit an input of shape %d", f.Shape,
			groups, x.Shape)
	}
	w := c.window(x.Shape[2:], f.Shape[2:])
	out := c.newInts(append([]int{x.Shape[0], f.Shape[0]}, w.out...), onnx.Int32)
	if out.len() == 0 {
		return out
	}
	taps := w.taps()
	cg, kg, area, positions := f.Shape[1], f.Shape[0]/groups, size(w.in), size(w.out)
	width := cg * len(taps)
	cols := c.newInts([]int{width, positions}, onnx.Int32)
	place := make([]int, len(w.out))
	for i := range x.Shape[0] * groups {
		from := x.Ints[i*cg*area:]
		for p := range positions {
			w.place(p, place)
			for t, tap := range taps {
				off := w.inside(place, tap)
				for ch := range cg {
					v := int64(0)
					if off >= 0 {
						v = from[ch*area+off] - zero
					}
					cols.Ints[(ch*len(taps)+t)*positions+p] = v
				}
			}
		}
		g := i % groups
		part := intsOf([]int{kg, width}, f.Ints[g*kg*width:(g+1)*kg*width])
		sum := c.integerProducts(part, cols, onnx.Int32)
		copy(out.Ints[i*kg*positions:], sum.Ints)
	}
	return out
}
