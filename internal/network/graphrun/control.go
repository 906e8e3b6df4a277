package graphrun

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/onnx"
)

// branch returns the nodes of an If whose condition is known, which may stand in its place.
func (p *Program) branch(n *node) ([]*node, bool) {
	if n.Op != "If" || len(n.in) != 1 || n.in[0] < 0 || p.values[n.in[0]].constant == nil {
		return nil, false
	}
	b, err := n.chooseBody(p.values[n.in[0]].constant)
	if err != nil || len(b.out) < len(n.out) {
		return nil, false
	}
	list := slices.Clone(b.nodes)
	for k, to := range n.out {
		same := &onnx.Node{Op: "Identity", Name: n.Name}
		list = append(list, &node{Node: same, compute: identity, in: []int{b.out[k]}, out: []int{to}})
	}
	return list, true
}

// chooseBody is the body that a condition decides for.
func (n *node) chooseBody(cond *Tensor) (*body, error) {
	if cond.isFloat() || len(cond.Ints) != 1 {
		return nil, errors.New("its condition is not a single boolean")
	}
	b := n.bodies["else_branch"]
	if cond.Ints[0] != 0 {
		b = n.bodies["then_branch"]
	}
	if b == nil || len(b.in) > 0 {
		return nil, errors.New("it has no branch for its condition")
	}
	return b, nil
}

// runBody computes a body. What it returns is held until unhold.
func (p *Program) runBody(b *body, in []*Tensor) (out []*Tensor, err error) {
	if len(in) != len(b.in) {
		return nil, fmt.Errorf("its body has %[2]d inputs, but %[1]d values were given", len(in), len(b.in))
	}
	defer func() {
		for i := b.from; i < b.to; i++ {
			p.release(i)
		}
	}()
	for k, i := range b.in {
		if i >= 0 {
			p.live[i] = in[k]
			in[k].mem.refs++
		}
	}
	for _, n := range b.nodes {
		c := p.call(n)
		made, err := c.run()
		if err != nil {
			c.releaseMemory()
			return nil, fmt.Errorf("%s: %w", n.Node, err)
		}
		for _, i := range n.out { // of the round before
			if i >= 0 {
				p.release(i)
			}
		}
		p.store(c, made)
	}
	for _, i := range b.out {
		t := p.tensor(i)
		if t == nil {
			return nil, errors.New("its body computes nothing")
		}
		t.mem.refs++
		out = append(out, t)
	}
	return out, nil
}

// unhold lets go of what runBody returned.
func (p *Program) unhold(t *Tensor) {
	if t.mem.refs--; t.mem.refs == 0 && t.mem.own {
		p.pool.give(t.mem)
	}
}

func branch(c *call) ([]*Tensor, error) {
	if err := c.requireInputs(1); err != nil {
		return nil, err
	}
	b, err := c.n.chooseBody(c.in[0])
	if err != nil {
		return nil, err
	}
	out, err := c.runBody(b, nil)
	c.held = append(c.held, out...)
	return out, err
}

// maxRounds bounds the rounds of all loops of a run.
const maxRounds = 1 << 16

func loop(c *call) ([]*Tensor, error) {
	b := c.n.bodies["body"]
	states := len(c.in) - 2
	if b == nil || states < 0 || len(b.in) != states+2 || len(b.out) < states+1 {
		return nil, errors.New("its body does not fit its inputs")
	}
	most, on := int64(math.MaxInt64), true
	if t := c.in[0]; t != nil {
		if t.isFloat() || len(t.Ints) != 1 {
			return nil, errors.New("its number of rounds is not a single number")
		}
		most = t.Ints[0]
	}
	if t := c.in[1]; t != nil {
		if t.isFloat() || len(t.Ints) != 1 {
			return nil, errors.New("its condition is not a single boolean")
		}
		on = t.Ints[0] != 0
	}
	state := slices.Clone(c.in[2:])
	for _, t := range state {
		if t == nil {
			return nil, errors.New("one of its initial values is left out")
		}
	}
	var rows [][]*Tensor // of each value that is collected
	for range len(b.out) - 1 - states {
		rows = append(rows, nil)
	}
	var before []*Tensor
	for i := int64(0); i < most && on; i++ {
		if c.rounds++; c.rounds > maxRounds {
			return nil, fmt.Errorf("its loops take more than %d rounds", maxRounds)
		}
		truth := intsOf([]int{}, []int64{1})
		truth.typ = onnx.Bool
		out, err := c.runBody(b, append([]*Tensor{intsOf([]int{}, []int64{i}), truth}, state...))
		for _, t := range before {
			c.unhold(t)
		}
		if before = nil; err != nil {
			return nil, err
		}
		if out[0].isFloat() || len(out[0].Ints) != 1 {
			return nil, errors.New("its condition is not a single boolean")
		}
		on = out[0].Ints[0] != 0
		c.unhold(out[0])
		state = out[1 : 1+states]
		before = slices.Clone(state)
		for k, t := range out[1+states:] {
			own, err := c.clone(t)
			if c.unhold(t); err != nil {
				return nil, err
			}
			rows[k] = append(rows[k], own)
		}
	}
	c.held = append(c.held, before...)
	for _, list := range rows {
		t, err := c.stack(list)
		if err != nil {
			return nil, err
		}
		state = append(state, t)
	}
	return state, nil
}

// clone copies a tensor out of the memory that is used again. What is copied so in one run counts
// towards the limit on memory.
func (c *call) clone(t *Tensor) (*Tensor, error) {
	c.cloned = budget.Sum(c.cloned, 4*int64(len(t.Floats)), 8*int64(len(t.Ints)), 128)
	if c.cloned > c.pool.most {
		return nil, &budget.Error{What: "what the model's loops and sequences collect", Need: c.cloned,
			Limit: c.pool.most}
	}
	return t.clone(), nil
}

// clone has values of its own, which lie as those of t.
func (t *Tensor) clone() *Tensor {
	own := *t
	own.mem = &memory{}
	own.Floats, own.Ints = slices.Clone(t.Floats), slices.Clone(t.Ints)
	return &own
}

// stack joins tensors along a new first axis.
func (c *call) stack(list []*Tensor) (*Tensor, error) {
	if len(list) == 0 {
		return floatsOf([]int{0}, []float32{}), nil
	}
	shape := append([]int{len(list)}, list[0].Shape...)
	out, err := c.newLike(list[0], shape)
	if err != nil {
		return nil, err
	}
	n := size(list[0].Shape)
	for i, t := range list {
		if !slices.Equal(t.Shape, list[0].Shape) || t.isFloat() != out.isFloat() || t.list != nil {
			return nil, errors.New("the values that its rounds collect have different shapes")
		}
		if t, err = c.contiguous(t); err != nil {
			return nil, err
		}
		out.copy(i*n, t, 0, n)
	}
	return out, nil
}

// takesLists are the operators that take sequences.
func takesLists(op string) bool {
	switch op {
	case "If", "Loop", "Identity", "SequenceInsert", "SequenceErase", "SequenceAt", "SequenceLength",
		"ConcatFromSequence":
		return true
	}
	return false
}

func sequenceOf(list []*Tensor) ([]*Tensor, error) {
	if list == nil {
		list = []*Tensor{}
	}
	return []*Tensor{{list: list, mem: &memory{}}}, nil
}

// sequence returns an input that is a sequence.
func (c *call) sequence() ([]*Tensor, error) {
	if err := c.requireInputs(1); err != nil {
		return nil, err
	}
	if c.in[0].list == nil {
		return nil, errors.New("its input is not a sequence")
	}
	return c.in[0].list, nil
}

// element returns a copy of an input, as sequences hold them.
func (c *call) element(i int) (*Tensor, error) {
	if c.in[i].list != nil {
		return nil, errors.New("sequences of sequences are not supported")
	}
	t, err := c.contiguous(c.in[i])
	if err != nil {
		return nil, err
	}
	return c.clone(t)
}

func sequenceEmpty(*call) ([]*Tensor, error) { return sequenceOf(nil) }

func sequenceConstruct(c *call) ([]*Tensor, error) {
	if err := c.requireAllInputs(); err != nil {
		return nil, err
	}
	var list []*Tensor
	for i := range c.in {
		t, err := c.element(i)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return sequenceOf(list)
}

// placeIn reads an input that is a place in a sequence of n; otherwise is used if it is left out.
func (c *call) placeIn(i, n, otherwise int) (int, error) {
	if !c.hasInput(i) {
		return otherwise, nil
	}
	if c.in[i].isFloat() || len(c.in[i].Ints) != 1 {
		return 0, errors.New("its position is not a single number")
	}
	return indexOf(c.in[i].Ints[0], n)
}

func sequenceInsert(c *call) ([]*Tensor, error) {
	list, err := c.sequence()
	if err == nil {
		err = c.requireInputs(2)
	}
	if err != nil {
		return nil, err
	}
	at := len(list)
	if c.hasInput(2) && (len(c.in[2].Ints) != 1 || c.in[2].Ints[0] != int64(at)) { // behind the last is a place too
		if at, err = c.placeIn(2, len(list), at); err != nil {
			return nil, err
		}
	}
	t, err := c.element(1)
	if err != nil {
		return nil, err
	}
	if at == len(list) {
		return c.appendTensor(c.in[0], t)
	}
	if !c.spend(plainWork, len(list)) {
		return nil, c.err
	}
	return sequenceOf(slices.Insert(slices.Clone(list), at, t))
}

// appendTensor is a sequence with one more tensor. The memory behind the old one is used if no other
// sequence uses it, so that appending in a loop does not copy the sequence each time.
func (c *call) appendTensor(old, t *Tensor) ([]*Tensor, error) {
	list, used := old.list, old.used
	if used == nil || *used != len(list) || cap(list) == len(list) {
		if !c.spend(plainWork, len(list)) {
			return nil, c.err
		}
		list, used = append(make([]*Tensor, 0, 2*len(list)+4), list...), new(int)
	}
	list = append(list, t)
	*used = len(list)
	return []*Tensor{{list: list, used: used, mem: &memory{}}}, nil
}

func sequenceErase(c *call) ([]*Tensor, error) {
	list, err := c.sequence()
	if err != nil {
		return nil, err
	}
	at, err := c.placeIn(1, len(list), len(list)-1)
	if err != nil || at < 0 {
		return nil, errors.Join(err, errors.New("its sequence is empty, so no element can be erased"))
	}
	if !c.spend(plainWork, len(list)) {
		return nil, c.err
	}
	return sequenceOf(slices.Delete(slices.Clone(list), at, at+1))
}

func sequenceAt(c *call) ([]*Tensor, error) {
	list, err := c.sequence()
	if err == nil {
		err = c.requireInputs(2)
	}
	if err != nil {
		return nil, err
	}
	at, err := c.placeIn(1, len(list), 0)
	if err != nil {
		return nil, err
	}
	return single(list[at], nil)
}

func sequenceLength(c *call) ([]*Tensor, error) {
	list, err := c.sequence()
	return single(intsOf([]int{}, []int64{int64(len(list))}), err)
}

func concatFromSequence(c *call) ([]*Tensor, error) {
	list, err := c.sequence()
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errors.New("its sequence is empty")
	}
	axis := c.int("axis", 0)
	if c.int("new_axis", 0) != 0 {
		at, err := AxisOf(axis, len(list[0].Shape)+1)
		if err != nil {
			return nil, err
		}
		list = slices.Clone(list)
		for i, t := range list {
			if len(t.Shape) < at {
				return nil, errors.New("its tensors have different axes")
			}
			list[i] = t.view(slices.Insert(slices.Clone(t.Shape), at, 1))
		}
	}
	inner := *c
	inner.in = list
	out, err := concat(&inner)
	c.fresh = inner.fresh
	return out, err
}

func splitToSequence(c *call) ([]*Tensor, error) {
	x, err := c.input()
	if err != nil {
		return nil, err
	}
	axis, err := AxisOf(c.int("axis", 0), len(x.Shape))
	if err != nil {
		return nil, err
	}
	side, single := x.Shape[axis], false
	var parts []int64
	switch {
	case !c.hasInput(1):
		parts, single = slices.Repeat([]int64{1}, side), c.int("keepdims", 1) == 0
	case c.in[1].isFloat():
		return nil, errors.New("its parts are not integers")
	case len(c.in[1].Shape) == 0:
		n := c.in[1].Ints[0]
		if n < 1 {
			return nil, fmt.Errorf("its parts are of %d elements: must be at least 1", n)
		}
		for left := int64(side); left > 0; left -= n {
			parts = append(parts, min(n, left))
		}
	default:
		parts = c.in[1].Ints
	}
	var list []*Tensor
	own := strides(x.Shape)
	at := 0
	for _, p := range parts {
		if p < 0 || p > int64(side-at) {
			return nil, fmt.Errorf("its parts %d do not add up to the axis of %d", parts, side)
		}
		shape := slices.Clone(x.Shape)
		shape[axis] = int(p)
		t, err := c.gather(x, shape, own, at*own[axis])
		if err != nil {
			return nil, err
		}
		if t, err = c.clone(t); err != nil {
			return nil, err
		}
		if single {
			t.Shape = slices.Delete(shape, axis, axis+1)
		}
		list = append(list, t)
		at += int(p)
	}
	if at != side {
		return nil, fmt.Errorf("its parts %d do not add up to the axis of %d", parts, side)
	}
	return sequenceOf(list)
}

// col2Im adds blocks of values up at the places that windows took them from.
func col2Im(c *call) ([]*Tensor, error) {
	x, err := c.floats(0)
	if err != nil {
		return nil, err
	}
	if err := c.requireInputs(3); err != nil {
		return nil, err
	}
	image, err := c.in[1].sides()
	if err != nil {
		return nil, err
	}
	kernel, err := c.in[2].sides()
	if err != nil {
		return nil, err
	}
	if len(x.Shape) != 3 || len(image) != len(kernel) || len(image) == 0 || size(kernel) < 1 ||
		x.Shape[1]%size(kernel) != 0 {
		return nil, fmt.Errorf("its blocks of shape %d do not fit images of %d and windows of %d", x.Shape, image,
			kernel)
	}
	w, err := c.window(image, kernel)
	if err != nil {
		return nil, err
	}
	taps := w.taps()
	ch, positions, area := x.Shape[1]/len(taps), size(w.out), size(image)
	if positions != x.Shape[2] {
		return nil, fmt.Errorf("it has %d blocks for %d windows: the numbers must be equal", x.Shape[2], positions)
	}
	y, err := c.newFloats(append([]int{x.Shape[0], ch}, image...))
	if err != nil {
		return nil, err
	}
	clear(y.Floats)
	place := make([]int, len(image))
	for k := range x.Shape[0] * ch {
		for t, tap := range taps {
			row := x.Floats[(k*len(taps)+t)*positions:][:positions]
			for p, v := range row {
				w.place(p, place)
				if off := w.inside(place, tap); off >= 0 {
					y.Floats[k*area+off] += v
				}
			}
		}
	}
	return single(y, nil)
}
