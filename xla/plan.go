package xla

import (
	"fmt"

	"github.com/kindred-ml/kindred/nn"
)

// node is one layer of the flattened description, in the order in which package nn
// runs them: a shortcut before the layers that it bypasses. Values are numbered, 0
// is the network's input, and node i makes value i+1.
type node struct {
	layer  *nn.Layer
	prefix string  // of its parameters' names, with the dot
	in     int     // the value that it takes
	short  int     // residual, multiply: the other one
	parts  []int   // concat: all that lie side by side
	path   string  // for messages
	count  uint64  // its number among those that training runs: what dropout drops follows from it
	out    []int   // height, width, channels of what it makes
	taken  []int   // of what it takes
	params []*held // its own, in the order of names
}

// plan is a network as a list of nodes.
type plan struct {
	nodes []node
	last  int // the value that the network returns
}

// flatten lists the layers of a network. The description is one that nn.New has
// accepted.
func flatten(spec *nn.Spec, params map[string]*held) (*plan, error) {
	infos, err := spec.Shapes()
	if err != nil {
		return nil, err
	}
	p := &plan{}
	p.last = p.sequence(spec.Layers, "", 0)
	if len(infos) != len(p.nodes) {
		return nil, fmt.Errorf("network %s: %d layers of %d were found", spec.Name, len(p.nodes), len(infos))
	}
	var count uint64
	for i := range p.nodes {
		n, info := &p.nodes[i], &infos[i]
		if n.layer.Kind != info.Kind {
			return nil, fmt.Errorf("network %s: layer %s is a %s, not a %s", spec.Name, info.Path, info.Kind,
				n.layer.Kind)
		}
		n.path = info.Path
		n.out = []int{info.Out.H, info.Out.W, info.Out.C}
		n.taken = []int{info.In.H, info.In.W, info.In.C}
		n.count = count
		if !(n.layer.Kind == nn.StochasticDepth && n.layer.Rate == 0) {
			count++
		}
		for _, name := range namesOf(n.layer) {
			full := n.prefix + name
			if name == "" {
				full = n.prefix[:len(n.prefix)-1]
			}
			q := params[full]
			if q == nil {
				return nil, fmt.Errorf("network %s: layer %s has no parameter %s", spec.Name, n.path, full)
			}
			n.params = append(n.params, q)
		}
	}
	return p, nil
}

func (p *plan) sequence(layers []nn.Layer, prefix string, in int) int {
	for i := range layers {
		in = p.add(&layers[i], prefix, in)
	}
	return in
}

// add appends a layer that takes value in, and returns the value that it makes.
func (p *plan) add(l *nn.Layer, prefix string, in int) int {
	inner := prefix
	if l.Name != "" {
		inner = prefix + l.Name + "."
	}
	n := node{layer: l, prefix: inner, in: in}
	switch l.Kind {
	case nn.Sequential:
		return p.sequence(l.Layers, inner, in)
	case nn.Residual, nn.Multiply:
		n.short = p.sequence(l.Shortcut, inner, in)
		n.in = p.sequence(l.Layers, inner, in)
	case nn.Concat:
		for i := range l.Layers {
			n.parts = append(n.parts, p.add(&l.Layers[i], inner, in))
		}
		n.in = n.parts[0]
	}
	p.nodes = append(p.nodes, n)
	return len(p.nodes)
}

// inputs lists the values that a node takes.
func (n *node) inputs() []int {
	switch n.layer.Kind {
	case nn.Residual, nn.Multiply:
		return []int{n.in, n.short}
	case nn.Concat:
		return n.parts
	}
	return []int{n.in}
}

// namesOf lists a layer's parameters behind its own name; "" is one that is named
// as the layer.
func namesOf(l *nn.Layer) []string {
	switch l.Kind {
	case nn.Conv, nn.Dense, nn.Linear:
		if l.NoBias {
			return []string{"weight"}
		}
		return []string{"weight", "bias"}
	case nn.BatchNorm:
		return []string{"weight", "bias", "running_mean", "running_var"}
	case nn.LayerNorm:
		return []string{"weight", "bias"}
	case nn.Tokens, nn.Positions, nn.Scale, nn.Shift, nn.GEMPool:
		return []string{""}
	}
	return nil
}

// kept tells whether the forward pass hands what a node makes to the backward pass,
// which computes the others again: those cost little beside reading them.
func (n *node) kept() bool {
	switch n.layer.Kind {
	case nn.Conv, nn.Dense, nn.Linear, nn.Attention, nn.MaxPool, nn.AvgPool, nn.GlobalAvgPool, nn.GEMPool,
		nn.Residual, nn.Multiply, nn.Concat:
		return true
	}
	return false
}
