package onnxnet

import (
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/internal/format/onnx"
)

// noOperator is the error of a node that no layer is.
type noOperator struct {
	node *node
	err  error
}

func (e *noOperator) Error() string { return e.err.Error() }
func (e *noOperator) Unwrap() error { return e.err }

// advised adds to the error of a node that no layer is what can be done about it: to end the
// network before it, if that works and most of the layers with weights are there, or else to
// take another network. s is what was lifted.
func (g *graph) advised(err error, m *onnx.Model, opt Options, s *stretch) error {
	var no *noOperator
	if !errors.As(err, &no) || opt.within {
		return err
	}
	all := 0
	for _, n := range g.nodes {
		all += n.weights()
	}
	for _, end := range ends(no.node, s) {
		before := 0
		for _, n := range newLifter(g).region(g.image, end) {
			before += n.weights()
		}
		if 2*before <= all || end.name == "" {
			continue
		}
		if _, fails := convert(m, Options{Cut: end.name, Size: opt.Size, within: true}); fails == nil {
			return fmt.Errorf("%w; the network can end before it, with %d of the %d nodes that have weights: "+
				"network.cut %q", err, before, all, end.name)
		}
	}
	return fmt.Errorf("%w, and a network that ends before it would be too little: take a model of the layers that "+
		"docs/onnx.md lists", err)
}

// ends are the values that a network which cannot have n may end with, the nearest first.
func ends(n *node, s *stretch) []*value {
	var out []*value
	if s != nil && len(s.chain) > 0 && s.i > 0 {
		out = append(out, s.chain[s.i])
	}
	return append(out, n.sources()...)
}

// weights is 1 of a node with weights of its own, as layers with weights are made of.
func (n *node) weights() int {
	switch n.Op {
	case "Conv", "ConvTranspose", "Gemm", "MatMul":
		for _, v := range n.in {
			if v != nil && v.known != nil {
				return 1
			}
		}
	}
	return 0
}
