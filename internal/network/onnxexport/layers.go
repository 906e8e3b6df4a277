package onnxexport

import (
	"fmt"
	"math"
	"strings"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/nn"
)

// layerWriter is a layer where it is written.
type layerWriter struct {
	*exporter
	n  *nn.Node
	l  *nn.Layer
	at string // what its operators' names begin with
	in []wire // what it takes
	x  wire   // the first of them
}

func newLayerWriter(e *exporter, n *nn.Node, values []wire) *layerWriter {
	path := n.Path
	if n.Layer.Name == "" { // its operators are named as those of what it is in
		path = strings.TrimSuffix(n.Prefix, ".")
	}
	u := &layerWriter{exporter: e, n: n, l: &n.Layer, at: strings.TrimSuffix("/"+strings.ReplaceAll(path, ".", "/"),
		"/")}
	for _, v := range n.From {
		u.in = append(u.in, values[v])
	}
	u.x = u.in[0]
	return u
}

// layer writes node n, which takes some of the values before it.
func (e *exporter) layer(n *nn.Node, values []wire) (wire, error) {
	write := writers[n.Kind]
	if write == nil {
		return wire{}, fmt.Errorf("layer %s (%s): it has no form in ONNX here", n.Path, n.Kind)
	}
	if err := e.load(n.Names); err != nil {
		return wire{}, fmt.Errorf("layer %s (%s): %w", n.Path, n.Kind, err)
	}
	y := write(newLayerWriter(e, n, values))
	y.h, y.w, y.c = n.Out.H, n.Out.W, n.Out.C
	return y, nil
}

// named is the value that an operator has made of x, in the same shape.
func (x wire) named(name string) wire {
	x.name = name
	return x
}

// op adds one of the layer's operators, and returns its output's name.
func (u *layerWriter) op(op string, inputs []string, attrs ...onnx.Attr) string {
	return u.exporter.op(u.at, op, inputs, attrs...)
}

func (u *layerWriter) unaryOp(op, x string, attrs ...onnx.Attr) string {
	return u.op(op, []string{x}, attrs...)
}

func (u *layerWriter) mul(a, b string) string { return u.op("Mul", []string{a, b}) }

func (u *layerWriter) add(a, b string) string { return u.op("Add", []string{a, b}) }

// convert gives a value another shape.
func (u *layerWriter) convert(x wire, to shapeKind) wire { return u.exporter.convert(x, to, u.at) }

// params adds all parameters.
func (u *layerWriter) params() []string {
	for _, name := range u.n.Names {
		u.param(name)
	}
	return u.n.Names
}

// passThrough is what a layer of training alone does.
func (u *layerWriter) passThrough() wire { return u.x }

// gated writes the input times the sigmoid of y.
func (u *layerWriter) gated(y string) wire {
	return u.x.named(u.mul(u.x.name, u.unaryOp("Sigmoid", y)))
}

func (u *layerWriter) gelu() wire {
	x := u.x.name
	erf := u.add(u.unaryOp("Erf", u.mul(x, u.number(0.70710678))), u.number(1))
	return u.x.named(u.mul(u.mul(x, erf), u.number(0.5)))
}

func (u *layerWriter) geluTanh() wire {
	x := u.x.name
	cube := u.mul(u.mul(u.mul(x, x), x), u.number(0.044715))
	tanh := u.add(u.unaryOp("Tanh", u.mul(u.add(x, cube), u.number(0.7978846))), u.number(1))
	return u.x.named(u.mul(u.mul(x, tanh), u.number(0.5)))
}

func (u *layerWriter) batchNorm() wire {
	x := u.x
	if x.kind == asTokens {
		x = u.convert(x, asImage)
	}
	return u.normOp(x, "BatchNormalization", floatAttr("momentum", 0.9))
}

func (u *layerWriter) layerNorm() wire {
	x := u.x
	if x.kind == asImage {
		x = u.convert(x, asTokens)
	}
	return u.normOp(x, "LayerNormalization", intAttr("axis", -1))
}

// join writes a sum or a product of what layers make, a, and their shortcut, b.
func (u *layerWriter) join(op string) wire {
	a, b := u.x, u.in[1]
	if a.h*a.w == b.h*b.w {
		b = u.convert(b, a.kind)
	} else { // a gate for each channel
		a = u.convert(a, b.kind)
	}
	return b.named(u.op(op, []string{b.name, a.name}))
}

// concat writes branches side by side.
func (u *layerWriter) concat() wire {
	var parts []string
	for _, v := range u.in {
		parts = append(parts, u.convert(v, asImage).name)
	}
	return wire{name: u.op("Concat", parts, intAttr("axis", 1)), kind: asImage}
}

// channels writes some of the channels.
func (u *layerWriter) channels() wire {
	x, axis := u.x, -1
	if x.kind != asTokens && (x.kind != asVector || x.h*x.w != 1) {
		x, axis = u.convert(x, asImage), 1
	}
	return x.named(u.op("Slice", []string{x.name, u.ints(u.l.At), u.ints(u.l.At + u.l.Out), u.ints(axis)}))
}

func (u *layerWriter) shuffle() wire {
	x := u.convert(u.x, asImage)
	y := u.op("Reshape", []string{x.name, u.ints(0, u.l.Groups, x.c/u.l.Groups, x.h*x.w)})
	y = u.op("Transpose", []string{y}, intsAttr("perm", 0, 2, 1, 3))
	return x.named(u.op("Reshape", []string{y, u.ints(0, x.c, x.h, x.w)}))
}

// token writes one position alone.
func (u *layerWriter) token() wire {
	x := u.convert(u.x, asTokens)
	x.name, x.kind = u.op("Gather", []string{x.name, u.index(u.l.At)}, intAttr("axis", 1)), asVector
	return x
}

// unitNorm writes vectors of length 1.
func (u *layerWriter) unitNorm() wire {
	axes := []int{1, 2, 3}[:map[shapeKind]int{asImage: 3, asTokens: 2, asVector: 1}[u.x.kind]]
	length := u.reduceOp("ReduceL2", u.x.name, axes, intAttr("keepdims", 1))
	length = u.op("Max", []string{length, u.number(1e-12)})
	return u.x.named(u.op("Div", []string{u.x.name, length}))
}

// windowOp writes a convolution or a pool.
func (u *layerWriter) windowOp(op string, attrs ...onnx.Attr) wire {
	x := u.convert(u.x, asImage)
	params := u.params()
	return x.named(u.op(op, append([]string{x.name}, params...), u.window(attrs...)...))
}

// window returns the attributes of the layer's window, and others.
func (u *layerWriter) window(attrs ...onnx.Attr) []onnx.Attr {
	l := u.l
	return append([]onnx.Attr{intsAttr("kernel_shape", l.Kernel, l.KernelW),
		intsAttr("pads", l.Pad, l.PadW, l.Pad+l.PadEnd, l.PadW+l.PadEnd), intsAttr("strides", l.Stride, l.Stride)},
		attrs...)
}

// linear writes a dense layer, or a linear one over tokens.
func (u *layerWriter) linear() wire {
	n, x := u.n, u.x
	if n.Kind == nn.Dense || x.h*x.w == 1 {
		x = u.convert(x, asVector)
		params := u.params()
		x.name = u.op("Gemm", append([]string{x.name}, params...), intAttr("transB", 1))
		return x
	}
	x = u.convert(x, asTokens)
	values := u.parameters[n.Names[0]].values
	out := n.Layer.Out // inputs x outputs, as MatMul takes it
	weight := u.floats(n.Names[0], []int64{int64(x.c), int64(out)}, transposed(values, out, x.c))
	x.name = u.op("MatMul", []string{x.name, weight})
	if len(n.Names) > 1 {
		bias, _ := u.param(n.Names[1])
		x.name = u.op("Add", []string{x.name, bias})
	}
	return x
}

// normOp writes a norm of the shape of x.
func (u *layerWriter) normOp(x wire, op string, attr onnx.Attr) wire {
	params := u.params()
	return x.named(u.op(op, append([]string{x.name}, params...), attr, floatAttr("epsilon", u.l.Eps)))
}

func (u *layerWriter) attention() wire {
	x, heads := u.convert(u.x, asTokens), u.l.Heads
	t, d := x.h*x.w, x.c/3
	size := d / heads
	all := u.op("Reshape", []string{x.name, u.ints(0, t, 3, heads, size)})
	all = u.op("Transpose", []string{all}, intsAttr("perm", 2, 0, 3, 1, 4))
	part := func(i int) string { return u.op("Gather", []string{all, u.index(i)}, intAttr("axis", 0)) }
	keys := u.op("Transpose", []string{part(1)}, intsAttr("perm", 0, 1, 3, 2))
	queries := u.op("Mul", []string{part(0), u.number(rsqrt(size))})
	scores := u.op("MatMul", []string{queries, keys})
	if u.l.Causal {
		scores = u.add(scores, u.causalMask(t))
	}
	weights := u.op("Softmax", []string{scores}, intAttr("axis", -1))
	y := u.op("MatMul", []string{weights, part(2)})
	y = u.op("Transpose", []string{y}, intsAttr("perm", 0, 2, 1, 3))
	return x.named(u.op("Reshape", []string{y, u.ints(0, t, d)}))
}

// attentionPool writes attention with one query, which is known here.
func (u *layerWriter) attentionPool() wire {
	var params [3][]float32 // latent, weight, bias
	for i, name := range u.n.Names {
		params[i] = u.parameters[name].values
	}
	x, heads := u.convert(u.x, asTokens), u.l.Heads
	t, d := x.h*x.w, x.c/2
	size := d / heads
	query := make([]float32, d)
	for i := range query {
		sum := float64(params[2][i])
		for j, v := range params[0] {
			sum += float64(params[1][i*d+j]) * float64(v)
		}
		query[i] = float32(sum) * rsqrt(size)
	}
	q := u.floats(u.n.Prefix+"query", []int64{1, int64(heads), 1, int64(size)}, query)
	all := u.op("Reshape", []string{x.name, u.ints(0, t, 2, heads, size)})
	keys := u.op("Gather", []string{all, u.index(0)}, intAttr("axis", 2))
	values := u.op("Gather", []string{all, u.index(1)}, intAttr("axis", 2))
	scores := u.op("MatMul", []string{q, u.unaryOp("Transpose", keys, intsAttr("perm", 0, 2, 3, 1))})
	weights := u.unaryOp("Softmax", scores, intAttr("axis", -1))
	y := u.op("MatMul", []string{weights, u.unaryOp("Transpose", values, intsAttr("perm", 0, 2, 1, 3))})
	x.name, x.kind = u.op("Reshape", []string{y, u.ints(0, d)}), asVector
	return x
}

// rotary writes queries and keys that are turned: x cos + y sin, where y has the halves of
// each head exchanged and the sign of the first one's sines is changed.
func (u *layerWriter) rotary() wire {
	x, heads := u.convert(u.x, asTokens), u.l.Heads
	t, size := x.h*x.w, x.c/3/heads
	cos, sin := u.n.Rotation()
	var factors [2][]float32 // positions x queries, keys, values x size
	for p := range t {
		for part := range 3 {
			for i := range size {
				c, s := float32(1), float32(0)
				if k := p*size/2 + i%(size/2); part < 2 {
					c, s = cos[k], sin[k]
				}
				if i < size/2 {
					s = -s
				}
				factors[0], factors[1] = append(factors[0], c), append(factors[1], s)
			}
		}
	}
	var names [2]string
	for i, name := range []string{"cos", "sin"} {
		name = fmt.Sprintf("%s%d_%d_%v", name, t, size, u.l.Base)
		names[i] = u.floats(name, []int64{int64(t), 3, 1, int64(size)}, factors[i])
	}
	exchanged := make([]int, size)
	for i := range exchanged {
		exchanged[i] = (i + size/2) % size
	}
	heads4 := u.op("Reshape", []string{x.name, u.ints(0, t, 3, heads, size)})
	turned := u.op("Gather", []string{heads4, u.ints(exchanged...)}, intAttr("axis", 4))
	y := u.add(u.mul(heads4, names[0]), u.mul(turned, names[1]))
	return x.named(u.op("Reshape", []string{y, u.ints(0, t, x.c)}))
}

// causalMask is what scores of t positions have added: 0 for positions up to the query's
// own, and the lowest number for those behind it.
func (u *layerWriter) causalMask(t int) string {
	mask := make([]float32, t*t)
	for i := range t {
		for j := i + 1; j < t; j++ {
			mask[i*t+j] = -math.MaxFloat32
		}
	}
	return u.floats(fmt.Sprintf("causal%d", t), []int64{int64(t), int64(t)}, mask)
}

// generalizedMean writes (mean of max(x, eps)^p over positions)^(1/p).
func (u *layerWriter) generalizedMean() wire {
	_, p := u.param(u.n.Names[0])
	x := u.convert(u.x, asImage)
	y := u.op("Max", []string{x.name, u.number(float32(u.l.Eps))})
	y = u.op("Pow", []string{y, u.number(p[0])})
	y = u.op("GlobalAveragePool", []string{y})
	y = u.op("Reshape", []string{y, u.ints(0, x.c)})
	x.name, x.kind = u.op("Pow", []string{y, u.number(1 / p[0])}), asVector
	return x
}

// meanPositions writes the mean over positions from one on.
func (u *layerWriter) meanPositions() wire {
	x, from := u.x, u.l.At
	if from == 0 && x.kind == asImage {
		y := u.op("GlobalAveragePool", []string{x.name})
		x.name, x.kind = u.op("Reshape", []string{y, u.ints(0, x.c)}), asVector
		return x
	}
	x = u.convert(x, asTokens)
	y := x.name
	if from > 0 {
		y = u.op("Slice", []string{y, u.ints(from), u.ints(x.h * x.w), u.ints(1)})
	}
	x.name, x.kind = u.reduceOp("ReduceMean", y, []int{1}, intAttr("keepdims", 0)), asVector
	return x
}

// positions writes a sum with an embedding of positions.
func (u *layerWriter) positions() wire {
	x := u.convert(u.x, asTokens)
	p, _ := u.param(u.n.Names[0])
	return x.named(u.op("Add", []string{x.name, p}))
}

// tokens writes learned positions among those of the input.
func (u *layerWriter) tokens() wire {
	x := u.convert(u.x, asTokens)
	p, _ := u.param(u.n.Names[0])
	l, count := u.l, x.h*x.w
	batch := u.op("Shape", []string{x.name}, intAttr("start", 0), intAttr("end", 1))
	shape := u.op("Concat", []string{batch, u.ints(l.Out, x.c)}, intAttr("axis", 0))
	parts := []string{u.op("Expand", []string{p, shape})}
	slice := func(from, to int) string {
		return u.op("Slice", []string{x.name, u.ints(from), u.ints(to), u.ints(1)})
	}
	if l.At > 0 {
		parts = append([]string{slice(0, l.At)}, parts...)
	}
	if l.At == 0 {
		parts = append(parts, x.name)
	} else if l.At < count {
		parts = append(parts, slice(l.At, count))
	}
	return x.named(u.op("Concat", parts, intAttr("axis", 1)))
}

// affine writes a product or a sum with a value for each channel, or for each value of a
// vector.
func (u *layerWriter) affine(op string) wire {
	x := u.x
	shape := []int64{int64(x.c)}
	switch x.kind {
	case asImage:
		shape = append(shape, 1, 1)
	case asVector:
		shape[0] = int64(x.len())
	}
	p, _ := u.param(u.n.Names[0], shape...)
	return x.named(u.op(op, []string{x.name, p}))
}

// rsqrt is 1/sqrt(n).
func rsqrt(n int) float32 { return float32(1 / math.Sqrt(float64(n))) }

func transposed(v []float32, rows, cols int) []float32 {
	out := make([]float32, len(v))
	for i := range rows {
		for j := range cols {
			out[j*rows+i] = v[i*cols+j]
		}
	}
	return out
}
