package graphrun

import (
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/conv"
	"github.com/kindred-ml/kindred/matrix"
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
		transposeTo(l.w, t.Floats, l.out, l.in, l.out)
	}
	return l
}

// apply computes x W + what follows it, for x of any number of rows.
func (l *linear) apply(c *call, x *Tensor, shape []int) *Tensor {
	y := c.newFloats(shape)
	if y.len() == 0 {
		return y
	}
	if l.in == 0 {
		fail("the inner dimension of its product is 0")
	}
	s := conv.Shape{N: 1, H: len(x.Floats) / l.in, W: 1, C: l.in, K: l.out, R: 1, S: 1, StrideH: 1, StrideW: 1,
		Groups: 1}
	e := c.epilogue(shape, false)
	e.Filters = &l.filters
	c.spend(y.len(), l.in)
	conv.Forward(&c.ws, &s, x.Floats, l.w, y.Floats, e)
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
		t := c.tensor(j.reads[0])
		if !slices.Equal(t.Shape, shape) || !t.isFloat() {
			fail("tensors of shapes %d and %d cannot be added", t.Shape, shape)
		}
		if last {
			t = c.channelsLast(t)
		} else {
			t = c.contiguous(t)
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
	v := &c.values[c.n.in[i]]
	return v.constant != nil && v.constant.isFloat() && len(v.constant.Shape) == 2 && v.constant.len() > 0
}

// weight returns an input in the order of its shape, whatever order its memory has.
func (c *call) weight(i int) *Tensor {
	if !c.hasInput(i) {
		fail("it has no input %d", i)
	}
	if v := &c.values[c.n.in[i]]; v.constant != nil && v.layout != AsIs {
		return v.inOrder()
	}
	return c.contiguous(c.in[i])
}

// MatMulShape is the shape of the product of two tensors, and that of the axes before the matrices.
func MatMulShape(x, y []int) (shape, batch []int, err error) {
	wrong := fmt.Errorf("matrices of shapes %d and %d cannot be multiplied", x, y)
	if len(x) == 0 || len(y) == 0 {
		return nil, nil, wrong
	}
	rows, inner := max(len(x)-2, 0), max(len(y)-2, 0) // the axes before the last; of a vector this one
	if x[len(x)-1] != y[inner] {
		return nil, nil, wrong
	}
	if batch, err = Broadcast(x[:rows], y[:inner]); err != nil {
		return nil, nil, err
	}
	shape = slices.Concat(batch, x[rows:len(x)-1], y[inner+1:])
	_, err = length(shape)
	return shape, batch, err
}

func matMulShape(x, y []int) (shape, batch []int) {
	shape, batch, err := MatMulShape(x, y)
	return must(shape, err), batch
}

func matMul(c *call) []*Tensor {
	c.requireInputs(2)
	turnX, turnY, alpha := c.int("transA", 0) != 0, c.int("transB", 0) != 0, c.float("alpha", 1)
	if c.int("transBatchA", 0) != 0 || c.int("transBatchB", 0) != 0 {
		fail("transBatchA and transBatchB are not supported")
	}
	x := c.contiguous(c.in[0])
	if !x.isFloat() || !c.in[1].isFloat() {
		return c.wholeMatMul(x, c.in[1])
	}
	if c.constantMatrix(1) && !turnX && alpha == 1 && len(x.Shape) > 0 && x.len() > 0 {
		return single(c.linearMatMul(x, turnY))
	}
	y := c.weight(1)
	if c.n.in[0] >= 0 {
		x = c.weight(0)
	}
	return single(c.products(x, y, turnX, turnY, alpha))
}

func (c *call) linearMatMul(x *Tensor, turned bool) *Tensor {
	l, ok := c.n.state.(*linear)
	if !ok {
		l = newLinear(&c.values[c.n.in[1]], turned)
		c.n.state = l
	}
	if k := x.Shape[len(x.Shape)-1]; k != l.in {
		fail("matrices of shapes %d and %d cannot be multiplied", x.Shape, c.in[1].Shape)
	}
	shape := append(slices.Clone(x.Shape[:len(x.Shape)-1]), l.out)
	return l.apply(c, x, shape)
}

// transposedShape swaps the last two axes if a matrix is to be transposed.
func transposedShape(s []int, turned bool) []int {
	if !turned || len(s) < 2 {
		return s
	}
	s = slices.Clone(s)
	n := len(s)
	s[n-1], s[n-2] = s[n-2], s[n-1]
	return s
}

// products multiplies the matrices of two tensors.
func (c *call) products(x, y *Tensor, turnX, turnY bool, alpha float32) *Tensor {
	xs, ys := transposedShape(x.Shape, turnX), transposedShape(y.Shape, turnY)
	shape, batch := matMulShape(xs, ys)
	out := c.newFloats(shape)
	if out.len() == 0 {
		return out
	}
	m, k, n := 1, xs[len(xs)-1], 1
	if len(xs) > 1 {
		m = xs[len(xs)-2]
	}
	if len(ys) > 1 {
		n = ys[len(ys)-1]
	}
	if k == 0 {
		clear(out.Floats)
		return out
	}
	at := c.batches(batch, xs, ys)
	work := 2 * len(out.Floats) * k
	c.spend(len(out.Floats), k)
	c.divide(len(at), work, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			a, b := x.Floats[at[i][0]*m*k:][:m*k], y.Floats[at[i][1]*k*n:][:k*n]
			matrix.Gemm(turnX && len(xs) > 1, turnY && len(ys) > 1, alpha, denseOf(a, m, k, turnX && len(xs) > 1),
				denseOf(b, k, n, turnY && len(ys) > 1),
				0, denseOf(out.Floats[i*m*n:(i+1)*m*n], m, n, false))
		}
	})
	return out
}

// denseOf views values as a matrix of rows x cols or, if they are transposed, of cols x rows.
func denseOf(v []float32, rows, cols int, turned bool) *matrix.Dense {
	if turned {
		rows, cols = cols, rows
	}
	return &matrix.Dense{Rows: rows, Cols: cols, Stride: cols, Data: v}
}

// batches lists, for each matrix of a product, which of the operands' it is made of.
func (c *call) batches(batch, xs, ys []int) [][2]int {
	list := make([][2]int, 0, size(batch))
	c.broadcastEach(batch, [][]int{xs[:max(len(xs)-2, 0)], ys[:max(len(ys)-2, 0)]}, func(_ int, at []int) {
		list = append(list, [2]int{at[0], at[1]})
	})
	return list
}

// wholeMatMul multiplies matrices of integers.
func (c *call) wholeMatMul(x, y *Tensor) []*Tensor {
	if x.isFloat() || y.isFloat() {
		fail("integers and floating-point numbers cannot be mixed")
	}
	return single(c.integerProducts(x, y, x.typ))
}

// integerProducts computes products of integers exactly: in float32 over so few values that no sum
// needs more than its 24 bits, or, of large integers, one by one.
func (c *call) integerProducts(x, y *Tensor, typ onnx.DataType) *Tensor {
	shape, batch := matMulShape(x.Shape, y.Shape)
	out := c.newInts(shape, typ)
	if out.len() == 0 {
		return out
	}
	clear(out.Ints)
	m, k, n := 1, x.Shape[len(x.Shape)-1], 1
	if len(x.Shape) > 1 {
		m = x.Shape[len(x.Shape)-2]
	}
	if len(y.Shape) > 1 {
		n = y.Shape[len(y.Shape)-1]
	}
	c.spend(plainWork, out.len(), k)
	block := 1 << 24 / max(largest(x.Ints)*largest(y.Ints), 1)
	for i, at := range c.batches(batch, x.Shape, y.Shape) {
		a, b, to := x.Ints[at[0]*m*k:][:m*k], y.Ints[at[1]*k*n:][:k*n], out.Ints[i*m*n:(i+1)*m*n]
		if block < 8 {
			for r := range m {
				for p := range k {
					for j := range n {
						to[r*n+j] += a[r*k+p] * b[p*n+j]
					}
				}
			}
			continue
		}
		fa, fb, sum := matrix.New(m, k), matrix.New(k, n), matrix.New(m, n)
		for p, v := range a {
			fa.Data[p] = float32(v)
		}
		for p, v := range b {
			fb.Data[p] = float32(v)
		}
		for p := 0; p < k; p += int(block) {
			few := min(int(block), k-p)
			matrix.Gemm(false, false, 1, &matrix.Dense{Rows: m, Cols: few, Stride: k, Data: fa.Data[p:]},
				&matrix.Dense{Rows: few, Cols: n, Stride: n, Data: fb.Data[p*n:]}, 0, sum)
			for j, v := range sum.Data {
				to[j] += int64(v)
			}
		}
	}
	for i, v := range out.Ints {
		out.Ints[i] = wrapInt(v, typ)
	}
	return out
}

// largest is the largest absolute value, at most 2^25.
func largest(v []int64) int64 {
	most := int64(0)
	for _, x := range v {
		most = max(most, x, -max(x, math.MinInt32))
	}
	return min(most, 1<<25)
}

func gemm(c *call) []*Tensor {
	c.requireInputs(2)
	turnX, turnY := c.int("transA", 0) != 0, c.int("transB", 0) != 0
	alpha, beta := c.float("alpha", 1), c.float("beta", 1)
	x := c.floats(0)
	if len(x.Shape) != 2 || len(c.in[1].Shape) != 2 || !c.in[1].isFloat() {
		fail("it needs two matrices of floating-point numbers")
	}
	var out *Tensor
	if c.constantMatrix(1) && !turnX && alpha == 1 && x.len() > 0 {
		out = c.linearMatMul(x, turnY)
	} else {
		y := c.weight(1)
		out = c.products(c.weight(0), y, turnX, turnY, alpha)
	}
	if !c.hasInput(2) || c.n.join.biased {
		return c.activate(out)
	}
	add := c.in[2]
	if beta != 1 {
		add = c.floats(2)
		add = c.mapValues(add, elementwise(func(v float32) float32 { return v * beta }))
	}
	if s, err := Broadcast(out.Shape, add.Shape); err != nil || !slices.Equal(s, out.Shape) {
		fail("its bias of shape %d does not fit a product of shape %d", add.Shape, out.Shape)
	}
	return c.activate(c.pair("Add", out, add))
}

// activate applies the activation that operators of com.microsoft name in an attribute.
func (c *call) activate(out *Tensor) []*Tensor {
	name := c.text("activation", "")
	if name == "" {
		return single(out)
	}
	param := func(i int, otherwise float32) float32 { // a convolution has a list of them, a product attributes
		if a := c.n.Attr("activation_params"); a != nil && i < len(a.Floats) {
			return a.Floats[i]
		}
		return c.float([]string{"activation_alpha", "activation_beta"}[i], otherwise)
	}
	var f func(y, x []float32)
	switch name {
	case "Clip":
		lo, hi := param(0, -math.MaxFloat32), param(1, math.MaxFloat32)
		f = elementwise(func(v float32) float32 { return min(max(v, lo), hi) })
	case "LeakyRelu":
		alpha := param(0, 0.01)
		f = elementwise(func(v float32) float32 { return max(v, 0) + alpha*min(v, 0) })
	case "HardSigmoid":
		alpha, beta := param(0, 0.2), param(1, 0.5)
		f = elementwise(func(v float32) float32 { return min(max(alpha*v+beta, 0), 1) })
	case "Elu":
		alpha := param(0, 1)
		f = elementwise(func(v float32) float32 { return max(v, 0) + alpha*float32(math.Expm1(float64(min(v, 0)))) })
	case "Relu", "Sigmoid", "Tanh", "Softplus", "Softsign":
		f = c.vectorFunction(name)
	default:
		fail("activation %q is not supported", name)
	}
	return single(c.mapValues(out, f))
}

// biasGelu is GELU of the sum of the inputs.
func biasGelu(c *call) []*Tensor {
	c.requireInputs(1)
	x := c.floats(0)
	if c.hasInput(1) {
		x = c.pair("Add", x, c.in[1])
	}
	return single(c.mapValues(x, c.vectorFunction(c.n.Op)))
}
