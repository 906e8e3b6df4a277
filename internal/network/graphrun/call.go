package graphrun

import (
	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/product"
	"github.com/kindred-ml/kindred/internal/network/graphrun/spatial"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// call is one computation of a node of a program.
type call struct {
	operator.Call
	p    *Program
	n    *node
	held []*tensor.Tensor // that bodies returned
}

// compute computes a node's outputs.
type compute func(c *call) []*tensor.Tensor

// operators are those of the packages operator, product and spatial, and those that keep packed weights or run
// graphs within.
var operators = map[string]compute{
	"Conv": convolution, "com.microsoft.FusedConv": convolution,
	"MatMul": matMul, "com.microsoft.FusedMatMul": matMul, "Gemm": gemm, "com.microsoft.FusedGemm": gemm,
	"If": branch, "Loop": loop,
}

func init() {
	for _, table := range []map[string]operator.Operator{operator.Table, product.Table, spatial.Table} {
		for name, op := range table {
			operators[name] = func(c *call) []*tensor.Tensor { return op(&c.Call) }
		}
	}
}

// operatorOf looks up the operator of a node, nil if it is not computed.
func operatorOf(n *onnx.Node) compute { return operator.Lookup(operators, n) }

// call prepares the computation of a node.
func (p *Program) call(n *node) *call {
	c := &call{Call: operator.Call{State: &p.run, Node: n.Node, In: make([]*tensor.Tensor, len(n.in))}, p: p, n: n}
	for k, i := range n.in {
		if i >= 0 {
			c.In[k] = p.tensor(i)
		}
	}
	return c
}

func (p *Program) tensor(i int) *tensor.Tensor {
	if p.values[i].constant != nil {
		return p.values[i].constant
	}
	return p.live[i]
}

// run computes the node.
func (c *call) run() (out []*tensor.Tensor, err error) {
	defer operator.Catch(&err)
	for i, t := range c.In {
		if t == nil && c.n.in[i] >= 0 {
			operator.Fail("its input %d is of a kind that is not supported", i)
		}
	}
	c.Begin()
	made := c.n.compute(c)
	c.CountMoves(made)
	return made, nil
}

// releaseMemory gives memory back that no tensor of the program uses.
func (c *call) releaseMemory() {
	c.ReclaimUnheld()
	for _, t := range c.held {
		c.Pool.Release(t)
	}
	c.held = nil
}
