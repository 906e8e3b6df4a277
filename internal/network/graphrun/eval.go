package graphrun

import (
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/internal/format/onnx"
)

// Eval computes a node on tensors that Floats and Integers made; those left out are nil. It does not
// take convolutions, products and control flow, which need a program.
func Eval(n *onnx.Node, opset int64, in []*Tensor) (out []*Tensor, err error) {
	defer catch(&err)
	op := operatorOf(n)
	if op == nil || len(n.Attrs) > 0 && n.Attrs[0].Graph != nil {
		return nil, fmt.Errorf("operator %s is not supported", n.Op)
	}
	if len(in) < len(n.Inputs) {
		return nil, errors.New("it has no input")
	}
	x := &node{Node: n, compute: op, in: make([]int, len(in)), out: make([]int, len(n.Outputs))}
	for i, t := range in {
		if t == nil {
			x.in[i] = -1
		}
	}
	c := &call{Program: &Program{opset: opset, pool: newPool()}, n: x, in: in}
	out = must(c.run())
	for i := range out {
		out[i] = c.contiguous(out[i])
	}
	return out, nil
}
