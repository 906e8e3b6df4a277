// Package onnxexport writes networks of package nn as ONNX models.
package onnxexport

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/published"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// exportOpset is the version of the operators that Export writes: the first with
// LayerNormalization, which every runtime since 2022 has.
const exportOpset = 17

// Export returns a model that computes the same as net in evaluation. Its input
// "image" is batch x channels x height x width, its output "embedding" batch x
// values. The batch size is open; the other sizes are the network's. The
// preparation of images is written to the metadata, where Import reads it.
//
// A network in 8 bits is written with QuantizeLinear and DequantizeLinear. The model rounds
// once more than the network where a convolution is followed by a residual or a curved
// activation, because other programs have no sum of bytes that goes on in float32. Adapters are
// merged into their layers.
func Export(net *nn.Net, p published.Preparation) (*onnx.Model, error) {
	net, err := net.MergeLoRA()
	if err != nil {
		return nil, err
	}
	stages := map[int]*nn.Stage{}
	if net.Quantization() != nil {
		for _, st := range net.Stages() {
			for _, n := range st.Nodes {
				stages[n] = &st
			}
		}
	}
	return FromSpec(net.Spec(), net.State(), stages, p)
}

// FromSpec is Export for a network by its description and its weights, some stages of which may be in 8 bits.
func FromSpec(spec *nn.Spec, weights *safetensors.File, stages map[int]*nn.Stage,
	p published.Preparation) (*onnx.Model, error) {
	g, err := spec.Graph()
	if err != nil {
		return nil, err
	}
	e := &exporter{weights: weights, parameters: map[string]parameter{}, graphs: map[string]*onnx.Model{},
		used: map[string]bool{}, stages: stages, bytes: map[int]string{}}
	if err := e.adoptOpsets(g); err != nil {
		return nil, fmt.Errorf("export network %s: %w", spec.Name, err)
	}
	in := spec.Input
	values := []wire{{name: "image", kind: asImage, h: in.H, w: in.W, c: in.C}}
	for i := range g.Nodes {
		y, err := e.value(g, i, values)
		if err != nil {
			return nil, fmt.Errorf("export network %s: %w", spec.Name, err)
		}
		values = append(values, y)
	}
	x := values[g.Out]
	if x.h*x.w > 1 { // flattened, and in networks here positions come before channels
		x = e.convert(e.convert(x, asImage, "/embedding"), asTokens, "/embedding")
		x.h, x.w, x.c = 1, 1, x.len()
	}
	x = e.convert(x, asVector, "/embedding")
	e.nodes = append(e.nodes, onnx.Node{Name: "/embedding/Identity", Op: "Identity", Inputs: []string{x.name},
		Outputs: []string{"embedding"}})
	open := onnx.Dim{Name: "batch"}
	side := func(n int) onnx.Dim { return onnx.Dim{Size: int64(n)} }
	m := &onnx.Model{
		Producer: "kindred", IRVersion: e.version, Opsets: e.opsets, Meta: published.Entries(&p, in),
		Graph: onnx.Graph{
			Name: spec.Name, Nodes: e.nodes, Initializers: e.initializers,
			Inputs: []onnx.Value{{Name: "image", Type: onnx.Float32,
				Shape: []onnx.Dim{open, side(in.C), side(in.H), side(in.W)}}},
			Outputs: []onnx.Value{{Name: "embedding", Type: onnx.Float32, Shape: []onnx.Dim{open, side(x.len())}}},
		},
	}
	return m, m.Check()
}

// shapeKind says in which shape a value is: an image is batch x c x h x w, tokens are
// batch x h w x c, a vector is batch x c h w, channels first.
type shapeKind int

const (
	asImage shapeKind = iota
	asTokens
	asVector
)

// wire is a value of the graph under construction.
type wire struct {
	name    string
	kind    shapeKind
	h, w, c int
}

func (x wire) len() int { return x.h * x.w * x.c }

type exporter struct {
	weights      *safetensors.File
	parameters   map[string]parameter   // of the layer that is written
	graphs       map[string]*onnx.Model // of layers of operators, by their paths
	nodes        []onnx.Node
	initializers []onnx.Tensor
	used         map[string]bool // names of initializers
	counts       int
	stages       map[int]*nn.Stage // by node; of a network in 8 bits
	bytes        map[int]string    // the values that have passed through bytes
	opsets       []onnx.Opset
	version      int64 // of the format; 0: the usual one
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

// index adds a single integer.
func (e *exporter) index(i int) string {
	name := "index" + strconv.Itoa(i)
	if !e.used[name] {
		e.used[name] = true
		e.initializers = append(e.initializers, onnx.Ints(name, []int64{}, []int64{int64(i)}))
	}
	return name
}

// parameter is a tensor of the network's weights.
type parameter struct {
	values []float32
	shape  []int64
}

// load reads the parameters of a layer.
func (e *exporter) load(names []string) error {
	clear(e.parameters)
	for _, name := range names {
		t := e.weights.Tensor(name)
		if t == nil {
			return fmt.Errorf("it has no parameter %q", name)
		}
		var p parameter
		for _, d := range t.Shape {
			p.shape = append(p.shape, int64(d))
		}
		var err error
		if p.values, err = t.Float32s(); err != nil {
			return err
		}
		e.parameters[name] = p
	}
	return nil
}

// param adds a parameter of the layer in the given shape, nil for its own, and returns its name and its values.
func (e *exporter) param(name string, shape ...int64) (string, []float32) {
	p := e.parameters[name]
	if shape == nil {
		shape = p.shape
	}
	return e.floats(name, shape, p.values), p.values
}

func (e *exporter) floats(name string, shape []int64, v []float32) string {
	if !e.used[name] {
		e.used[name] = true
		e.initializers = append(e.initializers, onnx.Floats(name, shape, v))
	}
	return name
}

// convert gives a value another shape.
func (e *exporter) convert(x wire, to shapeKind, path string) wire {
	if x.kind == to {
		return x
	}
	one := x.h*x.w == 1
	switch {
	case to == asVector && x.kind == asTokens && !one:
		x = e.convert(x, asImage, path) // vectors have the channels in front
		fallthrough
	case to == asVector:
		x.name = e.op(path, "Reshape", []string{x.name, e.ints(0, x.len())})
	case one && to == asTokens:
		x.name = e.op(path, "Reshape", []string{x.name, e.ints(0, 1, x.c)})
	case one || x.kind == asVector && to == asImage:
		x.name = e.op(path, "Reshape", []string{x.name, e.ints(0, x.c, x.h, x.w)})
	case to == asTokens:
		x.name = e.op(path, "Reshape", []string{x.name, e.ints(0, x.c, x.h*x.w)})
		x.name = e.op(path, "Transpose", []string{x.name}, intsAttr("perm", 0, 2, 1))
	default:
		x.name = e.op(path, "Transpose", []string{x.name}, intsAttr("perm", 0, 2, 1))
		x.name = e.op(path, "Reshape", []string{x.name, e.ints(0, x.c, x.h, x.w)})
	}
	x.kind = to
	return x
}
