package onnxnet

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/format/onnx"
	"github.com/kindred-ml/kindred/format/safetensors"
	"github.com/kindred-ml/kindred/nn"
)

// exportOpset is the version of the operators that Export writes: the first with
// LayerNormalization, which every runtime since 2022 has.
const exportOpset = 17

// Export returns the model that computes what net computes in evaluation: images
// of batch x channels x height x width in, named "image", batch x values out,
// named "embedding". The batch is open; sizes are the network's. How images are
// prepared is written to the metadata, and read from there by Import.
func Export(net *nn.Net, p Preparation) (*onnx.Model, error) {
	return export(net.Spec(), net.State(), p)
}

func export(spec *nn.Spec, weights *safetensors.File, p Preparation) (*onnx.Model, error) {
	e := &exporter{weights: weights, used: map[string]bool{}}
	in := spec.Input
	x, err := e.sequence(spec.Layers, "", wire{name: "image", rep: asImage, h: in.H, w: in.W, c: in.C})
	if err != nil {
		return nil, fmt.Errorf("export network %s: %w", spec.Name, err)
	}
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

// node adds one and returns its output's name.
func (e *exporter) node(path, op string, inputs []string, attrs ...onnx.Attr) string {
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
	t := e.weights.Tensor(name)
	if t == nil {
		return "", nil, fmt.Errorf("it has no parameter %q", name)
	}
	v, err := t.Float32s()
	if err != nil {
		return "", nil, err
	}
	if shape == nil {
		for _, d := range t.Shape {
			shape = append(shape, int64(d))
		}
	}
	return e.floats(name, shape, v), v, nil
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
		x.name = e.node(path, "Reshape", []string{x.name, e.ints(0, x.len())})
	case one && to == asTokens:
		x.name = e.node(path, "Reshape", []string{x.name, e.ints(0, 1, x.c)})
	case one || x.rep == asVector && to == asImage:
		x.name = e.node(path, "Reshape", []string{x.name, e.ints(0, x.c, x.h, x.w)})
	case to == asTokens:
		x.name = e.node(path, "Reshape", []string{x.name, e.ints(0, x.c, x.h*x.w)})
		x.name = e.node(path, "Transpose", []string{x.name}, intsAttr("perm", 0, 2, 1))
	default:
		x.name = e.node(path, "Transpose", []string{x.name}, intsAttr("perm", 0, 2, 1))
		x.name = e.node(path, "Reshape", []string{x.name, e.ints(0, x.c, x.h, x.w)})
	}
	x.rep = to
	return x
}

func (e *exporter) sequence(layers []nn.Layer, prefix string, x wire) (wire, error) {
	for i := range layers {
		var err error
		if x, err = e.layer(&layers[i], prefix, x); err != nil {
			return x, err
		}
	}
	return x, nil
}

func (e *exporter) layer(l *nn.Layer, prefix string, x wire) (wire, error) {
	path := prefix + l.Name
	inner := prefix
	if l.Name != "" {
		inner = path + "."
	}
	at := "/" + strings.ReplaceAll(path, ".", "/")
	var err error
	switch l.Kind {
	case nn.Sequential:
		return e.sequence(l.Layers, inner, x)
	case nn.Residual, nn.Multiply:
		return e.join(l, inner, at, x)
	case nn.Dropout, nn.StochasticDepth:
		return x, nil
	case nn.Concat:
		return e.concat(l, inner, at, x)
	case nn.Channels:
		if x.rep == asVector && x.h*x.w == 1 || x.rep == asTokens {
			x.name = e.node(at, "Slice", []string{x.name, e.ints(l.At), e.ints(l.At + l.Out), e.ints(-1)})
		} else {
			x = e.bring(x, asImage, at)
			x.name = e.node(at, "Slice", []string{x.name, e.ints(l.At), e.ints(l.At + l.Out), e.ints(1)})
		}
		x.c = l.Out
		return x, nil
	case nn.Shuffle:
		x = e.bring(x, asImage, at)
		x.name = e.node(at, "Reshape", []string{x.name, e.ints(0, l.Groups, x.c/l.Groups, x.h*x.w)})
		x.name = e.node(at, "Transpose", []string{x.name}, intsAttr("perm", 0, 2, 1, 3))
		x.name = e.node(at, "Reshape", []string{x.name, e.ints(0, x.c, x.h, x.w)})
		return x, nil
	case nn.Conv, nn.MaxPool, nn.AvgPool:
		x, err = e.windowed(l, inner, at, e.bring(x, asImage, at))
	case nn.Dense, nn.Linear:
		x, err = e.weighted(l, inner, at, x)
	case nn.BatchNorm, nn.LayerNorm:
		x, err = e.normalized(l, inner, at, x)
	case nn.Attention:
		x = e.attention(l, at, e.bring(x, asTokens, at))
	case nn.GlobalAvgPool, nn.GEMPool:
		x, err = e.pooled(l, path, at, x)
	case nn.Flatten:
		x = e.bring(x, asVector, at)
		if l.ChannelFirst {
			x.h, x.w, x.c = 1, 1, x.len()
		}
	case nn.Tokens, nn.TakeToken, nn.Positions:
		x, err = e.tokens(l, path, at, e.bring(x, asTokens, at))
	case nn.Scale, nn.Shift:
		x, err = e.affine(l, path, at, x)
	case nn.L2Normalize:
		axes := []int{1, 2, 3}[:map[rep]int{asImage: 3, asTokens: 2, asVector: 1}[x.rep]]
		length := e.node(at, "ReduceL2", []string{x.name}, intsAttr("axes", axes...))
		length = e.node(at, "Max", []string{length, e.number(1e-12)})
		x.name = e.node(at, "Div", []string{x.name, length})
	default:
		x.name, err = e.activation(l.Kind, at, x.name)
	}
	if err != nil {
		return x, fmt.Errorf("layer %s (%s): %w", path, l.Kind, err)
	}
	return x, nil
}

// activation writes those that opset 17 has no operator for in pieces.
func (e *exporter) activation(k nn.Kind, at, x string) (string, error) {
	mul := func(a, b string) string { return e.node(at, "Mul", []string{a, b}) }
	add := func(a, b string) string { return e.node(at, "Add", []string{a, b}) }
	of := func(op, x string, attrs ...onnx.Attr) string { return e.node(at, op, []string{x}, attrs...) }
	switch k {
	case nn.ReLU:
		return of("Relu", x), nil
	case nn.ReLU6:
		return e.node(at, "Clip", []string{x, e.number(0), e.number(6)}), nil
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

// join writes a sum or a product of two branches.
func (e *exporter) join(l *nn.Layer, inner, at string, x wire) (wire, error) {
	b, err := e.sequence(l.Shortcut, inner, x)
	if err != nil {
		return x, err
	}
	a, err := e.sequence(l.Layers, inner, x)
	if err != nil {
		return x, err
	}
	op := "Add"
	if l.Kind == nn.Multiply {
		op = "Mul"
	}
	if a.h*a.w == b.h*b.w {
		b = e.bring(b, a.rep, at)
		b.h, b.w = a.h, a.w
	} else { // a gate for each channel
		a = e.bring(a, b.rep, at)
	}
	b.name = e.node(at, op, []string{b.name, a.name})
	return b, nil
}

// concat writes branches side by side.
func (e *exporter) concat(l *nn.Layer, inner, at string, x wire) (wire, error) {
	var parts []string
	var all wire
	for i := range l.Layers {
		y, err := e.layer(&l.Layers[i], inner, x)
		if err != nil {
			return x, err
		}
		y = e.bring(y, asImage, at)
		parts = append(parts, y.name)
		y.c += all.c
		all = y
	}
	all.name = e.node(at, "Concat", parts, intAttr("axis", 1))
	return all, nil
}

func (e *exporter) windowed(l *nn.Layer, inner, at string, x wire) (wire, error) {
	stride := max(l.Stride, 1)
	if l.Stride == 0 && l.Kind != nn.Conv {
		stride = l.Kernel
	}
	wide, side := l.Kernel, l.Pad // width of the kernel, padding on the left
	if l.KernelW > 0 {
		wide, side = l.KernelW, l.PadW
	}
	bottom, right := l.Pad+l.PadEnd, side+l.PadEnd
	x.h, x.w = (x.h+l.Pad+bottom-l.Kernel)/stride+1, (x.w+side+right-wide)/stride+1
	attrs := []onnx.Attr{intsAttr("kernel_shape", l.Kernel, wide), intsAttr("pads", l.Pad, side, bottom, right),
		intsAttr("strides", stride, stride)}
	counted := 1
	if l.NoPad {
		counted = 0
	}
	switch l.Kind {
	case nn.MaxPool:
		x.name = e.node(at, "MaxPool", []string{x.name}, attrs...)
		return x, nil
	case nn.AvgPool:
		x.name = e.node(at, "AveragePool", []string{x.name}, append(attrs, intAttr("count_include_pad", counted))...)
		return x, nil
	}
	groups := max(l.Groups, 1)
	if l.Groups == -1 {
		groups = x.c
	}
	w, _, err := e.param(inner + "weight")
	if err != nil {
		return x, err
	}
	inputs := []string{x.name, w}
	if !l.NoBias {
		b, _, err := e.param(inner + "bias")
		if err != nil {
			return x, err
		}
		inputs = append(inputs, b)
	}
	x.name = e.node(at, "Conv", inputs, append(attrs, intAttr("group", groups))...)
	x.c = l.Out
	return x, nil
}

// weighted writes a dense layer, or a linear one over tokens.
func (e *exporter) weighted(l *nn.Layer, inner, at string, x wire) (wire, error) {
	dense := l.Kind == nn.Dense || x.h*x.w == 1
	name, values, err := "", []float32(nil), error(nil)
	if dense {
		x = e.bring(x, asVector, at)
		name, _, err = e.param(inner + "weight")
	} else {
		x = e.bring(x, asTokens, at)
		t := e.weights.Tensor(inner + "weight")
		if t == nil {
			return x, fmt.Errorf("it has no parameter %q", inner+"weight")
		}
		if values, err = t.Float32s(); err == nil { // inputs x outputs, as MatMul takes it
			name = e.floats(inner+"weight", []int64{int64(x.c), int64(l.Out)}, transposed(values, l.Out, x.c))
		}
	}
	if err != nil {
		return x, err
	}
	bias := ""
	if !l.NoBias {
		if bias, _, err = e.param(inner + "bias"); err != nil {
			return x, err
		}
	}
	if !dense {
		x.name, x.c = e.node(at, "MatMul", []string{x.name, name}), l.Out
		if bias != "" {
			x.name = e.node(at, "Add", []string{x.name, bias})
		}
		return x, nil
	}
	inputs := []string{x.name, name}
	if bias != "" {
		inputs = append(inputs, bias)
	}
	return wire{e.node(at, "Gemm", inputs, intAttr("transB", 1)), asVector, 1, 1, l.Out}, nil
}

func (e *exporter) normalized(l *nn.Layer, inner, at string, x wire) (wire, error) {
	eps := l.Eps
	if eps == 0 {
		eps = 1e-5
	}
	op, names, attr := "LayerNormalization", []string{"weight", "bias"}, intAttr("axis", -1)
	switch {
	case l.Kind == nn.BatchNorm:
		op, names, attr = "BatchNormalization", append(names, "running_mean", "running_var"), floatAttr("momentum", 0.9)
		if x.rep == asTokens {
			x = e.bring(x, asImage, at)
		}
	case x.rep == asImage:
		x = e.bring(x, asTokens, at)
	}
	inputs := []string{x.name}
	for _, name := range names {
		p, _, err := e.param(inner + name)
		if err != nil {
			return x, err
		}
		inputs = append(inputs, p)
	}
	x.name = e.node(at, op, inputs, attr, floatAttr("epsilon", eps))
	return x, nil
}

func (e *exporter) attention(l *nn.Layer, at string, x wire) wire {
	t, d, heads := x.h*x.w, x.c/3, max(l.Heads, 1)
	size := d / heads
	all := e.node(at, "Reshape", []string{x.name, e.ints(0, t, 3, heads, size)})
	all = e.node(at, "Transpose", []string{all}, intsAttr("perm", 2, 0, 3, 1, 4))
	part := func(i int) string { return e.node(at, "Gather", []string{all, e.index(i)}, intAttr("axis", 0)) }
	keys := e.node(at, "Transpose", []string{part(1)}, intsAttr("perm", 0, 1, 3, 2))
	queries := e.node(at, "Mul", []string{part(0), e.number(rsqrt(size))})
	weights := e.node(at, "Softmax", []string{e.node(at, "MatMul", []string{queries, keys})}, intAttr("axis", -1))
	y := e.node(at, "MatMul", []string{weights, part(2)})
	y = e.node(at, "Transpose", []string{y}, intsAttr("perm", 0, 2, 1, 3))
	x.name, x.c = e.node(at, "Reshape", []string{y, e.ints(0, t, d)}), d
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

func (e *exporter) pooled(l *nn.Layer, path, at string, x wire) (wire, error) {
	end := func(name string) wire { return wire{name, asVector, 1, 1, x.c} }
	if l.Kind == nn.GEMPool {
		_, p, err := e.param(path)
		if err != nil {
			return x, err
		}
		eps := float32(l.Eps)
		if eps == 0 {
			eps = 1e-6
		}
		x = e.bring(x, asImage, at)
		y := e.node(at, "Pow", []string{e.node(at, "Max", []string{x.name, e.number(eps)}), e.number(p[0])})
		y = e.node(at, "GlobalAveragePool", []string{y})
		y = e.node(at, "Reshape", []string{y, e.ints(0, x.c)})
		return end(e.node(at, "Pow", []string{y, e.number(1 / p[0])})), nil
	}
	if l.At == 0 && x.rep == asImage {
		y := e.node(at, "GlobalAveragePool", []string{x.name})
		return end(e.node(at, "Reshape", []string{y, e.ints(0, x.c)})), nil
	}
	x = e.bring(x, asTokens, at)
	y := x.name
	if l.At > 0 {
		y = e.node(at, "Slice", []string{y, e.ints(l.At), e.ints(x.h * x.w), e.ints(1)})
	}
	return end(e.node(at, "ReduceMean", []string{y}, intsAttr("axes", 1), intAttr("keepdims", 0))), nil
}

// tokens writes what adds, takes and marks positions.
func (e *exporter) tokens(l *nn.Layer, path, at string, x wire) (wire, error) {
	n := x.h * x.w
	if l.Kind == nn.TakeToken {
		return wire{e.node(at, "Gather", []string{x.name, e.index(l.At)}, intAttr("axis", 1)), asVector, 1, 1, x.c}, nil
	}
	p, _, err := e.param(path)
	if err != nil {
		return x, err
	}
	if l.Kind == nn.Positions {
		x.name = e.node(at, "Add", []string{x.name, p})
		return x, nil
	}
	batch := e.node(at, "Shape", []string{x.name}, intAttr("start", 0), intAttr("end", 1))
	shape := e.node(at, "Concat", []string{batch, e.ints(l.Out, x.c)}, intAttr("axis", 0))
	parts := []string{e.node(at, "Expand", []string{p, shape})}
	slice := func(from, to int) string {
		return e.node(at, "Slice", []string{x.name, e.ints(from), e.ints(to), e.ints(1)})
	}
	if l.At > 0 {
		parts = append([]string{slice(0, l.At)}, parts...)
	}
	if l.At == 0 {
		parts = append(parts, x.name)
	} else if l.At < n {
		parts = append(parts, slice(l.At, n))
	}
	x.name = e.node(at, "Concat", parts, intAttr("axis", 1))
	x.h, x.w = 1, n+l.Out
	return x, nil
}

func (e *exporter) affine(l *nn.Layer, path, at string, x wire) (wire, error) {
	shape := []int64{int64(x.c)}
	switch {
	case x.rep == asImage:
		shape = append(shape, 1, 1)
	case x.rep == asVector && x.h*x.w > 1:
		x = e.bring(x, asImage, at)
		shape = append(shape, 1, 1)
	}
	p, _, err := e.param(path, shape...)
	if err != nil {
		return x, err
	}
	op := "Mul"
	if l.Kind == nn.Shift {
		op = "Add"
	}
	x.name = e.node(at, op, []string{x.name, p})
	return x, nil
}
