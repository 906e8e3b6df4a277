package xla

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/kindred-ml/kindred/nn"
)

// use is a node where it is added to a graph.
type use struct {
	*build
	i        int
	n        *node
	l        *nn.Layer
	in       []*tensor
	x        *tensor // the first of them: in float32, but for what multiplies in half precision
	training bool
}

// lowering says how a kind of layers is added to a graph.
type lowering struct {
	add func(u *use) *tensor
	// half: it takes values as they flow, in half precision if that is asked for, and
	// makes such. Others compute in float32.
	half bool
	// kept: the forward pass hands what it makes to the backward pass, which computes
	// the others again: those cost little beside reading them.
	kept bool
}

// lowerings are those of all kinds.
var lowerings = map[nn.Kind]lowering{
	nn.Conv:      {func(u *use) *tensor { return u.conv(u.n, u.x) }, true, true},
	nn.Dense:     {func(u *use) *tensor { return u.dense(u.n, u.x) }, true, true},
	nn.Linear:    {func(u *use) *tensor { return u.dense(u.n, u.x) }, true, true},
	nn.Attention: {func(u *use) *tensor { return u.attention(u.n, u.x) }, true, true},
	nn.Concat:    {func(u *use) *tensor { return graph.Concatenate(u.in, 3) }, true, true},

	nn.BatchNorm: {add: func(u *use) *tensor { return u.batchNorm(u.i, u.x, u.training && !u.fixed) }},
	nn.LayerNorm: {add: func(u *use) *tensor { return u.layerNorm(u.n, u.x) }},

	nn.MaxPool:       {add: func(u *use) *tensor { return pool(u.n, u.x) }, kept: true},
	nn.AvgPool:       {add: func(u *use) *tensor { return pool(u.n, u.x) }, kept: true},
	nn.GlobalAvgPool: {add: func(u *use) *tensor { return u.mean() }, kept: true},
	nn.AttentionPool: {add: func(u *use) *tensor { return u.attentionPool() }},
	nn.GEMPool:       {add: func(u *use) *tensor { return u.gem(u.n, u.x) }, kept: true},

	nn.Flatten:   {add: func(u *use) *tensor { return u.flattened() }},
	nn.Tokens:    {add: func(u *use) *tensor { return u.tokens(u.n, u.x) }},
	nn.TakeToken: {add: func(u *use) *tensor { return u.token() }},
	nn.Positions: {add: func(u *use) *tensor { return u.positions() }},
	nn.Rotary:    {add: func(u *use) *tensor { return u.rotated() }},
	nn.Scale:     {add: func(u *use) *tensor { return graph.Mul(u.x, u.feature(u.n, 0, u.x)) }},
	nn.Shift:     {add: func(u *use) *tensor { return graph.Add(u.x, u.feature(u.n, 0, u.x)) }},

	nn.Residual: {add: func(u *use) *tensor { return graph.Add(u.x, full(u.in[1])) }, kept: true},
	nn.Multiply: {add: func(u *use) *tensor { return u.product() }, kept: true},
	nn.Channels: {add: func(u *use) *tensor { return u.channels() }},
	nn.Shuffle:  {add: func(u *use) *tensor { return u.shuffled() }},

	nn.Dropout:         {add: func(u *use) *tensor { return u.dropped() }},
	nn.StochasticDepth: {add: func(u *use) *tensor { return u.dropped() }},
	nn.L2Normalize:     {add: func(u *use) *tensor { return u.normalized() }},

	nn.ReLU:        {add: func(u *use) *tensor { return graph.Where(positive(u.x), u.x, graph.ZerosLike(u.x)) }},
	nn.ReLU6:       {add: func(u *use) *tensor { return clip(u.x, 6) }},
	nn.SiLU:        {add: func(u *use) *tensor { return graph.Mul(u.x, graph.Logistic(u.x)) }},
	nn.HardSwish:   {add: func(u *use) *tensor { return graph.Mul(u.x, hard(u.x)) }},
	nn.Sigmoid:     {add: func(u *use) *tensor { return graph.Logistic(u.x) }},
	nn.HardSigmoid: {add: func(u *use) *tensor { return hard(u.x) }},
	nn.GELU:        {add: func(u *use) *tensor { return gelu(u.x) }},
	nn.GELUTanh:    {add: func(u *use) *tensor { return geluTanh(u.x) }},
	nn.QuickGELU:   {add: func(u *use) *tensor { return graph.Mul(u.x, graph.Logistic(graph.MulScalar(u.x, 1.702))) }},
}

// layer adds node i: what it makes of its inputs.
func (b *build) layer(i int, in []*tensor, training bool) *tensor {
	n := &b.plan.nodes[i]
	l := lowerings[n.layer.Kind]
	u := &use{build: b, i: i, n: n, l: n.layer, in: in, x: in[0], training: training}
	if l.half {
		return l.add(u)
	}
	u.x = full(u.x)
	return b.flow(l.add(u))
}

// sequence is the input as images x positions x channels.
func (u *use) sequence() *tensor {
	return graph.Reshape(u.x, u.batch, u.n.taken[0]*u.n.taken[1], u.n.taken[2])
}

// mean is that over positions from one on.
func (u *use) mean() *tensor {
	seq := u.sequence()
	if u.l.At > 0 {
		seq = graph.Slice(seq, graph.AxisRange(), graph.AxisRangeToEnd(u.l.At))
	}
	return u.shaped(u.n, graph.ReduceMean(seq, 1))
}

func (u *use) flattened() *tensor {
	if !u.l.ChannelFirst {
		return u.x
	}
	return u.shaped(u.n, graph.Transpose(u.sequence(), 1, 2))
}

// token is one position alone.
func (u *use) token() *tensor {
	return u.shaped(u.n, graph.Slice(u.sequence(), graph.AxisRange(), graph.AxisRange(u.l.At, u.l.At+1)))
}

// positions adds a position embedding.
func (u *use) positions() *tensor {
	p := graph.Reshape(u.param(u.n, 0), append([]int{1}, u.n.out...)...)
	return graph.Add(u.x, spread(p, u.x))
}

// attentionPool attends to all positions with one learned query.
func (u *use) attentionPool() *tensor {
	t, d, heads := u.n.taken[0]*u.n.taken[1], u.n.out[2], u.l.Heads
	latent, weight := graph.Reshape(u.param(u.n, 0), d), graph.Reshape(u.param(u.n, 1), d, d)
	query := graph.Add(graph.DotGeneral(weight, []int{1}, nil, latent, []int{0}, nil), u.param(u.n, 2))
	query = graph.BroadcastToDims(graph.Reshape(query, 1, heads, 1, d/heads), u.batch, heads, 1, d/heads)
	part := func(k int) *tensor {
		x := graph.Reshape(u.x, u.batch, t, 2, heads, d/heads)
		x = graph.Slice(x, graph.AxisRange(), graph.AxisRange(), graph.AxisRange(k, k+1))
		return graph.Transpose(graph.Reshape(x, u.batch, t, heads, d/heads), 1, 2)
	}
	scores := graph.DotGeneral(query, []int{3}, []int{0, 1}, part(0), []int{3}, []int{0, 1})
	weights := softmax(graph.MulScalar(scores, u.n.scale()))
	return u.shaped(u.n, graph.DotGeneral(weights, []int{3}, []int{0, 1}, part(1), []int{2}, []int{0, 1}))
}

// rotated turns the two halves of each head of queries and keys.
func (u *use) rotated() *tensor {
	t, heads := u.n.taken[0]*u.n.taken[1], u.l.Heads
	half := u.n.taken[2] / (6 * heads)
	x := graph.Reshape(u.x, u.batch, t, 3, heads, 2, half)
	part := func(axis, lo, hi int, x *tensor) *tensor {
		spec := make([]graph.SliceAxisSpec, 6)
		for i := range spec {
			spec[i] = graph.AxisRange()
		}
		spec[axis] = graph.AxisRange(lo, hi)
		return graph.Slice(x, spec...)
	}
	turned, values := part(2, 0, 2, x), part(2, 2, 3, x)
	a, b := part(4, 0, 1, turned), part(4, 1, 2, turned)
	factor := func(v []float32) *tensor {
		return spread(graph.Reshape(graph.Const(x.Graph(), v), 1, t, 1, 1, 1, half), a)
	}
	cos, sin := factor(u.n.cos), factor(u.n.sin)
	turned = graph.Concatenate([]*tensor{graph.Sub(graph.Mul(a, cos), graph.Mul(b, sin)),
		graph.Add(graph.Mul(b, cos), graph.Mul(a, sin))}, 4)
	return graph.Reshape(graph.Concatenate([]*tensor{turned, values}, 2), u.x.Shape().Dimensions...)
}

func (u *use) product() *tensor {
	y := full(u.in[1])
	return graph.Mul(spread(u.x, y), y)
}

func (u *use) channels() *tensor {
	return graph.Slice(u.x, graph.AxisRange(), graph.AxisRange(), graph.AxisRange(),
		graph.AxisRange(u.l.At, u.l.At+u.l.Out))
}

func (u *use) shuffled() *tensor {
	h, w, c := u.n.taken[0], u.n.taken[1], u.n.taken[2]
	y := graph.Reshape(u.x, u.batch, h, w, u.l.Groups, c/u.l.Groups)
	return graph.Reshape(graph.Transpose(y, 3, 4), u.batch, h, w, c)
}

func (u *use) dropped() *tensor {
	if !u.training || u.l.Rate == 0 {
		return u.x
	}
	return u.drop(u.i, u.n, u.x)
}

// normalized has length 1.
func (u *use) normalized() *tensor {
	flat := graph.Reshape(u.x, u.batch, size(u.n.taken))
	length := graph.MaxScalar(graph.Sqrt(graph.InsertAxes(graph.ReduceSum(graph.Square(flat), 1), -1)), 1e-12)
	return u.shaped(u.n, graph.Div(flat, spread(length, flat)))
}

func positive(x *tensor) *tensor { return graph.GreaterThan(x, graph.ZerosLike(x)) }

// hard is the hard sigmoid.
func hard(x *tensor) *tensor { return graph.DivScalar(clip(graph.AddScalar(x, 3.0), 6), 6.0) }

func gelu(x *tensor) *tensor {
	return graph.Mul(graph.MulScalar(x, 0.5), graph.AddScalar(graph.Erf(graph.MulScalar(x, math.Sqrt2/2)), 1.0))
}

func geluTanh(x *tensor) *tensor {
	cubed := graph.Mul(graph.Mul(x, x), x)
	inner := graph.MulScalar(graph.Add(x, graph.MulScalar(cubed, 0.044715)), math.Sqrt(2/math.Pi))
	return graph.Mul(graph.MulScalar(x, 0.5), graph.AddScalar(graph.Tanh(inner), 1.0))
}
