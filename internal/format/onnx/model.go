package onnx

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/escape"
)

// Model is a graph with the operator sets that its nodes refer to.
type Model struct {
	IRVersion       int64 // of the format; 0 when written: 8
	Producer        string
	ProducerVersion string
	Domain          string
	Version         int64
	Doc             string
	Opsets          []Opset
	Meta            []Entry
	Graph           Graph
}

// Opset is a version of the operators of one domain; "" is ONNX's own.
type Opset struct {
	Domain  string
	Version int64
}

// Entry is one line of a model's metadata.
type Entry struct{ Key, Value string }

// Opset returns the version of ONNX's own operators, 0 if none is stated.
func (m *Model) Opset() int64 {
	for _, o := range m.Opsets {
		if o.Domain == "" || o.Domain == "ai.onnx" {
			return o.Version
		}
	}
	return 0
}

// Graph holds nodes in an order in which they can be computed.
type Graph struct {
	Name         string
	Doc          string
	Nodes        []Node
	Inputs       []Value // of old models also the initializers
	Outputs      []Value
	Initializers []Tensor
	Values       []Value // what is known of the values between
}

// Node applies one operator. An input "" is one that is left out.
type Node struct {
	Name    string
	Op      string
	Domain  string // "" is ONNX's own
	Inputs  []string
	Outputs []string
	Attrs   []Attr
}

// Attr returns the attribute of that name, or nil.
func (n *Node) Attr(name string) *Attr {
	for i := range n.Attrs {
		if n.Attrs[i].Name == name {
			return &n.Attrs[i]
		}
	}
	return nil
}

// InputNames lists the values that the node takes: its inputs, and what the graphs in its attributes take
// from around them.
func (n *Node) InputNames() []string {
	reads := n.Inputs
	for i := range n.Attrs {
		if g := n.Attrs[i].Graph; g != nil {
			reads = append(slices.Clip(reads), g.outerNames()...)
		}
	}
	return reads
}

// NeededFor lists the nodes that some values need, in their order, and the values that these read, those
// asked for among them.
func (g *Graph) NeededFor(names ...string) (nodes []Node, values map[string]bool) {
	values = map[string]bool{}
	for _, name := range names {
		values[name] = true
	}
	for _, n := range slices.Backward(g.Nodes) {
		if !slices.ContainsFunc(n.Outputs, func(name string) bool { return name != "" && values[name] }) {
			continue
		}
		for _, in := range n.InputNames() {
			values[in] = true
		}
		nodes = append(nodes, n)
	}
	slices.Reverse(nodes)
	return nodes, values
}

// outerNames lists the values that a graph takes from around it.
func (g *Graph) outerNames() []string {
	known := map[string]bool{"": true}
	for i := range g.Initializers {
		known[g.Initializers[i].Name] = true
	}
	for i := range g.Inputs {
		known[g.Inputs[i].Name] = true
	}
	var list []string
	take := func(name string) {
		if !known[name] {
			known[name] = true
			list = append(list, name)
		}
	}
	for i := range g.Nodes {
		for _, name := range g.Nodes[i].InputNames() {
			take(name)
		}
		for _, name := range g.Nodes[i].Outputs {
			known[name] = true
		}
	}
	for i := range g.Outputs {
		take(g.Outputs[i].Name)
	}
	return list
}

// String names the node for messages: its name and operator.
func (n *Node) String() string {
	op := n.Op
	if n.Domain != "" && n.Domain != "ai.onnx" {
		op = n.Domain + "." + op
	}
	op = escape.Line(op)
	switch {
	case n.Name != "":
		return fmt.Sprintf("node %s (%s)", escape.Quote(n.Name), op)
	case len(n.Outputs) > 0:
		return fmt.Sprintf("node of %s (%s)", escape.Quote(n.Outputs[0]), op)
	}
	return fmt.Sprintf("a node without a name (%s)", op)
}

// AttrType says which field of an [Attr] counts.
type AttrType int32

// The types that are decoded; an attribute of another is kept as it came.
const (
	AttrFloat   AttrType = 1
	AttrInt     AttrType = 2
	AttrString  AttrType = 3
	AttrTensor  AttrType = 4
	AttrGraph   AttrType = 5
	AttrFloats  AttrType = 6
	AttrInts    AttrType = 7
	AttrStrings AttrType = 8
)

// String is the type as the format's description spells it.
func (t AttrType) String() string {
	names := [...]string{"UNDEFINED", "FLOAT", "INT", "STRING", "TENSOR", "GRAPH", "FLOATS", "INTS", "STRINGS",
		"TENSORS", "GRAPHS", "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"}
	if t >= 0 && int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("type %d", int32(t))
}

// Attr is a named constant of a node. Which field holds it follows from Type.
type Attr struct {
	Name    string
	Type    AttrType
	Float   float32
	Int     int64
	String  string
	Tensor  *Tensor
	Floats  []float32
	Ints    []int64
	Strings []string
	Graph   *Graph // of control flow; its nodes may read the values around it

	ref string // the attribute of a function's call that it stands for
	raw []byte // the whole message, of a type that is not decoded
}

// Value describes a tensor that flows through the graph.
type Value struct {
	Name  string
	Type  DataType // 0: not known, or not a tensor
	Shape []Dim    // nil: not known; empty: a single number
}

// Dim is one side of a shape: a number, else a name, else not known.
type Dim struct {
	Size int64 // 0 and a name, or 0 and none: open
	Name string
}

// String writes a shape as [batch, 3, 224, 224].
func (v *Value) String() string {
	if v.Shape == nil {
		return fmt.Sprintf("%s of unknown shape", v.Type)
	}
	parts := make([]string, len(v.Shape))
	for i, d := range v.Shape {
		parts[i] = cmp.Or(d.Name, "?")
		if d.Size != 0 {
			parts[i] = fmt.Sprint(d.Size)
		}
	}
	return fmt.Sprintf("%s [%s]", v.Type, escape.Clip(strings.Join(parts, ", ")))
}
