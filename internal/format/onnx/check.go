package onnx

import (
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/escape"
)

// Check reports what a model may not have: a node without operator, a name that
// is given a value twice or used before it has one, attributes that occur twice,
// tensors whose bytes do not fit their shape, outputs that nothing computes.
func (m *Model) Check() error { return escape.Shorten(m.check()) }

func (m *Model) check() error {
	g := &m.Graph
	if len(g.Outputs) == 0 {
		return errors.New("onnx: the graph has no output")
	}
	known, err := g.givenNames()
	if err != nil {
		return err
	}
	if err := g.checkNodes(known); err != nil {
		return err
	}
	for _, o := range g.Outputs {
		if !known[o.Name] {
			return fmt.Errorf("onnx: output %q of the graph is computed by no node", o.Name)
		}
	}
	return nil
}

// checkNodes checks the nodes of a graph, and adds what they compute to the names that have a value.
func (g *Graph) checkNodes(known map[string]bool) error {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Op == "" {
			return fmt.Errorf("onnx: %s has no operator", n)
		}
		for _, in := range n.InputNames() {
			if in != "" && !known[in] {
				return fmt.Errorf("onnx: %s: input %q is neither an input of the graph nor an initializer "+
					"nor the output of an earlier node", n, in)
			}
		}
		for _, out := range n.Outputs {
			if out == "" {
				continue
			}
			if known[out] {
				return fmt.Errorf("onnx: %s: %q has a value already: two things of the graph have that name", n, out)
			}
			known[out] = true
		}
		if err := n.checkAttrs(); err != nil {
			return fmt.Errorf("onnx: %s: %w", n, err)
		}
	}
	return nil
}

// checkSubgraph checks a graph in an attribute. What it takes from around it is the node's to check.
func (g *Graph) checkSubgraph() error {
	known, err := g.givenNames()
	if err != nil {
		return err
	}
	for _, name := range g.outerNames() {
		known[name] = true
	}
	return g.checkNodes(known)
}

// givenNames returns the names that have a value before any node is computed. An
// input may be an initializer too: it is that one's default.
func (g *Graph) givenNames() (map[string]bool, error) {
	known := map[string]bool{}
	for i := range g.Initializers {
		t := &g.Initializers[i]
		if t.Name == "" || known[t.Name] {
			return nil, fmt.Errorf("onnx: initializer %q: names must be unique", t.Name)
		}
		known[t.Name] = true
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("onnx: %w", err)
		}
	}
	inputs := map[string]bool{}
	for _, in := range g.Inputs {
		if in.Name == "" || inputs[in.Name] {
			return nil, fmt.Errorf("onnx: input %q of the graph: names must be unique", in.Name)
		}
		inputs[in.Name], known[in.Name] = true, true
	}
	return known, nil
}

func (n *Node) checkAttrs() error {
	names := make(map[string]bool, len(n.Attrs))
	for i := range n.Attrs {
		a := &n.Attrs[i]
		if names[a.Name] {
			return fmt.Errorf("attribute %q occurs twice", a.Name)
		}
		names[a.Name] = true
		if a.Tensor != nil {
			if err := a.Tensor.check(); err != nil {
				return fmt.Errorf("attribute %q: %w", a.Name, err)
			}
		}
		if a.Graph != nil {
			if err := a.Graph.checkSubgraph(); err != nil {
				return fmt.Errorf("attribute %q: %w", a.Name, err)
			}
		}
	}
	return nil
}

// sort brings the nodes into an order in which they can be computed, their own
// where that is one already. A circle is an error that names one of its nodes.
func (g *Graph) sort() error {
	for i := range g.Nodes {
		for k := range g.Nodes[i].Attrs {
			if inner := g.Nodes[i].Attrs[k].Graph; inner != nil {
				if err := inner.sort(); err != nil {
					return err
				}
			}
		}
	}
	maker := map[string]int{} // the node that computes a name
	for i := range g.Nodes {
		for _, out := range g.Nodes[i].Outputs {
			if out != "" {
				maker[out] = i
			}
		}
	}
	sorted := true
	for i := range g.Nodes {
		for _, in := range g.Nodes[i].InputNames() {
			if at, ok := maker[in]; ok && at >= i {
				sorted = false
			}
		}
	}
	if sorted {
		return nil
	}
	waits := make([]int, len(g.Nodes)) // inputs that are not computed yet
	readers := make([][]int, len(g.Nodes))
	for i := range g.Nodes {
		for _, in := range g.Nodes[i].InputNames() {
			if at, ok := maker[in]; ok {
				waits[i]++
				readers[at] = append(readers[at], i)
			}
		}
	}
	var order []int
	for i := range g.Nodes {
		if waits[i] == 0 {
			order = append(order, i)
		}
	}
	for next := 0; next < len(order); next++ {
		for _, r := range readers[order[next]] {
			if waits[r]--; waits[r] == 0 {
				order = append(order, r)
			}
		}
	}
	if len(order) < len(g.Nodes) {
		for i := range g.Nodes {
			if waits[i] > 0 {
				return fmt.Errorf("onnx: %s depends on its own output: the graph has a cycle", &g.Nodes[i])
			}
		}
	}
	nodes := make([]Node, len(order))
	for i, at := range order {
		nodes[i] = g.Nodes[at]
	}
	g.Nodes = nodes
	return nil
}
