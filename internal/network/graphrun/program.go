package graphrun

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/conv"
	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// Options say what a program computes.
type Options struct {
	// Input is the name of the graph's input, Shape its shape and Type the type of its values.
	Input string
	Shape []int
	Type  onnx.DataType
	// Outputs are the names of the values to compute.
	Outputs []string
	// Weights are the values of the other inputs of the graph, as Weights lists them.
	Weights map[string][]float32
}

// Program is a graph that is ready to run. Only one goroutine at a time may use it.
type Program struct {
	run       operator.State
	nodes     []*node
	values    []value
	input     int
	inputType onnx.DataType
	outputs   []int
	seen      [][]int // the outputs' shapes for the first input
	ws        conv.Workspace
	live      []*tensor.Tensor // of each value, while it runs
	folded    int64            // bytes of what was computed once
	rounds    int              // of loops, in this run
	names     map[string]int
}

// value is what one name stands for.
type value struct {
	name     string
	constant *tensor.Tensor // it does not depend on the input
	isFixed  bool           // so it was, before what nothing reads was forgotten
	shape    []int          // nil: not known before the program runs
	layout   Layout         // of a weight
}

// node is an operator with its inputs and outputs as numbers of values; -1 is one that is left out.
type node struct {
	*onnx.Node
	compute compute
	in, out []int
	drops   []int // the values that nothing reads after it
	state   any   // what its operator keeps from run to run
	join    fusedEpilogue
	bodies  map[string]*body // of control flow, by the attribute
	outer   []int            // the values that these take from around them
}

// reads lists all values that a node takes.
func (n *node) reads() []int { return slices.Concat(n.in, n.outer, n.join.reads) }

// Unsupported is the error of a graph with operators that are not computed.
type Unsupported struct {
	Node      *onnx.Node // the first
	Operators []string
	Opset     int64
}

func (e *Unsupported) Error() string {
	return fmt.Sprintf("%s of opset %d: the operator is not computed here; operators of this kind in the model: %s",
		e.Node, e.Opset, escape.Clip(escape.Line(strings.Join(e.Operators, ", "))))
}

// Compile prepares a graph. It runs it once for an input of small numbers.
func Compile(m *onnx.Model, opt Options) (p *Program, err error) {
	defer operator.Catch(&err)
	p = &Program{run: operator.State{Opset: m.Opset(), Pool: tensor.NewPool()}, inputType: opt.Type}
	b := &builder{p: p, scope: &scope{names: map[string]int{}}}
	if err := b.model(m, opt); err != nil {
		return nil, err
	}
	p.names = b.scope.names
	p.limitWork(opt.Shape)
	if err := p.probe(opt); err != nil {
		return nil, err
	}
	p.fuse()
	p.lifetimes()
	p.run.Pool.Empty()
	return p, nil
}

// shapedBy are the operators whose output has a shape that depends on the values of inputs
// after the first; always are those for which no constant input settles it.
var (
	shapedBy = []string{"Reshape", "Expand", "Slice", "Tile", "Pad", "Resize", "Upsample", "Range", "ConstantOfShape",
		"OneHot", "TopK", "Split", "Squeeze", "Unsqueeze", "CenterCropPad", "AffineGrid", "ConvTranspose"}
	shapedAlways = []string{"NonZero", "Compress"}
)

// hasFixedShapes reports whether the shapes of what a node makes are the same for every input.
func (p *Program) hasFixedShapes(n *node) bool {
	for _, i := range n.reads() {
		if i >= 0 && p.values[i].shape == nil && p.values[i].constant == nil {
			return false
		}
	}
	if slices.Contains(shapedAlways, n.Op) || n.bodies != nil || strings.Contains(n.Op, "Sequence") {
		return false
	}
	byFirst := n.Op == "Range" || n.Op == "ConstantOfShape" || n.Op == "AffineGrid"
	if slices.Contains(shapedBy, n.Op) || strings.HasPrefix(n.Op, "Reduce") {
		for k, i := range n.in {
			if (k > 0 || byFirst) && i >= 0 && p.values[i].constant == nil {
				return false
			}
		}
	}
	return true
}

// probe runs the graph once. It keeps what does not depend on the input, and the shapes.
func (p *Program) probe(opt Options) error {
	n, err := tensor.Length(opt.Shape)
	if err == nil { // beside it, it is read as integers and laid out anew
		err = budget.Check("one input", budget.Product(int64(n), 16))
	}
	if err != nil {
		return fmt.Errorf("the input: %w", err)
	}
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i*7919%251) / 251
	}
	readers := p.readers()
	p.live = make([]*tensor.Tensor, len(p.values))
	in, err := p.inputOf(x, opt.Shape)
	if err != nil {
		return err
	}
	p.live[p.input] = in
	var rest []*node
	queue := p.nodes
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		if list, ok := p.branch(n); ok {
			for _, inner := range list {
				for _, i := range inner.reads() {
					if i >= 0 {
						readers[i]++
					}
				}
			}
			queue = append(list, queue...)
			p.releaseInputs(n, readers)
			continue
		}
		c := p.call(n)
		var out []*tensor.Tensor
		fixed := (n.Op == "Shape" || n.Op == "Size") && len(n.in) == 1 && p.hasFixedShapes(n) || p.hasConstantInputs(n)
		if out, err = c.run(); err != nil {
			return fmt.Errorf("%s: %w", n.Node, err)
		}
		if fixed {
			if err := p.keep(c, out); err != nil {
				return fmt.Errorf("%s: %w", n.Node, err)
			}
		} else {
			settled := p.hasFixedShapes(n)
			p.store(c, out)
			for k, i := range n.out {
				if i >= 0 && settled && k < len(out) && out[k] != nil {
					p.values[i].shape = out[k].Shape
				}
			}
			rest = append(rest, n)
		}
		p.releaseInputs(n, readers)
	}
	p.nodes = rest
	for _, i := range p.outputs {
		if t := p.tensor(i); t != nil {
			p.seen = append(p.seen, t.Shape)
		}
	}
	for i := range p.live {
		p.release(i)
	}
	return nil
}

// releaseInputs lets go of what a node was the last to read.
func (p *Program) releaseInputs(n *node, readers []int) {
	for _, i := range n.reads() {
		if i < 0 {
			continue
		}
		if readers[i]--; readers[i] == 0 {
			p.release(i)
		}
	}
}

// hasConstantInputs reports whether all that a node takes is known.
func (p *Program) hasConstantInputs(n *node) bool {
	for _, i := range n.reads() {
		if i >= 0 && p.values[i].constant == nil {
			return false
		}
	}
	return true
}

// keep stores what a node computes from constants alone.
func (p *Program) keep(c *call, out []*tensor.Tensor) error {
	for k, i := range c.n.out {
		if i < 0 || k >= len(out) || out[k] == nil {
			continue
		}
		own := c.Contiguous(out[k]).Clone()
		p.values[i].constant, p.values[i].shape = own, own.Shape
		p.folded = budget.Sum(p.folded, 4*int64(len(own.Floats)), 8*int64(len(own.Ints)))
	}
	c.releaseMemory()
	return budget.Check("the model's computed constants", p.folded)
}

// readers counts the readers of each value; what the program returns has one more.
func (p *Program) readers() []int {
	readers := make([]int, len(p.values))
	for _, n := range p.nodes {
		for _, i := range n.reads() {
			if i >= 0 {
				readers[i]++
			}
		}
	}
	for _, i := range p.outputs {
		readers[i]++
	}
	return readers
}

// lifetimes notes after which node each value goes, and lets constants go that nothing reads.
func (p *Program) lifetimes() {
	last := map[int]*node{}
	for _, n := range p.nodes {
		n.drops = nil
		for _, i := range n.out { // what nothing reads goes at once
			if i >= 0 {
				last[i] = n
			}
		}
		for _, i := range n.reads() {
			if i >= 0 {
				last[i] = n
			}
		}
	}
	for i, n := range last {
		if !slices.Contains(p.outputs, i) {
			n.drops = append(n.drops, i)
		}
	}
	for _, n := range p.nodes {
		slices.Sort(n.drops)
	}
	for i, r := range p.readers() {
		p.values[i].isFixed = p.values[i].constant != nil
		if r == 0 {
			p.values[i].constant = nil
		}
	}
}

// Shape returns the shape of a value, or nil if it depends on the input or no node makes it.
func (p *Program) Shape(name string) []int {
	if v := p.valueNamed(name); v != nil {
		return v.shape
	}
	return nil
}

// IsConstant reports whether a value does not depend on the input. Of a value that nothing needs it
// returns true.
func (p *Program) IsConstant(name string) bool {
	v := p.valueNamed(name)
	return v == nil || v.isFixed
}

// OutputShape is the shape of an output for the input that Compile tried.
func (p *Program) OutputShape(output int) []int { return p.seen[output] }

// valueNamed finds a value of the graph itself, not of one within.
func (p *Program) valueNamed(name string) *value {
	if i, ok := p.names[name]; ok {
		return &p.values[i]
	}
	return nil
}

// Peak is the most bytes that the values of one run have taken at once.
func (p *Program) Peak() int64 { return p.run.Pool.Peak() }

// inputOf makes the tensor of the input, whose values are rounded for a type of integers.
func (p *Program) inputOf(x []float32, shape []int) (*tensor.Tensor, error) {
	if p.inputType == 0 || p.inputType.IsFloat() {
		return tensor.Floats(shape, x), nil
	}
	t := tensor.Integers(shape, make([]int64, len(x)))
	t.Type = p.inputType
	for i, v := range x {
		t.Ints[i] = tensor.Wrap(tensor.Round(float64(v)), p.inputType)
	}
	return t, nil
}

// Run computes the outputs for one input of the shape that the program was made for. The
// outputs are valid until the next Run.
func (p *Program) Run(x []float32) ([]*tensor.Tensor, error) {
	shape := p.values[p.input].shape
	if len(x) != tensor.Size(shape) {
		return nil, fmt.Errorf("%d values were given for an input of shape %d", len(x), shape)
	}
	in, err := p.inputOf(x, shape)
	if err != nil {
		return nil, err
	}
	return p.RunTensor(in)
}

// RunTensor is Run for a tensor that Floats or Integers made.
func (p *Program) RunTensor(in *tensor.Tensor) (list []*tensor.Tensor, err error) {
	defer operator.Catch(&err)
	for i := range p.live {
		p.release(i)
	}
	p.live[p.input], p.rounds = in, 0
	p.run.Restart()
	for _, n := range p.nodes {
		c := p.call(n)
		out, err := c.run()
		if err != nil {
			c.releaseMemory()
			return nil, fmt.Errorf("%s: %w", n.Node, err)
		}
		p.store(c, out)
		for _, i := range n.drops {
			p.release(i)
		}
	}
	for _, i := range p.outputs {
		t := p.tensor(i)
		if t == nil {
			return nil, errors.New("the graph computed no output")
		}
		c := &call{Call: operator.Call{State: &p.run}}
		t = c.Contiguous(t)
		list = append(list, t)
		if p.values[i].constant == nil { // in the place of what lies in another order, until the next run
			t.Hold()
			p.release(i)
			p.live[i] = t
		}
		c.releaseMemory()
	}
	return list, nil
}

// store takes over a node's outputs, and lets go of what else it took memory for.
func (p *Program) store(c *call, out []*tensor.Tensor) {
	for k, i := range c.n.out {
		if i >= 0 && k < len(out) && out[k] != nil {
			p.live[i] = out[k]
			out[k].Hold()
		}
	}
	c.releaseMemory()
}

// release forgets a value.
func (p *Program) release(i int) {
	t := p.live[i]
	if t == nil {
		return
	}
	p.live[i] = nil
	p.run.Pool.Release(t)
}

// RunImage is Run for an image of height x width x channels, whether the graph takes it in this
// order or with the channels in front, and returns the values of the first output.
func (p *Program) RunImage(x []float32, channelsFirst bool) ([]float32, error) {
	in, err := p.inputOf(x, p.values[p.input].shape)
	if err != nil {
		return nil, err
	}
	if channelsFirst {
		if in.Last = true; !in.IsFloat() {
			in = in.ChannelsFirst()
		}
	}
	out, err := p.RunTensor(in)
	if err != nil {
		return nil, err
	}
	if !out[0].IsFloat() {
		return nil, errors.New("its result holds integers, not floating-point numbers")
	}
	return out[0].Floats, nil
}

// Check reports operators of a model that are not computed.
func Check(m *onnx.Model) error {
	b := &builder{p: &Program{}, scope: &scope{names: map[string]int{}}}
	return b.check(m)
}
