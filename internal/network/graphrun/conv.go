package graphrun

import (
	"github.com/kindred-ml/kindred/internal/network/conv"
	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/spatial"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// filters are those of a convolution of images, channels last, which its kernel keeps packed.
type filters struct {
	w      []float32
	packed conv.Filters
}

// convolution computes images without gaps by the engine, all else by products.
func convolution(c *call) []*tensor.Tensor {
	c.RequireInputs(2)
	x, ws := c.In[0], c.In[1].Shape
	if !x.IsFloat() || !c.In[1].IsFloat() {
		operator.Fail("its input and its filters must hold floating-point numbers")
	}
	groups := spatial.Groups(&c.Call, x, c.In[1])
	w := spatial.NewWindow(&c.Call, x.Shape[2:], ws[2:])
	var y *tensor.Tensor
	if len(ws) == 4 && w.IsDense() && x.Len() > 0 {
		y = c.convImage(w, groups)
	} else {
		y = spatial.Convolve(&c.Call, c.weight(1), w, groups)
	}
	if c.HasInput(3) { // of FusedConv
		y = c.Pair("Add", y, c.In[3])
	}
	return c.Activate(y)
}

// convImage computes y[k] = sum over channels and taps of w[k] x, plus a bias, by the kernel of the engine. The
// filters are packed once if they are constant. The kernel pads only at the start and more at the end: other
// padding is added to the image first.
func (c *call) convImage(w *spatial.Window, groups int) *tensor.Tensor {
	x, ws := c.In[0], c.In[1].Shape
	out := ws[0]
	bias := c.Bias(2, out)
	f, kept := c.n.state.(*filters)
	if !kept {
		v := &c.p.values[c.n.in[1]]
		t := c.In[1]
		f = &filters{packed: conv.Filters{Precise: true}}
		switch {
		case v.constant != nil && v.layout == ChannelsLast:
			f.w = t.Floats
		default:
			if v.constant != nil {
				t = v.inOrder()
			} else {
				t = c.Contiguous(t)
			}
			f.w = make([]float32, len(t.Floats))
			c.Turn(f.w, t.Floats, out, ws[1], ws[2]*ws[3])
		}
		if v.constant != nil {
			f.packed.Constant = true
			c.n.state = f
		}
	}
	before, after := [2]int{w.Before[0], w.Before[1]}, [2]int{w.After[0], w.After[1]}
	if before[0] < 0 || before[1] < 0 || after[0] < before[0] || after[1] < before[1] {
		x = c.Contiguous(x)
		zero := tensor.Floats([]int{1}, []float32{0})
		x = c.Pad(x, []int{0, 0, before[0], before[1]}, []int{0, 0, after[0], after[1]}, "constant", zero)
		before, after = [2]int{}, [2]int{}
	}
	x = c.ChannelsLast(x)
	s := conv.Shape{N: x.Shape[0], H: x.Shape[2], W: x.Shape[3], C: x.Shape[1], K: out, R: ws[2], S: ws[3],
		StrideH: w.Stride[0], StrideW: w.Stride[1], PadH: before[0], PadW: before[1], EndH: after[0] - before[0],
		EndW: after[1] - before[1], Groups: groups}
	operator.Check(s.Check())
	shape := []int{s.N, out, s.OutH(), s.OutW()}
	y := c.NewFloats(shape)
	y.Last = true
	e := c.epilogue(shape, true)
	if e.Shift == nil {
		e.Shift = bias
	}
	e.Filters = &f.packed
	c.Spend(y.Len(), len(f.w)/max(out, 1))
	conv.Forward(&c.p.ws, &s, x.Floats, f.w, y.Floats, e)
	return y
}
