package operator

import (
	"slices"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// Operator computes the outputs of a node.
type Operator func(c *Call) []*tensor.Tensor

// State is what the calls of one run of a graph share. A State that has only a Pool computes a single node.
type State struct {
	Opset         int64 // of ONNX's own operators
	Pool          *tensor.Pool
	Work, MaxWork int64 // in multiply-adds; see Spend; no limit if MaxWork is 0

	collected int64 // bytes that loops and sequences have collected
}

// Restart begins the next run.
func (s *State) Restart() { s.Work, s.collected = 0, 0 }

// Call is one computation of a node. Its operator reads inputs and attributes by its methods, which fail where
// these are not what the operator of ONNX takes.
type Call struct {
	*State
	Node  *onnx.Node
	In    []*tensor.Tensor // nil where one is left out
	fresh []*tensor.Tensor // that were made since
}

// Begin counts the node and its inputs, which must be sequences only where the operator takes them.
func (c *Call) Begin() {
	for i, t := range c.In {
		if t != nil && t.List != nil && !takesLists(c.Node.Op) {
			Fail("its input %d is a sequence, not a tensor", i)
		}
	}
	c.Spend(NodeWork)
	c.CountMoves(c.In)
}

// Wants reports whether the node has an output of a number.
func (c *Call) Wants(output int) bool {
	return output < len(c.Node.Outputs) && c.Node.Outputs[output] != ""
}

// CountMoves counts the values of what a node takes or makes.
func (c *Call) CountMoves(list []*tensor.Tensor) {
	n := 0
	for _, t := range list {
		if t != nil {
			n += t.Len()
		}
	}
	c.Spend(MoveWork, n)
}

// RequireInputs fails if an input among the first n is left out.
func (c *Call) RequireInputs(n int) {
	for i := range n {
		if !c.HasInput(i) {
			Fail("it has no input %d", i)
		}
	}
}

// RequireAllInputs fails if any input is left out.
func (c *Call) RequireAllInputs() {
	if slices.Contains(c.In, nil) {
		Fail("one of its inputs is left out, but it needs all")
	}
	c.RequireInputs(1)
}

// HasInput reports an input that is not left out.
func (c *Call) HasInput(i int) bool { return i < len(c.In) && c.In[i] != nil }

// OptionalInput is an input, or nil if it is left out.
func (c *Call) OptionalInput(i int) *tensor.Tensor {
	if c.HasInput(i) {
		return c.In[i]
	}
	return nil
}

// Input returns the first input in the order of its shape.
func (c *Call) Input() *tensor.Tensor {
	c.RequireInputs(1)
	return c.Contiguous(c.In[0])
}

// Floats returns an input of floating-point numbers in the order of its shape.
func (c *Call) Floats(i int) *tensor.Tensor {
	if !c.HasInput(i) {
		Fail("it has no input %d", i)
	}
	if !c.In[i].IsFloat() {
		Fail("its input %d holds values of type %s, not floating-point ones", i, c.In[i].Type)
	}
	return c.Contiguous(c.In[i])
}

// Bias is an input of one value for each of n channels, nil if it is left out.
func (c *Call) Bias(i, n int) []float32 {
	if !c.HasInput(i) {
		return nil
	}
	b := c.Floats(i)
	if b.Len() != n {
		Fail("it has %d biases for %d channels: the numbers must be equal", b.Len(), n)
	}
	return b.Floats
}

// find returns an attribute of a type, or nil if it is left out. Another type is an error, not the default:
// the model would compute something else than its writer meant.
func (c *Call) find(name string, typ onnx.AttrType) *onnx.Attr {
	x := c.Node.Attr(name)
	if x != nil && x.Type != typ {
		Fail("attribute %q is of type %s, not %s", name, x.Type, typ)
	}
	return x
}

// Int reads an attribute that is an integer.
func (c *Call) Int(name string, otherwise int64) int64 {
	if x := c.find(name, onnx.AttrInt); x != nil {
		return x.Int
	}
	return otherwise
}

// Float reads an attribute that is a number.
func (c *Call) Float(name string, otherwise float32) float32 {
	if x := c.find(name, onnx.AttrFloat); x != nil {
		return x.Float
	}
	return otherwise
}

// Text reads an attribute that is a text.
func (c *Call) Text(name, otherwise string) string {
	if x := c.find(name, onnx.AttrString); x != nil {
		return x.String
	}
	return otherwise
}

// List reads an attribute that is a list of integers, nil if it is left out.
func (c *Call) List(name string) []int64 {
	if x := c.find(name, onnx.AttrInts); x != nil {
		return x.Ints
	}
	return nil
}

// Count reads an integer that counts or measures, cut to what sides, windows and groups may be: negative numbers are 0.
func (c *Call) Count(name string, otherwise int64) int {
	return int(min(max(c.Int(name, otherwise), 0), MaxSide))
}

// Numbers returns the integers of an input or, in older opsets, of an attribute; ok is false
// if neither is there.
func (c *Call) Numbers(at int, attr string) (v []int64, ok bool) {
	if c.HasInput(at) {
		return Must(c.In[at].Integers()), true
	}
	v = c.List(attr)
	return v, v != nil
}

// AxesOrAll are the axes of a list in its order, or all if the list is left out.
func AxesOrAll(list []int64, rank int) []int {
	axes := make([]int, 0, max(len(list), rank))
	for _, v := range list {
		axes = append(axes, Must(tensor.AxisOf(v, rank)))
	}
	for i := 0; list == nil && i < rank; i++ {
		axes = append(axes, i)
	}
	return axes
}

// Axis reads an attribute that names an axis of a tensor.
func (c *Call) Axis(attr string, otherwise int64, rank int) int {
	return Must(tensor.AxisOf(c.Int(attr, otherwise), rank))
}

// MaxSide bounds what attributes may say of sides, windows and groups.
const MaxSide = 1 << 20

// Single is the result of most operators.
func Single(t *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{t} }

// takesLists are the operators that take sequences.
func takesLists(op string) bool {
	switch op {
	case "If", "Loop", "Identity", "SequenceInsert", "SequenceErase", "SequenceAt", "SequenceLength",
		"ConcatFromSequence":
		return true
	}
	return false
}

// indices returns the second input, whose values are indices.
func (c *Call) indices() *tensor.Tensor {
	c.RequireInputs(2)
	Must(c.In[1].Integers())
	return c.In[1]
}

// IndexOf checks an index, which may count from the end.
func IndexOf(v int64, side int) int {
	if v < 0 {
		v += int64(side)
	}
	if v < 0 || v >= int64(side) {
		Fail("index %d lies outside an axis of %d", v, side)
	}
	return int(v)
}
