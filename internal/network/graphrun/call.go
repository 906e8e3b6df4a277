package graphrun

import (
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/format/onnx"
)

// call is one computation of a node. Its operator reads attributes by its methods, of which
// the first that is of another type sets err.
type call struct {
	*Program
	n     *node
	in    []*Tensor // nil where one is left out
	fresh []*memory // that was taken since
	held  []*Tensor // that bodies returned
	err   error
}

// call prepares the computation of a node.
func (p *Program) call(n *node) *call {
	c := &call{Program: p, n: n, in: make([]*Tensor, len(n.in))}
	for k, i := range n.in {
		if i >= 0 {
			c.in[k] = p.tensor(i)
		}
	}
	return c
}

func (p *Program) tensor(i int) *Tensor {
	if p.values[i].constant != nil {
		return p.values[i].constant
	}
	return p.live[i]
}

// run computes the node.
func (c *call) run() ([]*Tensor, error) {
	for i, t := range c.in {
		if t == nil && c.n.in[i] >= 0 {
			return nil, fmt.Errorf("its input %d is of a kind that is not supported", i)
		}
		if t != nil && t.list != nil && !takesLists(c.n.Op) {
			return nil, fmt.Errorf("its input %d is a sequence, not a tensor", i)
		}
	}
	if !c.spend(nodeWork) || !c.countMoves(c.in) {
		return nil, c.err
	}
	out, err := c.n.compute(c)
	if c.countMoves(out); err == nil || !errors.Is(err, c.err) {
		err = errors.Join(err, c.err)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// countMoves counts the values of what a node takes or makes.
func (c *call) countMoves(list []*Tensor) bool {
	n := 0
	for _, t := range list {
		if t != nil {
			n += t.len()
		}
	}
	return c.spend(moveWork, n)
}

// releaseMemory gives memory back that no tensor of the program uses.
func (c *call) releaseMemory() {
	for _, m := range c.fresh {
		if m.refs == 0 {
			c.pool.give(m)
		}
	}
	c.fresh = nil
	for _, t := range c.held {
		c.unhold(t)
	}
	c.held = nil
}

// runRanges cuts 0..n-1 into ranges and runs body on each, on all cores if the work, a number of
// simple operations, is worth it. The ranges depend on n alone.
func (c *call) runRanges(n, work int, body func(lo, hi int)) {
	if c.spend(plainWork, work) {
		c.divide(n, work, body)
	}
}

// divide is each for work that has been counted.
func (c *call) divide(n, work int, body func(lo, hi int)) {
	const worth, parts = 1 << 15, 32
	if work < worth || n < 2 {
		body(0, n)
		return
	}
	par.For(n, (n+parts-1)/parts, body)
}

// requireInputs reports an input among the first n that is left out.
func (c *call) requireInputs(n int) error {
	for i := range n {
		if i >= len(c.in) || c.in[i] == nil {
			return fmt.Errorf("it has no input %d", i)
		}
	}
	return nil
}

// requireAllInputs reports any input that is left out.
func (c *call) requireAllInputs() error {
	for _, t := range c.in {
		if t == nil {
			return errors.New("one of its inputs is left out, but it needs all")
		}
	}
	return c.requireInputs(1)
}

func (c *call) hasInput(i int) bool { return i < len(c.in) && c.in[i] != nil }

// floats returns an input of floating-point numbers in the order of its shape.
func (c *call) floats(i int) (*Tensor, error) {
	if !c.hasInput(i) {
		return nil, fmt.Errorf("it has no input %d", i)
	}
	if !c.in[i].isFloat() {
		return nil, fmt.Errorf("its input %d holds values of type %s, not floating-point ones", i, c.in[i].typ)
	}
	return c.contiguous(c.in[i])
}

func (c *call) find(name string, typ onnx.AttrType) *onnx.Attr {
	x := c.n.Attr(name)
	if x != nil && x.Type != typ {
		if c.err == nil {
			c.err = fmt.Errorf("attribute %q is of type %s, not %s", name, x.Type, typ)
		}
		return nil
	}
	return x
}

func (c *call) int(name string, otherwise int64) int64 {
	if x := c.find(name, onnx.AttrInt); x != nil {
		return x.Int
	}
	return otherwise
}

func (c *call) float(name string, otherwise float32) float32 {
	if x := c.find(name, onnx.AttrFloat); x != nil {
		return x.Float
	}
	return otherwise
}

func (c *call) text(name, otherwise string) string {
	if x := c.find(name, onnx.AttrString); x != nil {
		return x.String
	}
	return otherwise
}

// list returns nil where the attribute is left out.
func (c *call) list(name string) []int64 {
	if x := c.find(name, onnx.AttrInts); x != nil {
		return x.Ints
	}
	return nil
}

// numbers returns the integers of an input or, in older opsets, of an attribute; ok is false
// if neither is there.
func (c *call) numbers(at int, attr string) (v []int64, ok bool, err error) {
	if c.hasInput(at) {
		v, err = c.in[at].integers()
		return v, true, err
	}
	v = c.list(attr)
	return v, v != nil, nil
}

// AxisOf turns an axis that may count from the end into one that does not.
func AxisOf(axis int64, rank int) (int, error) {
	if axis < 0 {
		axis += int64(rank)
	}
	if axis < 0 || axis >= int64(rank) {
		return 0, fmt.Errorf("axis %d does not exist: the tensor has %d axes", axis, rank)
	}
	return int(axis), nil
}

// AxesOf is AxisOf for several, in the order of the axes; twice the same is an error.
func AxesOf(axes []int64, rank int) ([]int, error) {
	taken := make([]bool, rank)
	for _, a := range axes {
		i, err := AxisOf(a, rank)
		if err != nil {
			return nil, err
		}
		if taken[i] {
			return nil, errors.New("its axes name one axis twice")
		}
		taken[i] = true
	}
	out := []int{}
	for i, t := range taken {
		if t {
			out = append(out, i)
		}
	}
	return out, nil
}

// single is the result of most operators.
func single(t *Tensor, err error) ([]*Tensor, error) {
	if err != nil {
		return nil, err
	}
	return []*Tensor{t}, nil
}
