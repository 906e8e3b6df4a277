package graphrun

import (
	"errors"
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
func (p *Program) runBody(b *body, in []*Tensor) (out []*Tensor) {
	if len(in) != len(b.in) {
		fail("its body has %[2]d inputs, but %[1]d values were given", len(in), len(b.in))
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
			fail("%s: %w", n.Node, err)
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
			fail("its body computes nothing")
		}
		t.mem.refs++
		out = append(out, t)
	}
	return out
}

// unhold lets go of what runBody returned.
func (p *Program) unhold(t *Tensor) {
	if t.mem.refs--; t.mem.refs == 0 && t.mem.own {
		p.pool.give(t.mem)
	}
}

func branch(c *call) []*Tensor {
	c.requireInputs(1)
	out := c.runBody(must(c.n.chooseBody(c.in[0])), nil)
	c.held = append(c.held, out...)
	return out
}

// maxRounds bounds the rounds of all loops of a run.
const maxRounds = 1 << 16

func loop(c *call) []*Tensor {
	b := c.n.bodies["body"]
	states := len(c.in) - 2
	if b == nil || states < 0 || len(b.in) != states+2 || len(b.out) < states+1 {
		fail("its body does not fit its inputs")
	}
	most, on := int64(math.MaxInt64), true
	if t := c.in[0]; t != nil {
		most = t.only("its number of rounds")
	}
	if t := c.in[1]; t != nil {
		on = t.only("its condition") != 0
	}
	state := slices.Clone(c.in[2:])
	if slices.Contains(state, nil) {
		fail("one of its initial values is left out")
	}
	rows := make([][]*Tensor, len(b.out)-1-states) // of each value that is collected
	var before []*Tensor                           // the state, which is held until the next round has read it
	defer func() { c.held = append(c.held, before...) }()
	for i := int64(0); i < most && on; i++ {
		if c.rounds++; c.rounds > maxRounds {
			fail("its loops take more than %d rounds", maxRounds)
		}
		truth := intsOf([]int{}, []int64{1})
		truth.typ = onnx.Bool
		out := c.runBody(b, append([]*Tensor{intsOf([]int{}, []int64{i}), truth}, state...))
		for _, t := range before {
			c.unhold(t)
		}
		state = out[1 : 1+states]
		before = slices.Clone(state)
		on = out[0].only("its condition") != 0
		c.unhold(out[0])
		for k, t := range out[1+states:] {
			rows[k] = append(rows[k], c.clone(t))
			c.unhold(t)
		}
	}
	for _, list := range rows {
		state = append(state, c.stack(list))
	}
	return state
}

// clone copies a tensor out of the memory that is used again. What is copied so in one run counts
// towards the limit on memory.
func (c *call) clone(t *Tensor) *Tensor {
	c.cloned = budget.Sum(c.cloned, 4*int64(len(t.Floats)), 8*int64(len(t.Ints)), 128)
	if c.cloned > c.pool.most {
		panic(failure{&budget.Error{What: "what the model's loops and sequences collect", Need: c.cloned,
			Limit: c.pool.most}})
	}
	return t.clone()
}

// clone has values of its own, which lie as those of t.
func (t *Tensor) clone() *Tensor {
	own := *t
	own.mem = &memory{}
	own.Floats, own.Ints = slices.Clone(t.Floats), slices.Clone(t.Ints)
	return &own
}

// stack joins tensors along a new first axis.
func (c *call) stack(list []*Tensor) *Tensor {
	if len(list) == 0 {
		return floatsOf([]int{0}, []float32{})
	}
	shape := append([]int{len(list)}, list[0].Shape...)
	out := c.newLike(list[0], shape)
	n := size(list[0].Shape)
	for i, t := range list {
		if !slices.Equal(t.Shape, list[0].Shape) || t.isFloat() != out.isFloat() || t.list != nil {
			fail("the values that its rounds collect have different shapes")
		}
		out.copy(i*n, c.contiguous(t), 0, n)
	}
	return out
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

func sequenceOf(list []*Tensor) []*Tensor {
	if list == nil {
		list = []*Tensor{}
	}
	return []*Tensor{{list: list, mem: &memory{}}}
}

// sequence returns an input that is a sequence.
func (c *call) sequence() []*Tensor {
	c.requireInputs(1)
	if c.in[0].list == nil {
		fail("its input is not a sequence")
	}
	return c.in[0].list
}

// element returns a copy of an input, as sequences hold them.
func (c *call) element(i int) *Tensor {
	if c.in[i].list != nil {
		fail("sequences of sequences are not supported")
	}
	return c.clone(c.contiguous(c.in[i]))
}

func sequenceEmpty(*call) []*Tensor { return sequenceOf(nil) }

func sequenceConstruct(c *call) []*Tensor {
	c.requireAllInputs()
	var list []*Tensor
	for i := range c.in {
		list = append(list, c.element(i))
	}
	return sequenceOf(list)
}

// placeIn reads an input that is a place in a sequence of n; otherwise is used if it is left out.
func (c *call) placeIn(i, n, otherwise int) int {
	if !c.hasInput(i) {
		return otherwise
	}
	return indexOf(c.in[i].only("its position"), n)
}

func sequenceInsert(c *call) []*Tensor {
	list := c.sequence()
	c.requireInputs(2)
	at := len(list)
	if c.hasInput(2) && (len(c.in[2].Ints) != 1 || c.in[2].Ints[0] != int64(at)) { // behind the last is a place too
		at = c.placeIn(2, len(list), at)
	}
	t := c.element(1)
	if at == len(list) {
		return c.appendTensor(c.in[0], t)
	}
	c.spend(plainWork, len(list))
	return sequenceOf(slices.Insert(slices.Clone(list), at, t))
}

// appendTensor is a sequence with one more tensor. The memory behind the old one is used if no other
// sequence uses it, so that appending in a loop does not copy the sequence each time.
func (c *call) appendTensor(old, t *Tensor) []*Tensor {
	list, used := old.list, old.used
	if used == nil || *used != len(list) || cap(list) == len(list) {
		c.spend(plainWork, len(list))
		list, used = append(make([]*Tensor, 0, 2*len(list)+4), list...), new(int)
	}
	list = append(list, t)
	*used = len(list)
	return []*Tensor{{list: list, used: used, mem: &memory{}}}
}

func sequenceErase(c *call) []*Tensor {
	list := c.sequence()
	if len(list) == 0 {
		fail("its sequence is empty, so no element can be erased")
	}
	at := c.placeIn(1, len(list), len(list)-1)
	c.spend(plainWork, len(list))
	return sequenceOf(slices.Delete(slices.Clone(list), at, at+1))
}

func sequenceAt(c *call) []*Tensor {
	list := c.sequence()
	c.requireInputs(2)
	return single(list[c.placeIn(1, len(list), 0)])
}

func sequenceLength(c *call) []*Tensor {
	return single(intsOf([]int{}, []int64{int64(len(c.sequence()))}))
}

func concatFromSequence(c *call) []*Tensor {
	list := c.sequence()
	if len(list) == 0 {
		fail("its sequence is empty")
	}
	rank := len(list[0].Shape)
	if c.int("new_axis", 0) == 0 {
		return single(c.join(list, c.axis("axis", 0, rank)))
	}
	at := c.axis("axis", 0, rank+1)
	list = slices.Clone(list)
	for i, t := range list {
		if len(t.Shape) < at {
			fail("its tensors have different axes")
		}
		list[i] = t.view(slices.Insert(slices.Clone(t.Shape), at, 1))
	}
	return single(c.join(list, at))
}

func splitToSequence(c *call) []*Tensor {
	x := c.input()
	axis := c.axis("axis", 0, len(x.Shape))
	side, single := x.Shape[axis], false
	var parts []int64
	switch {
	case !c.hasInput(1):
		parts, single = slices.Repeat([]int64{1}, side), c.int("keepdims", 1) == 0
	case c.in[1].isFloat():
		fail("its parts are not integers")
	case len(c.in[1].Shape) == 0:
		n := c.in[1].Ints[0]
		if n < 1 {
			fail("its parts are of %d elements: must be at least 1", n)
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
			fail("its parts %d do not add up to the axis of %d", parts, side)
		}
		shape := slices.Clone(x.Shape)
		shape[axis] = int(p)
		t := c.clone(c.gather(x, shape, own, at*own[axis]))
		if single {
			t.Shape = slices.Delete(shape, axis, axis+1)
		}
		list = append(list, t)
		at += int(p)
	}
	if at != side {
		fail("its parts %d do not add up to the axis of %d", parts, side)
	}
	return sequenceOf(list)
}

// col2Im adds blocks of values up at the places that windows took them from.
func col2Im(c *call) []*Tensor {
	x := c.floats(0)
	c.requireInputs(3)
	image, kernel := c.in[1].sides(), c.in[2].sides()
	if len(x.Shape) != 3 || len(image) != len(kernel) || len(image) == 0 || size(kernel) < 1 ||
		x.Shape[1]%size(kernel) != 0 {
		fail("its blocks of shape %d do not fit images of %d and windows of %d", x.Shape, image,
			kernel)
	}
	w := c.window(image, kernel)
	taps := w.taps()
	ch, positions, area := x.Shape[1]/len(taps), size(w.out), size(image)
	if positions != x.Shape[2] {
		fail("it has %d blocks for %d windows: the numbers must be equal", x.Shape[2], positions)
	}
	y := c.newFloats(append([]int{x.Shape[0], ch}, image...))
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
	return single(y)
}
