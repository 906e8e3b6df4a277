package graphrun

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/format/onnx"
)

// call is one computation of a node. Its operator reads inputs and attributes by its methods, which fail where
// these are not what the operator of ONNX takes.
type call struct {
	*Program
	n     *node
	in    []*Tensor // nil where one is left out
	fresh []*memory // that was taken since
	held  []*Tensor // that bodies returned
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

// failure is the error of an operator on its way to the run of the node: operators and what they call fail by
// a panic with it, so that each check and each allocation is one line. It never leaves the package.
type failure struct{ error }

// fail ends the computation of a node. Only the goroutine that runs the node may call it.
func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// must returns a value, and fails if there is an error instead.
func must[T any](v T, err error) T {
	check(err)
	return v
}

// check fails if there is an error.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// catch turns a failure into an error. It is deferred.
func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.error
	default:
		panic(r)
	}
}

// run computes the node.
func (c *call) run() (out []*Tensor, err error) {
	defer catch(&err)
	for i, t := range c.in {
		if t == nil && c.n.in[i] >= 0 {
			fail("its input %d is of a kind that is not supported", i)
		}
		if t != nil && t.list != nil && !takesLists(c.n.Op) {
			fail("its input %d is a sequence, not a tensor", i)
		}
	}
	c.spend(nodeWork)
	c.countMoves(c.in)
	made := c.n.compute(c)
	c.countMoves(made)
	return made, nil
}

// countMoves counts the values of what a node takes or makes.
func (c *call) countMoves(list []*Tensor) {
	n := 0
	for _, t := range list {
		if t != nil {
			n += t.len()
		}
	}
	c.spend(moveWork, n)
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
	c.spend(plainWork, work)
	c.divide(n, work, body)
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

// requireInputs fails if an input among the first n is left out.
func (c *call) requireInputs(n int) {
	for i := range n {
		if !c.hasInput(i) {
			fail("it has no input %d", i)
		}
	}
}

// requireAllInputs fails if any input is left out.
func (c *call) requireAllInputs() {
	if slices.Contains(c.in, nil) {
		fail("one of its inputs is left out, but it needs all")
	}
	c.requireInputs(1)
}

func (c *call) hasInput(i int) bool { return i < len(c.in) && c.in[i] != nil }

// optionalInput is an input, or nil if it is left out.
func (c *call) optionalInput(i int) *Tensor {
	if c.hasInput(i) {
		return c.in[i]
	}
	return nil
}

// input returns the first input in the order of its shape.
func (c *call) input() *Tensor {
	c.requireInputs(1)
	return c.contiguous(c.in[0])
}

// floats returns an input of floating-point numbers in the order of its shape.
func (c *call) floats(i int) *Tensor {
	if !c.hasInput(i) {
		fail("it has no input %d", i)
	}
	if !c.in[i].isFloat() {
		fail("its input %d holds values of type %s, not floating-point ones", i, c.in[i].typ)
	}
	return c.contiguous(c.in[i])
}

// find returns an attribute of a type, or nil if it is left out. Another type is an error, not the default:
// the model would compute something else than its writer meant.
func (c *call) find(name string, typ onnx.AttrType) *onnx.Attr {
	x := c.n.Attr(name)
	if x != nil && x.Type != typ {
		fail("attribute %q is of type %s, not %s", name, x.Type, typ)
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
func (c *call) numbers(at int, attr string) (v []int64, ok bool) {
	if c.hasInput(at) {
		return c.in[at].integers(), true
	}
	v = c.list(attr)
	return v, v != nil
}

// axis reads an attribute that names an axis of a tensor.
func (c *call) axis(attr string, otherwise int64, rank int) int {
	return must(AxisOf(c.int(attr, otherwise), rank))
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
func single(t *Tensor) []*Tensor { return []*Tensor{t} }
