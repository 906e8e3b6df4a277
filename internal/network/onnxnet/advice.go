package onnxnet

import (
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/internal/format/onnx"
)

// unsupportedNode is the error of a node that no layer is.
type unsupportedNode struct {
	node *node
	err  error
}

func (e *unsupportedNode) Error() string { return e.err.Error() }
func (e *unsupportedNode) Unwrap() error { return e.err }

// withAdvice adds to the error of a node that no layer is what can be done about it: to end the
// network before it, if that works and most of the layers with weights are there, or else to
// take another network. s is what was lifted.
func (g *graph) withAdvice(err error, m *onnx.Model, opt Options, s *layerChain) error {
	var no *unsupportedNode
	if !errors.As(err, &no) || opt.isTrial {
		return err
	}
	all := 0
	for _, n := range g.nodes {
		all += n.weights()
	}
	for _, end := range possibleEnds(no.node, s) {
		before := 0
		for _, n := range newLifter(g).region(g.image, end) {
			before += n.weights()
		}
		if 2*before <= all || end.name == "" {
			continue
		}
		if _, fails := convert(m, Options{Cut: end.name, Size: opt.Size, isTrial: true}); fails == nil {
			return fmt.Errorf("%w; the network can end before it, with %d of the %d nodes that have weights: "+
				"network.cut %q", err, before, all, end.name)
		}
	}
	return fmt.Errorf("%w, and a network that ends before it would be too little: take a model of the layers that "+
		"docs/onnx.md lists", err)
}

// possibleEnds are the values that a network which cannot have n may end with, the nearest first.
func possibleEnds(n *node, s *layerChain) []*value {
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
