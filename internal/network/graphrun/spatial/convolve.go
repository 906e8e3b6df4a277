package spatial

import (
	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/product"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
	"github.com/kindred-ml/kindred/matrix"
)

// convInteger is Conv of integers less their zero points, in int32. Padding stands for the zero point.
func convInteger(c *operator.Call) []*tensor.Tensor {
	c.RequireInputs(2)
	zero := int64(0)
	if z := c.OptionalInput(2); z != nil {
		if z.IsFloat() || z.Len() != 1 {
			operator.Fail("its zero point is not a single integer")
		}
		zero = z.Ints[0]
	}
	f := product.SubtractZero(c, c.In[1], c.OptionalInput(3), 0)
	if c.In[0].IsFloat() || f.IsFloat() {
		operator.Fail("its input must hold integers")
	}
	return operator.Single(wholeConv(c, c.In[0], f, zero))
}

// qlinearConv convolves a quantized image by quantized filters and quantizes the sums again.
func qlinearConv(c *operator.Call) []*tensor.Tensor {
	c.RequireInputs(8)
	f := product.SubtractZero(c, c.In[3], c.In[5], 0)
	if c.In[0].IsFloat() || f.IsFloat() || c.In[2].IsFloat() || c.In[2].Len() != 1 {
		operator.Fail("its inputs must be integers with a single zero point")
	}
	sum := wholeConv(c, c.In[0], f, c.In[2].Ints[0])
	var bias []int64
	if c.HasInput(8) {
		bias = operator.Must(c.In[8].Integers())
	}
	return product.Requantize(c, sum, 1, bias)
}

// col2Im adds blocks of values up at the places that windows took them from.
func col2Im(c *operator.Call) []*tensor.Tensor {
	x := c.Floats(0)
	c.RequireInputs(3)
	image, kernel := operator.Must(c.In[1].Sides()), operator.Must(c.In[2].Sides())
	if len(x.Shape) != 3 || len(image) != len(kernel) || len(image) == 0 || tensor.Size(kernel) < 1 ||
		x.Shape[1]%tensor.Size(kernel) != 0 {
		operator.Fail("its blocks of shape %d do not fit images of %d and windows of %d", x.Shape, image, kernel)
	}
	w := NewWindow(c, image, kernel)
	taps := w.taps()
	ch, positions, area := x.Shape[1]/len(taps), tensor.Size(w.Out), tensor.Size(image)
	if positions != x.Shape[2] {
		operator.Fail("it has %d blocks for %d windows: the numbers must be equal", x.Shape[2], positions)
	}
	y := c.NewFloats(append([]int{x.Shape[0], ch}, image...))
	clear(y.Floats)
	for k := range x.Shape[0] * ch {
		w.spread(y.Floats[k*area:(k+1)*area], x.Floats[k*len(taps)*positions:], taps)
	}
	return operator.Single(y)
}

// spread adds rows of values, one for each tap, up at the places of an image that the windows took them from.
func (w *Window) spread(image, rows []float32, taps [][]int) {
	place, positions := make([]int, len(w.Out)), tensor.Size(w.Out)
	for t, tap := range taps {
		for p, v := range rows[t*positions : (t+1)*positions] {
			w.place(p, place)
			if off := w.inside(place, tap); off >= 0 {
				image[off] += v
			}
		}
	}
}

// band is how many positions are laid out side by side for a product.
const band = 1024

// columns lays the values under windows from to to-1 out, a window a row, for channels from on.
func (w *Window) columns(dst, x []float32, from, to, channels int, taps [][]int) {
	area := tensor.Size(w.In)
	place := make([]int, len(w.Out))
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

// Groups reads in how many groups the channels of a convolution of x by filters f are, and checks that these fit.
func Groups(c *operator.Call, x, f *tensor.Tensor) int {
	n := c.Count("group", 1)
	if len(x.Shape) < 3 || len(f.Shape) != len(x.Shape) || n < 1 || f.Shape[1]*n != x.Shape[1] || f.Shape[0]%n != 0 ||
		f.Len() == 0 {
		operator.Fail("its filters of shape %d in %d groups do not fit an input of shape %d", f.Shape, n, x.Shape)
	}
	return n
}

// Convolve computes convolutions of any number of axes, with gaps, as products of the filters f with the values of
// the first input under each window. The third input is the bias.
func Convolve(c *operator.Call, f *tensor.Tensor, w *Window, groups int) *tensor.Tensor {
	x := c.Contiguous(c.In[0])
	out := f.Shape[0]
	bias := c.Bias(2, out)
	y := c.NewFloats(append([]int{x.Shape[0], out}, w.Out...))
	if y.Len() == 0 {
		return y
	}
	taps := w.taps()
	cg, kg, area, positions := f.Shape[1], out/groups, tensor.Size(w.In), tensor.Size(w.Out)
	width := cg * len(taps)
	c.Spend(y.Len(), width)
	rows := c.NewFloats([]int{min(band, positions), width})
	for i := range x.Shape[0] * groups {
		n, g := i/groups, i%groups
		from := x.Floats[(n*groups+g)*cg*area:][:cg*area]
		for p := 0; p < positions; p += band {
			few := min(band, positions-p)
			c.RunRanges(few, few*width, func(lo, hi int) {
				w.columns(rows.Floats[lo*width:hi*width], from, p+lo, p+hi, cg, taps)
			})
			matrix.Gemm(false, true, 1, product.DenseOf(f.Floats[g*kg*width:(g+1)*kg*width], kg, width, false),
				product.DenseOf(rows.Floats[:few*width], few, width, false), 0,
				&matrix.Dense{Rows: kg, Cols: few, Stride: positions, Data: y.Floats[(n*out+g*kg)*positions+p:]})
		}
	}
	addBias(c, y, bias)
	return y
}

// addBias adds a value to each channel of a tensor in the order of its shape.
func addBias(c *operator.Call, y *tensor.Tensor, bias []float32) {
	if bias == nil {
		return
	}
	n := len(y.Floats) / (y.Shape[0] * y.Shape[1])
	for i := range y.Shape[0] * y.Shape[1] {
		row := y.Floats[i*n : (i+1)*n]
		b := bias[i%y.Shape[1]]
		for j := range row {
			row[j] += b
		}
	}
}

// convTranspose spreads each value over the window that a convolution would have taken it from.
func convTranspose(c *operator.Call) []*tensor.Tensor {
	x := c.Floats(0)
	f := c.Floats(1)
	groups := c.Count("group", 1)
	rank := len(x.Shape)
	if rank < 3 || len(f.Shape) != rank || groups < 1 || f.Shape[0] != x.Shape[1] || x.Shape[1]%groups != 0 ||
		f.Len() == 0 || x.Len() == 0 {
		operator.Fail("its filters of shape %d in %d groups do not fit an input of shape %d", f.Shape, groups, x.Shape)
	}
	w := spreading(c, x.Shape[2:], f.Shape[2:])
	kg, cg := f.Shape[1], x.Shape[1]/groups
	bias := c.Bias(2, kg*groups)
	y := c.NewFloats(append([]int{x.Shape[0], kg * groups}, w.In...))
	if y.Len() == 0 {
		return operator.Single(y)
	}
	clear(y.Floats)
	taps := w.taps()
	area, positions, width := tensor.Size(w.In), tensor.Size(w.Out), kg*len(taps)
	sums := c.NewFloats([]int{width, positions})
	c.Spend(x.Shape[0]*groups, sums.Len(), cg)
	for i := range x.Shape[0] * groups {
		matrix.Gemm(true, false, 1, product.DenseOf(f.Floats[i%groups*cg*width:][:cg*width], width, cg, true),
			product.DenseOf(x.Floats[i*cg*positions:(i+1)*cg*positions], cg, positions, false), 0,
			product.DenseOf(sums.Floats, width, positions, false))
		to := y.Floats[i*kg*area : (i+1)*kg*area]
		c.RunRanges(kg, len(sums.Floats), func(lo, hi int) {
			for k := lo; k < hi; k++ {
				w.spread(to[k*area:(k+1)*area], sums.Floats[k*len(taps)*positions:], taps)
			}
		})
	}
	addBias(c, y, bias)
	return operator.Single(y)
}

// spreading is the window of the convolution whose transpose a ConvTranspose is: its in are the
// sides of what that makes.
func spreading(c *operator.Call, in, kernel []int) *Window {
	n := len(in)
	more := readList(c, "output_padding", n, 0, 0)
	w := &Window{In: make([]int, n), Out: in, Kernel: kernel, Before: make([]int, n), After: make([]int, n),
		Stride: readList(c, "strides", n, 1, 1), Dilation: readList(c, "dilations", n, 1, 1)}
	w.setPads(c.List("pads"))
	w.checkKernel()
	want, auto := c.List("output_shape"), c.Text("auto_pad", "NOTSET")
	if want != nil && len(want) != n {
		operator.Fail("output_shape is %d, but the input has %d axes", want, n)
	}
	for i := range n {
		full := (in[i]-1)*w.Stride[i] + (kernel[i]-1)*w.Dilation[i] + 1 + more[i]
		side := full - w.Before[i] - w.After[i]
		switch {
		case want != nil:
			side = int(min(max(want[i], 0), operator.MaxSide))
		case auto == "SAME_UPPER" || auto == "SAME_LOWER":
			side = in[i] * w.Stride[i]
		case auto == "VALID":
			side = full
		}
		if want != nil || auto != "NOTSET" && auto != "" {
			total := max(full-side, 0)
			w.Before[i], w.After[i] = total-total/2, total/2
			if auto == "SAME_UPPER" {
				w.Before[i], w.After[i] = w.After[i], w.Before[i]
			}
		}
		if side < 1 {
			operator.Fail("padding of %d and %d cuts off the whole output", w.Before, w.After)
		}
		w.In[i] = side
	}
	return w
}

// wholeConv is a convolution of integers: x less its zero by filters less theirs.
func wholeConv(c *operator.Call, x, f *tensor.Tensor, zero int64) *tensor.Tensor {
	groups := Groups(c, x, f)
	w := NewWindow(c, x.Shape[2:], f.Shape[2:])
	out := c.New(append([]int{x.Shape[0], f.Shape[0]}, w.Out...), onnx.Int32)
	if out.Len() == 0 {
		return out
	}
	taps := w.taps()
	cg, kg, area, positions := f.Shape[1], f.Shape[0]/groups, tensor.Size(w.In), tensor.Size(w.Out)
	width := cg * len(taps)
	cols := c.New([]int{width, positions}, onnx.Int32)
	place := make([]int, len(w.Out))
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
		part := tensor.Integers([]int{kg, width}, f.Ints[g*kg*width:(g+1)*kg*width])
		sum := product.MultiplyIntegers(c, part, cols, onnx.Int32)
		copy(out.Ints[i*kg*positions:], sum.Ints)
	}
	return out
}
