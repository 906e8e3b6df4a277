package xla

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/kindred-ml/kindred/nn"
)

// Dense layers, linear ones and attention, with their gradients. GoMLX's gradient of a
// product in half precision computes in float32, which costs twice the time and a copy
// of both operands.

// flat is x, of what a node takes or makes, as the rows that a dense or linear layer
// multiplies: a row for an image, or for a position.
func (b *build) flat(n *node, x *tensor) *tensor {
	rows := b.batch
	if n.layer.Kind == nn.Linear {
		rows *= n.taken[0] * n.taken[1]
	}
	return graph.Reshape(x, rows, x.Shape().Size()/rows)
}

// weights are a layer's, a row for each output.
func (b *build) weights(n *node) *tensor {
	return b.flow(graph.Reshape(b.param(n, 0), n.layer.Out, n.params[0].size/n.layer.Out))
}

// dense is a dense or a linear layer.
func (b *build) dense(n *node, x *tensor) *tensor {
	return b.biased(n, b.shaped(n, graph.DotGeneral(b.flat(n, x), []int{1}, nil, b.weights(n), []int{1}, nil)))
}

// denseGradient is the gradient of a dense or linear layer by its input, if that is
// wanted, its weights and its bias.
func (b *build) denseGradient(n *node, x, dy *tensor, wanted bool) (dx, dw, db *tensor) {
	if b.param(n, 1) != nil {
		db = graph.ReduceSum(b.flat(n, full(dy)), 0)
		if n.layer.NoKeyBias {
			third := n.layer.Out / 3
			keys := graph.ZerosLike(piece(db, third, third))
			db = joined([]*tensor{piece(db, 0, third), keys, piece(db, 2*third, third)})
		}
	}
	half := b.flat(n, b.flow(dy))
	if wanted {
		dx = graph.Reshape(graph.DotGeneral(half, []int{1}, nil, b.weights(n), []int{0}, nil), x.Shape().Dimensions...)
	}
	dw = graph.Dot(half, b.flat(n, x)).WithOutputDType(dtypes.Float32).General([]int{0}, nil, []int{0}, nil)
	return dx, dw, db
}

// heads is one of three parts of the channels, k, as images x heads x tokens x dim.
func (b *build) heads(n *node, x *tensor, k, parts int) *tensor {
	heads, t := n.layer.Heads, n.taken[0]*n.taken[1]
	dim := n.out[2] / heads
	x = graph.Reshape(x, b.batch, t, parts, heads, dim)
	if parts > 1 {
		x = graph.Slice(x, graph.AxisRange(), graph.AxisRange(), graph.AxisRange(k, k+1))
	}
	return graph.Transpose(graph.Reshape(x, b.batch, t, heads, dim), 1, 2)
}

// scale is what scores of attention are multiplied by.
func (n *node) scale() float64 { return 1 / math.Sqrt(float64(n.out[2]/n.layer.Heads)) }

// attended are the weights of attention, which sum to 1 for each query.
func (b *build) attended(n *node, query, key *tensor) *tensor {
	scores := graph.DotGeneral(query, []int{3}, []int{0, 1}, key, []int{3}, []int{0, 1})
	x := graph.MulScalar(full(scores), n.scale())
	if n.layer.Causal {
		past := graph.LowerTriangular(x.Graph(), x.Shape().Dimensions[3])
		x = graph.Where(spread(graph.InsertAxes(past, 0, 0), x), x, graph.MulScalar(graph.OnesLike(x), math.Inf(-1)))
	}
	return softmax(x)
}

// attention: channels are the queries, keys and values of all heads.
func (b *build) attention(n *node, x *tensor) *tensor {
	weights := b.flow(b.attended(n, b.heads(n, x, 0, 3), b.heads(n, x, 1, 3)))
	y := graph.DotGeneral(weights, []int{3}, []int{0, 1}, b.heads(n, x, 2, 3), []int{2}, []int{0, 1})
	return b.shaped(n, graph.Transpose(y, 1, 2))
}

// attentionGradient is that by the input, of the output y, with P the weights:
//
//	dV = P^T dy, dS = P (dy V^T - sum(dy y)), dQ = scale dS K, dK = scale dS^T Q
func (b *build) attentionGradient(n *node, x, y, dy *tensor) *tensor {
	query, key, value := b.heads(n, x, 0, 3), b.heads(n, x, 1, 3), b.heads(n, x, 2, 3)
	weights := b.attended(n, query, key)
	out, slope := b.heads(n, full(y), 0, 1), b.heads(n, full(dy), 0, 1)
	mean := graph.InsertAxes(graph.ReduceSum(graph.Mul(out, slope), 3), -1)
	slope = b.flow(slope)
	both := []int{0, 1}
	by := full(graph.DotGeneral(slope, []int{3}, both, value, []int{3}, both))
	scores := b.flow(graph.MulScalar(graph.Mul(weights, graph.Sub(by, spread(mean, by))), n.scale()))
	parts := []*tensor{
		graph.DotGeneral(scores, []int{3}, both, key, []int{2}, both),
		graph.DotGeneral(scores, []int{2}, both, query, []int{2}, both),
		graph.DotGeneral(b.flow(weights), []int{2}, both, slope, []int{2}, both),
	}
	for k, p := range parts { // images x tokens x 1 x heads x dim
		parts[k] = graph.InsertAxes(graph.Transpose(p, 1, 2), 2)
	}
	return graph.Reshape(graph.Concatenate(parts, 2), x.Shape().Dimensions...)
}

// softmax over the last axis.
func softmax(x *tensor) *tensor {
	top := graph.InsertAxes(graph.ReduceMax(x, -1), -1)
	e := graph.Exp(graph.Sub(x, spread(top, x)))
	return graph.Div(e, spread(graph.InsertAxes(graph.ReduceSum(e, -1), -1), e))
}
