package graphrun

import (
	"errors"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
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
		list = append(list, &node{Node: same, compute: operatorOf(same), in: []int{b.out[k]}, out: []int{to}})
	}
	return list, true
}

// chooseBody is the body that a condition decides for.
func (n *node) chooseBody(cond *tensor.Tensor) (*body, error) {
	if cond.IsFloat() || len(cond.Ints) != 1 {
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

// runBody computes a body. What it returns is held.
func (p *Program) runBody(b *body, in []*tensor.Tensor) (out []*tensor.Tensor) {
	if len(in) != len(b.in) {
		operator.Fail("its body has %[2]d inputs, but %[1]d values were given", len(in), len(b.in))
	}
	defer func() {
		for i := b.from; i < b.to; i++ {
			p.release(i)
		}
	}()
	for k, i := range b.in {
		if i >= 0 {
			p.live[i] = in[k]
			in[k].Hold()
		}
	}
	for _, n := range b.nodes {
		c := p.call(n)
		made, err := c.run()
		if err != nil {
			c.releaseMemory()
			operator.Fail("%s: %w", n.Node, err)
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
			operator.Fail("its body computes nothing")
		}
		t.Hold()
		out = append(out, t)
	}
	return out
}

// branch is If: it runs then_branch or else_branch, which take no inputs but what they read from around them.
func branch(c *call) []*tensor.Tensor {
	c.RequireInputs(1)
	out := c.p.runBody(operator.Must(c.n.chooseBody(c.In[0])), nil)
	c.held = append(c.held, out...)
	return out
}

// maxRounds bounds the rounds of all loops of a run.
const maxRounds = 1 << 16

// loop is Loop: it runs its body up to M times, while the condition that the body computes holds. The body takes
// the number of the round, the condition and the state, and returns the condition, the state and values that are
// stacked over the rounds.
func loop(c *call) []*tensor.Tensor {
	b := c.n.bodies["body"]
	states := len(c.In) - 2
	if b == nil || states < 0 || len(b.in) != states+2 || len(b.out) < states+1 {
		operator.Fail("its body does not fit its inputs")
	}
	most, on := int64(math.MaxInt64), true
	if t := c.In[0]; t != nil {
		most = operator.Must(t.Only("its number of rounds"))
	}
	if t := c.In[1]; t != nil {
		on = operator.Must(t.Only("its condition")) != 0
	}
	state := slices.Clone(c.In[2:])
	if slices.Contains(state, nil) {
		operator.Fail("one of its initial values is left out")
	}
	rows := make([][]*tensor.Tensor, len(b.out)-1-states) // of each value that is collected
	var before []*tensor.Tensor                           // the state, which is held until the next round has read it
	defer func() { c.held = append(c.held, before...) }()
	for i := int64(0); i < most && on; i++ {
		if c.p.rounds++; c.p.rounds > maxRounds {
			operator.Fail("its loops take more than %d rounds", maxRounds)
		}
		round := tensor.Integers([]int{}, []int64{i})
		out := c.p.runBody(b, append([]*tensor.Tensor{round, tensor.Truth(true)}, state...))
		for _, t := range before {
			c.Pool.Release(t)
		}
		state = out[1 : 1+states]
		before = slices.Clone(state)
		on = operator.Must(out[0].Only("its condition")) != 0
		c.Pool.Release(out[0])
		for k, t := range out[1+states:] {
			rows[k] = append(rows[k], c.Clone(t))
			c.Pool.Release(t)
		}
	}
	for _, list := range rows {
		state = append(state, c.Stack(list))
	}
	return state
}
