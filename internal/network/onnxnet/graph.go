package onnxnet

import (
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// graph is a model whose shapes are known, for one image, and whose constants
// are computed: what is left is what depends on the image.
type graph struct {
	opset  int64
	values map[string]*value
	nodes  []*node // that depend on the image
	image  *value
	joins  map[string]*onnx.Node // by axis and inputs; see grown
	used   int64                 // bytes of the constants that were computed
}

// node is an operator with its inputs; those left out are nil.
type node struct {
	*onnx.Node
	in, out []*value
}

// value is what one name stands for.
type value struct {
	name    string
	shape   []int
	tensor  *onnx.Tensor   // an initializer; known is made from it when asked for
	known   *tensor.Tensor // nil if it depends on the image
	by      *node          // nil for the image and for constants
	part    int            // of the node's outputs
	readers []*node
}

// fail names the node in an error, with its opset where the operator is at fault; see advised.
func (g *graph) fail(n *node, err error) error {
	var nested *unsupportedNode
	if errors.Is(err, errNoOperator) && !errors.As(err, &nested) {
		return &unsupportedNode{n, fmt.Errorf("%s of opset %d: %w", n, g.opset, err)}
	}
	return fmt.Errorf("%s: %w", n, err)
}

// newGraph computes shapes and constants for one image of the given sides.
func newGraph(m *onnx.Model, image *onnx.Value, shape []int) (*graph, error) {
	g := &graph{opset: m.Opset(), values: map[string]*value{}}
	g.image = &value{name: image.Name, shape: shape}
	g.values[image.Name] = g.image
	for i := range m.Graph.Initializers {
		t := &m.Graph.Initializers[i]
		if t.Name == image.Name {
			continue
		}
		a, err := tensor.FromONNX(t)
		if err != nil {
			return nil, fmt.Errorf("initializer %q: %w", t.Name, err)
		}
		g.values[t.Name] = &value{name: t.Name, shape: a.Shape, tensor: t, known: a}
	}
	for i := range m.Graph.Nodes {
		if err := g.add(&m.Graph.Nodes[i]); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// add computes a node if it depends on no image, and else its shapes. A node of
// which nothing can be said makes values without a shape; it is an error only if
// the network needs it.
func (g *graph) add(from *onnx.Node) error {
	if from.Op == "Concat" && !isForeign(from) {
		from = g.incrementalConcat(from)
	}
	n := &node{Node: from}
	depends := false
	for _, name := range from.Inputs {
		v := g.values[name] // nil for "" and for inputs that are no image
		n.in = append(n.in, v)
		depends = depends || v == nil && name != "" || v != nil && v.known == nil
	}
	if from.Op == "Shape" && len(n.in) == 1 && n.in[0] != nil && n.in[0].shape != nil {
		out, err := operator.Eval(from, g.opset, []*tensor.Tensor{{Shape: n.in[0].shape}}) // it reads no values
		if err != nil {
			return g.fail(n, err)
		}
		g.define(n, out, nil)
		return nil
	}
	if !depends && computable(from.Op) && !isForeign(from) {
		out, err := g.compute(n, n.known())
		if err != nil {
			return g.fail(n, err)
		}
		for _, a := range out {
			g.used = budget.Sum(g.used, 8*int64(a.Len()))
		}
		if err := budget.Check("the model's computed constants", g.used); err != nil {
			return g.fail(n, err)
		}
		g.define(n, out, nil)
		return nil
	}
	g.nodes = append(g.nodes, n)
	for _, v := range n.in {
		if v != nil {
			v.readers = append(v.readers, n)
		}
	}
	shapes, err := g.shapes(n)
	if err != nil && !errors.Is(err, errNoOperator) {
		return g.fail(n, err)
	}
	g.define(n, nil, shapes)
	return nil
}

// incrementalConcat writes a Concat that begins with all that an earlier one joined as one that
// adds to it: a dense block joins everything that came before again and again. One
// of a single input joins nothing.
func (g *graph) incrementalConcat(n *onnx.Node) *onnx.Node {
	const most = 256 // inputs of one that is looked at
	if len(n.Inputs) == 1 {
		same := *n
		same.Op, same.Attrs = "Identity", nil
		return &same
	}
	if len(n.Inputs) > most || len(n.Outputs) != 1 {
		return n
	}
	keys := []string{"0"}
	if a := n.Attr("axis"); a != nil {
		keys[0] = fmt.Sprint(a.Int)
	}
	for _, in := range n.Inputs {
		keys = append(keys, fmt.Sprintf("%s %q", keys[len(keys)-1], in))
	}
	if g.joins == nil {
		g.joins = map[string]*onnx.Node{}
	}
	made := n
	for k := len(n.Inputs) - 1; k > 1; k-- {
		if before := g.joins[keys[k]]; before != nil {
			short := *n
			short.Inputs = append([]string{before.Outputs[0]}, n.Inputs[k:]...)
			made = &short
			break
		}
	}
	g.joins[keys[len(n.Inputs)]] = n
	return made
}

// shapes is infer for a node whose inputs all have a shape; else it is nil.
func (g *graph) shapes(n *node) ([][]int, error) {
	for i, v := range n.in {
		if v == nil && n.Inputs[i] != "" || v != nil && v.shape == nil {
			return nil, nil
		}
	}
	if isForeign(n.Node) && n.Op != "Gelu" && n.Op != "FastGelu" && n.Op != "QuickGelu" {
		return nil, errNoOperator
	}
	return g.infer(n)
}

// isForeign tells operators that are none of ONNX's own.
func isForeign(n *onnx.Node) bool { return n.Domain != "" && n.Domain != "ai.onnx" }

// define gives names to what a node makes.
func (g *graph) define(n *node, known []*tensor.Tensor, shapes [][]int) {
	for i, name := range n.Outputs {
		v := &value{name: name, by: n, part: i}
		switch {
		case i < len(known):
			v.known, v.shape, v.by = known[i], known[i].Shape, nil
		case i < len(shapes):
			v.shape = shapes[i]
		}
		n.out = append(n.out, v)
		if name != "" {
			g.values[name] = v
		}
	}
}

// sources lists the inputs of a node that depend on the image.
func (n *node) sources() []*value {
	var out []*value
	for _, v := range n.in {
		if v != nil && v.known == nil {
			out = append(out, v)
		}
	}
	return out
}

// known lists the values of a node's inputs; those that depend on the image or are left out are nil.
func (n *node) known() []*tensor.Tensor {
	in := make([]*tensor.Tensor, len(n.in))
	for i, v := range n.in {
		if v != nil {
			in[i] = v.known
		}
	}
	return in
}

func (n *node) hasInput(at int) bool { return at < len(n.in) && n.in[at] != nil }
