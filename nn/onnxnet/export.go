package onnxnet

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/format/safetensors"
	"github.com/kindred-ml/kindred/internal/onnx"
	"github.com/kindred-ml/kindred/nn"
)

// exportOpset is the version of the operators that Export writes: the first with
// LayerNormalization, which every runtime since 2022 has.
const exportOpset = 17

// Export returns the model that computes what net computes in evaluation: images
// of batch x channels x height x width in, named "image", batch x values out,
// named "embedding". The batch is open; sizes are the network's. How images are
// prepared is written to the metadata, and read from there by Import.
func Export(net *nn.Net, p Preparation) (*Model, error) {
	return export(net.Spec(), net.State(), p)
}

func export(spec *nn.Spec, weights *safetensors.File, p Preparation) (*onnx.Model, error) {
	g, err := spec.Graph()
	if err != nil {
		return nil, err
	}
	e := &exporter{weights: weights, used: map[string]bool{}}
	in := spec.Input
	values := []wire{{name: "image", rep: asImage, h: in.H, w: in.W, c: in.C}}
	for i := range g.Nodes {
		y, err := e.node(&g.Nodes[i], values)
		if err != nil {
			return nil, fmt.Errorf("export network %s: %w", spec.Name, err)
		}
		values = append(values, y)
	}
	x := values[g.Out]
	if x.h*x.w > 1 { // flattened, and in networks here positions come before channels
		x = e.bring(e.bring(x, asImage, "/embedding"), asTokens, "/embedding")
		x.h, x.w, x.c = 1, 1, x.len()
	}
	x = e.bring(x, asVector, "/embedding")
	e.nodes = append(e.nodes, onnx.Node{Name: "/embedding/Identity", Op: "Identity", Inputs: []string{x.name},
		Outputs: []string{"embedding"}})
	open := onnx.Dim{Name: "batch"}
	side := func(n int) onnx.Dim { return onnx.Dim{Size: int64(n)} }
	m := &onnx.Model{
		Producer: "kindred", Opsets: []onnx.Opset{{Version: exportOpset}}, Meta: p.Entries(in),
		Graph: onnx.Graph{
			Name: spec.Name, Nodes: e.nodes, Initializers: e.initializers,
			Inputs: []onnx.Value{{Name: "image", Type: onnx.Float32,
				Shape: []onnx.Dim{open, side(in.C), side(in.H), side(in.W)}}},
			Outputs: []onnx.Value{{Name: "embedding", Type: onnx.Float32, Shape: []onnx.Dim{open, side(x.len())}}},
		},
	}
	return m, m.Check()
}

// rep says in which shape a value is: an image is batch x c x h x w, tokens are
// batch x h w x c, a vector is batch x c h w, channels first.
type rep int

const (
	asImage rep = iota
	asTokens
	asVector
)

// wire is a value of the graph under construction.
type wire struct {
	name    string
	rep     rep
	h, w, c int
}

func (x wire) len() int { return x.h * x.w * x.c }

type exporter struct {
	weights      *safetensors.File
	nodes        []onnx.Node
	initializers []onnx.Tensor
	used         map[string]bool // names of initializers
	counts       int
}

// op adds an operator and returns its output's name.
func (e *exporter) op(path, op string, inputs []string, attrs ...onnx.Attr) string {
	e.counts++
	name := fmt.Sprintf("%s/%s_%d", path, op, e.counts)
	e.nodes = append(e.nodes, onnx.Node{Name: name, Op: op, Inputs: inputs, Outputs: []string{name}, Attrs: attrs})
	return name
}

func intAttr(name string, v int) onnx.Attr {
	return onnx.Attr{Name: name, Type: onnx.AttrInt, Int: int64(v)}
}

func intsAttr(name string, v ...int) onnx.Attr {
	a := onnx.Attr{Name: name, Type: onnx.AttrInts}
	for _, x := range v {
		a.Ints = append(a.Ints, int64(x))
	}
	return a
}

func floatAttr(name string, v float64) onnx.Attr {
	return onnx.Attr{Name: name, Type: onnx.AttrFloat, Float: float32(v)}
}

// ints adds a constant of integers, one for all that are the same.
func (e *exporter) ints(values ...int) string {
	v := make([]int64, len(values))
	for i, x := range values {
		v[i] = int64(x)
	}
	name := "int" + strings.ReplaceAll(strings.Trim(fmt.Sprint(values), "[]"), " ", "_")
	if !e.used[name] {
		e.used[name] = true
		e.initializers = append(e.initializers, onnx.Ints(name, []int64{int64(len(v))}, v))
	}
	return name
}

// number adds a single number.
func (e *exporter) number(v float32) string {
	name := "number" + strconv.FormatFloat(float64(v), 'g', -1, 32)
	if !e.used[name] {
		e.used[name] = true
		e.initializers = append(e.initializers, onnx.Floats(name, []int64{}, []float32{v}))
	}
	return name
}

// param adds a parameter of the network in the given shape, nil for its own.
func (e *exporter) param(name string, shape ...int64) (string, []float32, error) {
	v, own, err := e.values(name)
	if err != nil {
		return "", nil, err
	}
	if shape == nil {
		shape = own
	}
	return e.floats(name, shape, v), v, nil
}

// params adds all parameters of a layer.
func (e *exporter) params(n *nn.Node) ([]string, error) {
	for _, name := range n.Names {
		if _, _, err := e.param(name); err != nil {
			return nil, err
		}
	}
	return n.Names, nil
}

// values returns a parameter and its shape.
func (e *exporter) values(name string) (v []float32, shape []int64, err error) {
	t := e.weights.Tensor(name)
	if t == nil {
		return nil, nil, fmt.Errorf("it has no parameter %q", name)
	}
	for _, d := range t.Shape {
		shape = append(shape, int64(d))
	}
	v, err = t.Float32s()
	return v, shape, err
}

func (e *exporter) floats(name string, shape []int64, v []float32) string {
	if !e.used[name] {
		e.used[name] = true
		e.initializers = append(e.initializers, onnx.Floats(name, shape, v))
	}
	return name
}

// bring gives a value another shape.
func (e *exporter) bring(x wire, to rep, path string) wire {
	if x.rep == to {
		return x
	}
	one := x.h*x.w == 1
	switch {
	case to == asVector && x.rep == asTokens && !one:
		x = e.bring(x, asImage, path) // vectors have the channels in front
		fallthrough
	case to == asVector:
		x.name = e.op(path, "Reshape", []string{x.name, e.ints(0, x.len())})
	case one && to == asTokens:
		x.name = e.op(path, "Reshape", []string{x.name, e.ints(0, 1, x.c)})
	case one || x.rep == asVector && to == asImage:
		x.name = e.op(path, "Reshape", []string{x.name, e.ints(0, x.c, x.h, x.w)})
	case to == asTokens:
		x.name = e.op(path, "Reshape", []string{x.name, e.ints(0, x.c, x.h*x.w)})
		x.name = e.op(path, "Transpose", []string{x.name}, intsAttr("perm", 0, 2, 1))
	default:
		x.name = e.op(path, "Transpose", []string{x.name}, intsAttr("perm", 0, 2, 1))
		x.name = e.op(path, "Reshape", []string{x.name, e.ints(0, x.c, x.h, x.w)})
	}
	x.rep = to
	return x
}

// node writes a layer, which takes some of the values before it.
func (e *exporter) node(n *nn.Node, values []wire) (wire, error) {
	x, path := values[n.From[0]], n.Path
	if n.Layer.Name == "" {
		path = n.Prefix
	}
	at := "/" + strings.ReplaceAll(path, ".", "/")
	l := &n.Layer
	var err error
	switch l.Kind {
	case nn.Residual, nn.Multiply:
		x = e.join(l, at, x, values[n.From[1]])
	case nn.Dropout, nn.StochasticDepth:
	case nn.Concat:
		x = e.concat(n, at, values)
	case nn.Channels:
		if x.rep == asVector && x.h*x.w == 1 || x.rep == asTokens {
			x.name = e.op(at, "Slice", []string{x.name, e.ints(l.At), e.ints(l.At + l.Out), e.ints(-1)})
		} else {
			x = e.bring(x, asImage, at)
			x.name = e.op(at, "Slice", []string{x.name, e.ints(l.At), e.ints(l.At + l.Out), e.ints(1)})
		}
	case nn.Shuffle:
		x = e.bring(x, asImage, at)
		x.name = e.op(at, "Reshape", []string{x.name, e.ints(0, l.Groups, x.c/l.Groups, x.h*x.w)})
		x.name = e.op(at, "Transpose", []string{x.name}, intsAttr("perm", 0, 2, 1, 3))
		x.name = e.op(at, "Reshape", []string{x.name, e.ints(0, x.c, x.h, x.w)})
	case nn.Conv, nn.MaxPool, nn.AvgPool:
		x, err = e.windowed(n, at, e.bring(x, asImage, at))
	case nn.Dense, nn.Linear:
		x, err = e.weighted(n, at, x)
	case nn.BatchNorm, nn.LayerNorm:
		x, err = e.normalized(n, at, x)
	case nn.Attention:
		x = e.attention(l.Heads, at, e.bring(x, asTokens, at))
	case nn.GlobalAvgPool:
		x = e.averaged(l.At, at, x)
	case nn.GEMPool:
		x, err = e.generalizedMean(n, at, x)
	case nn.Flatten:
		x = e.bring(x, asVector, at)
	case nn.TakeToken:
		x = e.bring(x, asTokens, at)
		x.name, x.rep = e.op(at, "Gather", []string{x.name, e.index(l.At)}, intAttr("axis", 1)), asVector
	case nn.Tokens, nn.Positions:
		x, err = e.tokens(n, at, e.bring(x, asTokens, at))
	case nn.Scale, nn.Shift:
		x, err = e.affine(n, at, x)
	case nn.L2Normalize:
		axes := []int{1, 2, 3}[:map[rep]int{asImage: 3, asTokens: 2, asVector: 1}[x.rep]]
		length := e.op(at, "ReduceL2", []string{x.name}, intsAttr("axes", axes...))
		length = e.op(at, "Max", []string{length, e.number(1e-12)})
		x.name = e.op(at, "Div", []string{x.name, length})
	default:
		x.name, err = e.activation(l.Kind, at, x.name)
	}
	if err != nil {
		return x, fmt.Errorf("layer %s (%s): %w", path, l.Kind, err)
	}
	x.h, x.w, x.c = n.Out.H, n.Out.W, n.Out.C
	return x, nil
}

// activation writes those that opset 17 has no operator for in pieces.
func (e *exporter) activation(k nn.Kind, at, x string) (string, error) {
	mul := func(a, b string) string { return e.op(at, "Mul", []string{a, b}) }
	add := func(a, b string) string { return e.op(at, "Add", []string{a, b}) }
	of := func(op, x string, attrs ...onnx.Attr) string { return e.op(at, op, []string{x}, attrs...) }
	switch k {
	case nn.ReLU:
		return of("Relu", x), nil
	case nn.ReLU6:
		return e.op(at, "Clip", []string{x, e.number(0), e.number(6)}), nil
	case nn.Sigmoid:
		return of("Sigmoid", x), nil
	case nn.HardSigmoid:
		return of("HardSigmoid", x, floatAttr("alpha", 1.0/6), floatAttr("beta", 0.5)), nil
	case nn.HardSwish:
		return of("HardSwish", x), nil
	case nn.SiLU:
		return mul(x, of("Sigmoid", x)), nil
	case nn.QuickGELU:
		return mul(x, of("Sigmoid", mul(x, e.number(1.702)))), nil
	case nn.GELU:
		erf := add(of("Erf", mul(x, e.number(0.70710678))), e.number(1))
		return mul(mul(x, erf), e.number(0.5)), nil
	case nn.GELUTanh:
		cube := mul(mul(mul(x, x), x), e.number(0.044715))
		tanh := add(of("Tanh", mul(add(x, cube), e.number(0.7978846))), e.number(1))
		return mul(mul(x, tanh), e.number(0.5)), nil
	}
	return "", fmt.Errorf("it has no form in ONNX here")
}

// join writes a sum or a product of what layers make, a, and their shortcut, b.
func (e *exporter) join(l *nn.Layer, at string, a, b wire) wire {
	op := "Add"
	if l.Kind == nn.Multiply {
		op = "Mul"
	}
	if a.h*a.w == b.h*b.w {
		b = e.bring(b, a.rep, at)
	} else { // a gate for each channel
		a = e.bring(a, b.rep, at)
	}
	b.name = e.op(at, op, []string{b.name, a.name})
	return b
}

// concat writes branches side by side.
func (e *exporter) concat(n *nn.Node, at string, values []wire) wire {
	var parts []string
	for _, v := range n.From {
		parts = append(parts, e.bring(values[v], asImage, at).name)
	}
	return wire{name: e.op(at, "Concat", parts, intAttr("axis", 1)), rep: asImage}
}

func (e *exporter) windowed(n *nn.Node, at string, x wire) (wire, error) {
	l := &n.Layer
	attrs := []onnx.Attr{intsAttr("kernel_shape", l.Kernel, l.KernelW),
		intsAttr("pads", l.Pad, l.PadW, l.Pad+l.PadEnd, l.PadW+l.PadEnd), intsAttr("strides", l.Stride, l.Stride)}
	counted := 1
	if l.NoPad {
		counted = 0
	}
	switch l.Kind {
	case nn.MaxPool:
		x.name = e.op(at, "MaxPool", []string{x.name}, attrs...)
		return x, nil
	case nn.AvgPool:
		x.name = e.op(at, "AveragePool", []string{x.name}, append(attrs, intAttr("count_include_pad", counted))...)
		return x, nil
	}
	params, err := e.params(n)
	if err != nil {
		return x, err
	}
	x.name = e.op(at, "Conv", append([]string{x.name}, params...), append(attrs, intAttr("group", l.Groups))...)
	return x, nil
}

// weighted writes a dense layer, or a linear one over tokens.
func (e *exporter) weighted(n *nn.Node, at string, x wire) (wire, error) {
	if n.Kind == nn.Dense || x.h*x.w == 1 {
		x = e.bring(x, asVector, at)
		params, err := e.params(n)
		if err != nil {
			return x, err
		}
		x.name = e.op(at, "Gemm", append([]string{x.name}, params...), intAttr("transB", 1))
		return x, nil
	}
	x = e.bring(x, asTokens, at)
	values, _, err := e.values(n.Names[0])
	if err != nil {
		return x, err
	}
	out := n.Layer.Out // inputs x outputs, as MatMul takes it
	weight := e.floats(n.Names[0], []int64{int64(x.c), int64(out)}, transposed(values, out, x.c))
	x.name = e.op(at, "MatMul", []string{x.name, weight})
	if len(n.Names) > 1 {
		bias, _, err := e.param(n.Names[1])
		if err != nil {
			return x, err
		}
		x.name = e.op(at, "Add", []string{x.name, bias})
	}
	return x, nil
}

func (e *exporter) normalized(n *nn.Node, at string, x wire) (wire, error) {
	op, attr := "LayerNormalization", intAttr("axis", -1)
	switch {
	case n.Kind == nn.BatchNorm:
		op, attr = "BatchNormalization", floatAttr("momentum", 0.9)
		if x.rep == asTokens {
			x = e.bring(x, asImage, at)
		}
	case x.rep == asImage:
		x = e.bring(x, asTokens, at)
	}
	params, err := e.params(n)
	if err != nil {
		return x, err
	}
	x.name = e.op(at, op, append([]string{x.name}, params...), attr, floatAttr("epsilon", n.Layer.Eps))
	return x, nil
}

func (e *exporter) attention(heads int, at string, x wire) wire {
	t, d := x.h*x.w, x.c/3
	size := d / heads
	all := e.op(at, "Reshape", []string{x.name, e.ints(0, t, 3, heads, size)})
	all = e.op(at, "Transpose", []string{all}, intsAttr("perm", 2, 0, 3, 1, 4))
	part := func(i int) string { return e.op(at, "Gather", []string{all, e.index(i)}, intAttr("axis", 0)) }
	keys := e.op(at, "Transpose", []string{part(1)}, intsAttr("perm", 0, 1, 3, 2))
	queries := e.op(at, "Mul", []string{part(0), e.number(rsqrt(size))})
	weights := e.op(at, "Softmax", []string{e.op(at, "MatMul", []string{queries, keys})}, intAttr("axis", -1))
	y := e.op(at, "MatMul", []string{weights, part(2)})
	y = e.op(at, "Transpose", []string{y}, intsAttr("perm", 0, 2, 1, 3))
	x.name = e.op(at, "Reshape", []string{y, e.ints(0, t, d)})
	return x
}

// index adds a single integer.
func (e *exporter) index(i int) string {
	name := "index" + strconv.Itoa(i)
	if !e.used[name] {
		e.used[name] = true
		e.initializers = append(e.initializers, onnx.Ints(name, []int64{}, []int64{int64(i)}))
	}
	return name
}

// generalizedMean writes (mean of max(x, eps)^p over positions)^(1/p).
func (e *exporter) generalizedMean(n *nn.Node, at string, x wire) (wire, error) {
	_, p, err := e.param(n.Names[0])
	if err != nil {
		return x, err
	}
	x = e.bring(x, asImage, at)
	y := e.op(at, "Max", []string{x.name, e.number(float32(n.Layer.Eps))})
	y = e.op(at, "Pow", []string{y, e.number(p[0])})
	y = e.op(at, "GlobalAveragePool", []string{y})
	y = e.op(at, "Reshape", []string{y, e.ints(0, x.c)})
	x.name, x.rep = e.op(at, "Pow", []string{y, e.number(1 / p[0])}), asVector
	return x, nil
}

// averaged writes the mean over positions from one on.
func (e *exporter) averaged(from int, at string, x wire) wire {
	if from == 0 && x.rep == asImage {
		y := e.op(at, "GlobalAveragePool", []string{x.name})
		x.name, x.rep = e.op(at, "Reshape", []string{y, e.ints(0, x.c)}), asVector
		return x
	}
	x = e.bring(x, asTokens, at)
	y := x.name
	if from > 0 {
		y = e.op(at, "Slice", []string{y, e.ints(from), e.ints(x.h * x.w), e.ints(1)})
	}
	x.name, x.rep = e.op(at, "ReduceMean", []string{y}, intsAttr("axes", 1), intAttr("keepdims", 0)), asVector
	return x
}

// tokens writes what adds and marks positions.
func (e *exporter) tokens(n *nn.Node, at string, x wire) (wire, error) {
	p, _, err := e.param(n.Names[0])
	if err != nil {
		return x, err
	}
	l, count := &n.Layer, x.h*x.w
	if l.Kind == nn.Positions {
		x.name = e.op(at, "Add", []string{x.name, p})
		return x, nil
	}
	batch := e.op(at, "Shape", []string{x.name}, intAttr("start", 0), intAttr("end", 1))
	shape := e.op(at, "Concat", []string{batch, e.ints(l.Out, x.c)}, intAttr("axis", 0))
	parts := []string{e.op(at, "Expand", []string{p, shape})}
	slice := func(from, to int) string {
		return e.op(at, "Slice", []string{x.name, e.ints(from), e.ints(to), e.ints(1)})
	}
	if l.At > 0 {
		parts = append([]string{slice(0, l.At)}, parts...)
	}
	if l.At == 0 {
		parts = append(parts, x.name)
	} else if l.At < count {
		parts = append(parts, slice(l.At, count))
	}
	x.name = e.op(at, "Concat", parts, intAttr("axis", 1))
	return x, nil
}

func (e *exporter) affine(n *nn.Node, at string, x wire) (wire, error) {
	shape := []int64{int64(x.c)}
	switch {
	case x.rep == asImage:
		shape = append(shape, 1, 1)
	case x.rep == asVector && x.h*x.w > 1:
		x = e.bring(x, asImage, at)
		shape = append(shape, 1, 1)
	}
	p, _, err := e.param(n.Names[0], shape...)
	if err != nil {
		return x, err
	}
	op := "Mul"
	if n.Kind == nn.Shift {
		op = "Add"
	}
	x.name = e.op(at, op, []string{x.name, p})
	return x, nil
}
