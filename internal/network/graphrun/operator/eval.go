package operator

import (
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// Eval computes a node by itself, on tensors that tensor.Floats and tensor.Integers made; those left out are nil.
func Eval(n *onnx.Node, opset int64, in []*tensor.Tensor) (out []*tensor.Tensor, err error) {
	op := Lookup(Table, n)
	if op == nil {
		return nil, fmt.Errorf("operator %s is not supported", n.Op)
	}
	if len(in) < len(n.Inputs) {
		return nil, errors.New("it has no input")
	}
	defer Catch(&err)
	c := &Call{State: &State{Opset: opset, Pool: tensor.NewPool()}, Node: n, In: in}
	c.Begin()
	out = op(c)
	for i := range out {
		out[i] = c.Contiguous(out[i])
	}
	return out, nil
}
