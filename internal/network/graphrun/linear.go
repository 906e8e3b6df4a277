package graphrun

import (
	"slices"

	"github.com/kindred-ml/kindred/internal/network/conv"
	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/product"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// linear is a product with constant weights, which its kernel keeps packed.
type linear struct {
	w       []float32 // out x in
	in, out int
	filters conv.Filters
}

// newLinear takes weights of in x out, or of out x in if turned.
func newLinear(w *value, turned bool) *linear {
	t := w.constant
	l := &linear{in: t.Shape[0], out: t.Shape[1], filters: conv.Filters{Constant: true}}
	switch {
	case turned:
		l.in, l.out = l.out, l.in
		l.w = w.inOrder().Floats
	case w.layout == Transposed:
		l.w = t.Floats
	default:
		l.w = make([]float32, len(t.Floats))
		operator.TransposeTo(l.w, t.Floats, l.out, l.in, l.out)
	}
	return l
}

// apply computes x W + what follows it, for x of any number of rows.
func (l *linear) apply(c *call, x *tensor.Tensor, shape []int) *tensor.Tensor {
	y := c.NewFloats(shape)
	if y.Len() == 0 {
		return y
	}
	if l.in == 0 {
		operator.Fail("the inner dimension of its product is 0")
	}
	s := conv.Shape{N: 1, H: len(x.Floats) / l.in, W: 1, C: l.in, K: l.out, R: 1, S: 1, StrideH: 1, StrideW: 1,
		Groups: 1}
	e := c.epilogue(shape, false)
	e.Filters = &l.filters
	c.Spend(y.Len(), l.in)
	conv.Forward(&c.p.ws, &s, x.Floats, l.w, y.Floats, e)
	return y
}

// epilogue is what the node does with its result, of the given shape, before it is stored.
func (c *call) epilogue(shape []int, last bool) *conv.Epilogue {
	j := &c.n.join
	e := &conv.Epilogue{Scale: j.scale, Shift: j.shift, ReLU: j.relu, ReLU6: j.relu6}
	if f := j.act; f != nil {
		e.Act = func(y []float32) { f(y, y) }
	}
	if len(j.reads) > 0 {
		t := c.p.tensor(j.reads[0])
		if !slices.Equal(t.Shape, shape) || !t.IsFloat() {
			operator.Fail("tensors of shapes %d and %d cannot be added", t.Shape, shape)
		}
		if last {
			t = c.ChannelsLast(t)
		} else {
			t = c.Contiguous(t)
		}
		e.Residual = t.Floats
	}
	return e
}

// constantMatrix reports an input that is a matrix of constant weights.
func (c *call) constantMatrix(i int) bool {
	if c.n.in[i] < 0 {
		return false
	}
	v := &c.p.values[c.n.in[i]]
	return v.constant != nil && v.constant.IsFloat() && len(v.constant.Shape) == 2 && v.constant.Len() > 0
}

// weight returns an input in the order of its shape, whatever order its memory has.
func (c *call) weight(i int) *tensor.Tensor {
	if !c.HasInput(i) {
		operator.Fail("it has no input %d", i)
	}
	if v := &c.p.values[c.n.in[i]]; v.constant != nil && v.layout != AsIs {
		return v.inOrder()
	}
	return c.Contiguous(c.In[i])
}

// matMul is MatMul, which broadcasts the axes before the last two as numpy does, and FusedMatMul, which also
// transposes and scales: y = alpha A B.
func matMul(c *call) []*tensor.Tensor {
	c.RequireInputs(2)
	turnX, turnY, alpha := c.Int("transA", 0) != 0, c.Int("transB", 0) != 0, c.Float("alpha", 1)
	if c.Int("transBatchA", 0) != 0 || c.Int("transBatchB", 0) != 0 {
		operator.Fail("transBatchA and transBatchB are not supported")
	}
	x := c.Contiguous(c.In[0])
	if x.IsFloat() != c.In[1].IsFloat() {
		operator.Fail("integers and floating-point numbers cannot be mixed")
	}
	if !x.IsFloat() {
		return operator.Single(product.MultiplyIntegers(&c.Call, x, c.In[1], x.Type))
	}
	if c.constantMatrix(1) && !turnX && alpha == 1 && len(x.Shape) > 0 && x.Len() > 0 {
		return operator.Single(c.linearMatMul(x, turnY))
	}
	y := c.weight(1)
	if c.n.in[0] >= 0 {
		x = c.weight(0)
	}
	return operator.Single(product.Multiply(&c.Call, x, y, turnX, turnY, alpha))
}

// linearMatMul is a product with constant weights, whose packed form the node keeps from run to run.
func (c *call) linearMatMul(x *tensor.Tensor, turned bool) *tensor.Tensor {
	l, ok := c.n.state.(*linear)
	if !ok {
		l = newLinear(&c.p.values[c.n.in[1]], turned)
		c.n.state = l
	}
	if k := x.Shape[len(x.Shape)-1]; k != l.in {
		operator.Fail("matrices of shapes %d and %d cannot be multiplied", x.Shape, c.In[1].Shape)
	}
	shape := append(slices.Clone(x.Shape[:len(x.Shape)-1]), l.out)
	return l.apply(c, x, shape)
}

// gemm is y = alpha A B + beta C, with A and B transposed as the attributes say and C broadcast to the product.
func gemm(c *call) []*tensor.Tensor {
	c.RequireInputs(2)
	turnX, turnY := c.Int("transA", 0) != 0, c.Int("transB", 0) != 0
	alpha, beta := c.Float("alpha", 1), c.Float("beta", 1)
	x := c.Floats(0)
	if len(x.Shape) != 2 || len(c.In[1].Shape) != 2 || !c.In[1].IsFloat() {
		operator.Fail("it needs two matrices of floating-point numbers")
	}
	var out *tensor.Tensor
	if c.constantMatrix(1) && !turnX && alpha == 1 && x.Len() > 0 {
		out = c.linearMatMul(x, turnY)
	} else {
		y := c.weight(1)
		out = product.Multiply(&c.Call, c.weight(0), y, turnX, turnY, alpha)
	}
	if !c.HasInput(2) || c.n.join.biased {
		return c.Activate(out)
	}
	add := c.In[2]
	if beta != 1 {
		add = c.Floats(2)
		add = c.MapValues(add, operator.Elementwise(func(v float32) float32 { return v * beta }))
	}
	if s, err := tensor.Broadcast(out.Shape, add.Shape); err != nil || !slices.Equal(s, out.Shape) {
		operator.Fail("its bias of shape %d does not fit a product of shape %d", add.Shape, out.Shape)
	}
	return c.Activate(c.Pair("Add", out, add))
}
