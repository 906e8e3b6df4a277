package xla

import (
	"fmt"

	"github.com/kindred-ml/kindred/nn"
)

// node is one layer of a network, with its parameters on the device. Values are
// numbered as in nn.Graph: node i makes value i+1.
type node struct {
	layer  *nn.Layer // with its defaults written out
	from   []int     // the values that it takes
	count  uint64    // its number among those that training runs: what dropout drops follows from it
	out    []int     // height, width, channels of what it makes
	taken  []int     // of the first value that it takes
	params []*held   // its own, in the order of names
	// cos and sin are the factors of a rotary layer, half a head's for each position.
	cos, sin []float32
}

// plan is a network as a list of nodes.
type plan struct {
	nodes []node
	last  int // the value that the network returns
}

// planOf takes over a network's graph. The description is one that nn.New has
// accepted.
func planOf(spec *nn.Spec, params map[string]*held) (*plan, error) {
	g, err := spec.Graph()
	if err != nil {
		return nil, err
	}
	p := &plan{last: g.Out}
	var count uint64
	for i := range g.Nodes {
		m := &g.Nodes[i]
		if _, known := lowerings[m.Kind]; !known {
			return nil, fmt.Errorf("network %s: layer %s: no layers of kind %s on a device", spec.Name, m.Path, m.Kind)
		}
		if m.Layer.Rank > 0 {
			return nil, fmt.Errorf("network %s: layer %s: no adapters (rank) on a device", spec.Name, m.Path)
		}
		n := node{layer: &m.Layer, from: m.From, count: count, out: []int{m.Out.H, m.Out.W, m.Out.C},
			taken: []int{m.In.H, m.In.W, m.In.C}}
		n.cos, n.sin = m.Rotation()
		if !(m.Kind == nn.StochasticDepth && m.Layer.Rate == 0) {
			count++
		}
		for _, name := range m.Names {
			q := params[name]
			if q == nil {
				return nil, fmt.Errorf("network %s: layer %s has no parameter %s", spec.Name, m.Path, name)
			}
			n.params = append(n.params, q)
		}
		p.nodes = append(p.nodes, n)
	}
	return p, nil
}

// kept tells whether the forward pass hands what a node makes to the backward pass.
func (n *node) kept() bool { return lowerings[n.layer.Kind].kept }
