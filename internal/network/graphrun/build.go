package graphrun

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// builder numbers the values of a graph.
type builder struct {
	p       *Program
	scope   *scope
	unknown *Unsupported
}

// scope holds the names of a graph; those around it are in outer.
type scope struct {
	names map[string]int
	outer *scope
}

// define gives a name a value of its own.
func (b *builder) define(name string) int {
	if name == "" {
		return -1
	}
	i := len(b.p.values)
	b.p.values = append(b.p.values, value{name: name})
	b.scope.names[name] = i
	return i
}

// find looks a name up here and around.
func (b *builder) find(name string) (int, bool) {
	for s := b.scope; s != nil; s = s.outer {
		if i, ok := s.names[name]; ok {
			return i, true
		}
	}
	return -1, false
}

// model takes over what the outputs need.
func (b *builder) model(m *onnx.Model, opt Options) error {
	p := b.p
	nodes, needed := m.Graph.NeededFor(opt.Outputs...)
	p.input = b.define(opt.Input)
	p.values[p.input].shape = opt.Shape
	for _, w := range Weights(m, opt.Input) {
		v, ok := opt.Weights[w.Name]
		if !ok || !needed[w.Name] {
			continue
		}
		if len(v) != tensor.Size(w.Shape) {
			return fmt.Errorf("%d values were given for the input %s of shape %d", len(v), escape.Quote(w.Name),
				w.Shape)
		}
		at := b.define(w.Name)
		p.values[at].constant, p.values[at].layout = tensor.Floats(w.Shape, v), w.Layout
	}
	if err := b.initializers(m.Graph.Initializers, needed); err != nil {
		return err
	}
	list, err := b.nodes(nodes)
	if err != nil {
		return err
	}
	if b.unknown != nil {
		b.unknown.Opset = p.run.Opset
		return b.unknown
	}
	p.nodes = list
	for _, name := range opt.Outputs {
		i, ok := b.find(name)
		if !ok {
			return fmt.Errorf("no node computes %s", escape.Quote(name))
		}
		p.outputs = append(p.outputs, i)
	}
	return nil
}

// initializers takes over those that are needed, or all.
func (b *builder) initializers(list []onnx.Tensor, needed map[string]bool) error {
	for i := range list {
		t := &list[i]
		if _, taken := b.scope.names[t.Name]; taken || needed != nil && !needed[t.Name] {
			continue
		}
		known, err := tensor.FromONNX(t)
		if err != nil {
			return fmt.Errorf("initializer %s: %w", escape.Quote(t.Name), err)
		}
		b.p.values[b.define(t.Name)].constant = known
	}
	return nil
}

// nodes numbers the values of nodes and looks up their operators.
func (b *builder) nodes(list []onnx.Node) ([]*node, error) {
	var out []*node
	for i := range list {
		n := &list[i]
		op := operatorOf(n)
		if op == nil {
			b.missing(n)
		}
		x := &node{Node: n, compute: op}
		for _, name := range n.Inputs {
			i, ok := b.find(name)
			if !ok && name != "" {
				return nil, fmt.Errorf("%s: its input %s is an input of the model that has no value here", n,
					escape.Quote(name))
			}
			x.in = append(x.in, i)
		}
		for i := range n.Attrs {
			if g := n.Attrs[i].Graph; g != nil {
				made, err := b.body(g)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", n, err)
				}
				if x.bodies == nil {
					x.bodies = map[string]*body{}
				}
				x.bodies[n.Attrs[i].Name] = made
			}
		}
		for _, name := range n.InputNames()[len(n.Inputs):] {
			if i, ok := b.find(name); ok && i >= 0 {
				x.outer = append(x.outer, i)
			}
		}
		for _, name := range n.Outputs {
			x.out = append(x.out, b.define(name))
		}
		out = append(out, x)
	}
	return out, nil
}

// body is a graph of control flow. Its values have numbers of their own.
type body struct {
	nodes    []*node
	in, out  []int
	from, to int // its values, with those of bodies within
}

// body numbers the values of a graph of control flow. Its nodes may read values of the graphs around it.
func (b *builder) body(g *onnx.Graph) (*body, error) {
	b.scope = &scope{names: map[string]int{}, outer: b.scope}
	defer func() { b.scope = b.scope.outer }()
	made := &body{from: len(b.p.values)}
	for i := range g.Inputs {
		made.in = append(made.in, b.define(g.Inputs[i].Name))
	}
	if err := b.initializers(g.Initializers, nil); err != nil {
		return nil, err
	}
	var err error
	if made.nodes, err = b.nodes(g.Nodes); err != nil {
		return nil, err
	}
	made.to = len(b.p.values)
	for i := range g.Outputs {
		at, ok := b.find(g.Outputs[i].Name)
		if !ok {
			return nil, fmt.Errorf("no node computes %s", escape.Quote(g.Outputs[i].Name))
		}
		made.out = append(made.out, at)
	}
	return made, nil
}

// check looks up all operators of a model, in graphs of control flow too.
func (b *builder) check(m *onnx.Model) error {
	var walk func(g *onnx.Graph)
	walk = func(g *onnx.Graph) {
		for i := range g.Nodes {
			n := &g.Nodes[i]
			if operatorOf(n) == nil {
				b.missing(n)
			}
			for k := range n.Attrs {
				if inner := n.Attrs[k].Graph; inner != nil {
					walk(inner)
				}
			}
		}
	}
	walk(&m.Graph)
	if b.unknown != nil {
		b.unknown.Opset = m.Opset()
		return b.unknown
	}
	return nil
}

// missing notes an operator that is not computed.
func (b *builder) missing(n *onnx.Node) {
	if b.unknown == nil {
		b.unknown = &Unsupported{Node: n}
	}
	name := strings.TrimPrefix(n.Domain+"."+n.Op, ".")
	if !slices.Contains(b.unknown.Operators, name) {
		b.unknown.Operators = append(b.unknown.Operators, name)
	}
}
