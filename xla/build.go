package xla

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/kindred-ml/kindred/nn"
)

// tensor is a value of a graph under construction.
type tensor = graph.Node

// build is a graph under construction: layers are added to it one by one.
type build struct {
	plan   *plan
	half   bool // what flows between layers is bfloat16
	fixed  bool // batch norm takes the running statistics in training too
	batch  int
	params map[*held]*tensor
	// keys are those of what drops, one a node, and how many images of the batch come
	// before these.
	keys *tensor
	// moments are batch norm's statistics by node, where training takes them from
	// the batch: the mean and the biased variance.
	moments map[int][2]*tensor
}

// flow is how values are kept between layers.
func (b *build) flow(x *tensor) *tensor {
	if b.half {
		return graph.ConvertDType(x, dtypes.BFloat16)
	}
	return x
}

// full is a value as layers that are no products compute with it.
func full(x *tensor) *tensor { return graph.ConvertDType(x, dtypes.Float32) }

func (b *build) param(n *node, k int) *tensor {
	if k < len(n.params) {
		return b.params[n.params[k]]
	}
	return nil
}

// clip bounds x to [0, top], without a gradient at the bounds.
func clip(x *tensor, top float64) *tensor {
	zero, high := graph.ZerosLike(x), graph.MulScalar(graph.OnesLike(x), top)
	x = graph.Where(graph.GreaterThan(x, zero), x, zero)
	return graph.Where(graph.LessThan(x, high), x, high)
}

// spread repeats x, of the rank of like, along the axes where it has one value.
func spread(x, like *tensor) *tensor {
	if x.Shape().Equal(like.Shape()) {
		return x
	}
	return graph.BroadcastToDims(x, like.Shape().Dimensions...)
}

func size(dims []int) int { return dims[0] * dims[1] * dims[2] }

// shaped gives x the shape of what the node makes.
func (b *build) shaped(n *node, x *tensor) *tensor {
	return graph.Reshape(x, b.batch, n.out[0], n.out[1], n.out[2])
}

// feature is a parameter of one value a channel, or a value of a vector, spread over
// x.
func (b *build) feature(n *node, k int, x *tensor) *tensor {
	p := b.param(n, k)
	if p.Shape().Size() == n.taken[2] {
		return spread(graph.Reshape(p, 1, 1, 1, n.taken[2]), x)
	}
	return spread(graph.Reshape(p, 1, n.taken[0], n.taken[1], n.taken[2]), x)
}

// biased adds the second parameter, if there is one, to every channel.
func (b *build) biased(n *node, y *tensor) *tensor {
	bias := b.param(n, 1)
	if bias == nil {
		return y
	}
	return b.flow(graph.Add(full(y), spread(graph.Reshape(bias, 1, 1, 1, n.layer.Out), y)))
}

// rows are the axes over which batch norm's statistics go.
func (n *node) rows() []int {
	if n.params[0].size == n.taken[2] {
		return []int{0, 1, 2}
	}
	return []int{0}
}

// batchNorm with the batch's statistics, which b.moments keeps, or the running ones.
func (b *build) batchNorm(i int, x *tensor, training bool) *tensor {
	n := &b.plan.nodes[i]
	mean, variance := b.param(n, 2), b.param(n, 3)
	if training {
		m, known := b.moments[i]
		if !known {
			m[0] = graph.Reshape(graph.ReduceMean(x, n.rows()...), n.params[0].size)
			off := graph.Sub(x, b.perFeature(n, m[0], x))
			m[1] = graph.Reshape(graph.ReduceMean(graph.Square(off), n.rows()...), n.params[0].size)
			b.moments[i] = m
		}
		mean, variance = m[0], m[1]
	}
	scale := graph.Div(b.param(n, 0), graph.Sqrt(graph.AddScalar(variance, n.layer.Eps)))
	off := graph.Sub(x, b.perFeature(n, mean, x))
	return graph.Add(graph.Mul(off, b.perFeature(n, scale, x)), b.feature(n, 1, x))
}

// perFeature spreads a vector of the length of a norm's weights over x.
func (b *build) perFeature(n *node, v, x *tensor) *tensor {
	dims := []int{1, 1, 1, n.taken[2]}
	if n.params[0].size != n.taken[2] {
		dims = []int{1, n.taken[0], n.taken[1], n.taken[2]}
	}
	return spread(graph.Reshape(v, dims...), x)
}

// normGradient is batch norm's gradient with the batch's statistics, by its input
// and its two parameters:
//
//	dx = gamma inv (dy - mean(dy) - xhat mean(dy xhat))
func (b *build) normGradient(i int, x, dy *tensor) (dx, dgamma, dbeta *tensor) {
	n := &b.plan.nodes[i]
	m, size := b.moments[i], n.params[0].size
	inv := graph.Inverse(graph.Sqrt(graph.AddScalar(m[1], n.layer.Eps)))
	hat := graph.Mul(graph.Sub(x, b.perFeature(n, m[0], x)), b.perFeature(n, inv, x))
	dbeta = graph.Reshape(graph.ReduceSum(dy, n.rows()...), size)
	dgamma = graph.Reshape(graph.ReduceSum(graph.Mul(dy, hat), n.rows()...), size)
	count := float64(x.Shape().Size() / size)
	rest := graph.Add(b.perFeature(n, dbeta, x), graph.Mul(hat, b.perFeature(n, dgamma, x)))
	dx = graph.Mul(b.perFeature(n, graph.Mul(b.param(n, 0), inv), x),
		graph.Sub(dy, graph.DivScalar(rest, count)))
	return dx, dgamma, dbeta
}

// moved are the running statistics after a step: the variance by its unbiased
// estimate.
func (b *build) moved(i int) (mean, variance *tensor) {
	n := &b.plan.nodes[i]
	m := b.moments[i]
	momentum := n.layer.Momentum
	rows := b.batch
	if len(n.rows()) == 3 {
		rows *= n.taken[0] * n.taken[1]
	}
	unbiased := 1.0
	if rows > 1 {
		unbiased = float64(rows) / float64(rows-1)
	}
	step := func(old, to *tensor, scale float64) *tensor {
		return graph.Add(graph.MulScalar(old, 1-momentum), graph.MulScalar(to, momentum*scale))
	}
	return step(b.param(n, 2), m[0], 1), step(b.param(n, 3), m[1], unbiased)
}

func (b *build) layerNorm(n *node, x *tensor) *tensor {
	axes, dims := []int{3}, []int{b.batch, n.taken[0], n.taken[1], 1}
	if n.params[0].size != n.taken[2] { // a vector that was an image
		axes, dims = []int{1, 2, 3}, []int{b.batch, 1, 1, 1}
	}
	mean := func(x *tensor) *tensor { return graph.Reshape(graph.ReduceMean(x, axes...), dims...) }
	off := graph.Sub(x, spread(mean(x), x))
	unit := graph.Div(off, spread(graph.Sqrt(graph.AddScalar(mean(graph.Square(off)), n.layer.Eps)), x))
	return graph.Add(graph.Mul(unit, b.feature(n, 0, x)), b.feature(n, 1, x))
}

// gem is the generalised mean: (mean of max(x, eps)^p)^(1/p).
func (b *build) gem(n *node, x *tensor) *tensor {
	eps := n.layer.Eps
	p := graph.MaxScalar(graph.Reshape(b.param(n, 0)), eps)
	low := graph.MulScalar(graph.OnesLike(x), eps)
	u := graph.Log(graph.Where(graph.GreaterThan(x, low), x, low))
	m := graph.ReduceMean(graph.Exp(graph.Mul(u, p)), 1, 2)
	return b.shaped(n, graph.Exp(graph.Div(graph.Log(m), p)))
}

// tokens puts learned positions among those of the input.
func (b *build) tokens(n *node, x *tensor) *tensor {
	at, count, c := n.layer.At, n.taken[0]*n.taken[1], n.taken[2]
	seq := graph.Reshape(x, b.batch, count, c)
	p := graph.Reshape(b.param(n, 0), 1, n.layer.Out, c)
	p = graph.BroadcastToDims(p, b.batch, n.layer.Out, c)
	parts := []*tensor{p}
	if at > 0 {
		parts = append([]*tensor{graph.Slice(seq, graph.AxisRange(), graph.AxisRange(0, at))}, parts...)
	}
	if at < count {
		parts = append(parts, graph.Slice(seq, graph.AxisRange(), graph.AxisRangeToEnd(at)))
	}
	return b.shaped(n, graph.Concatenate(parts, 1))
}

// drop zeroes values at random, or whole images, by the bits that package nn draws:
// the finaliser of SplitMix64 over the key of the layer and the position.
func (b *build) drop(i int, n *node, x *tensor) *tensor {
	dims := []int{b.batch, 1, 1, 1}
	if n.layer.Kind == nn.Dropout {
		dims = append([]int{b.batch}, n.taken...)
	}
	count := 1
	for _, d := range dims {
		count *= d
	}
	g := x.Graph()
	at := graph.Add(graph.Iota(g, shapes.Make(dtypes.Uint64, count), 0), graph.Mul(b.key(len(b.plan.nodes)),
		graph.Const(g, uint64(count/b.batch))))
	keep := 1 - n.layer.Rate
	kept := graph.LessThan(shifted(mix(graph.Add(at, b.key(i))), 11),
		graph.Const(g, uint64(keep*(1<<53))))
	factor := graph.MulScalar(graph.ConvertDType(kept, dtypes.Float32), float64(float32(1/keep)))
	return graph.Mul(x, spread(graph.Reshape(factor, dims...), x))
}

// key is the i-th of them.
func (b *build) key(i int) *tensor {
	return graph.Reshape(graph.Slice(b.keys, graph.AxisRange(i, i+1)))
}

func shifted(z *tensor, by uint64) *tensor {
	return graph.BitwiseShiftRightLogical(z, graph.Const(z.Graph(), by))
}

func mix(z *tensor) *tensor {
	g := z.Graph()
	times := func(z *tensor, by uint64) *tensor { return graph.Mul(z, graph.Const(g, by)) }
	z = times(graph.Add(z, graph.Const(g, uint64(1))), 0x9e3779b97f4a7c15)
	z = times(graph.BitwiseXor(z, shifted(z, 30)), 0xbf58476d1ce4e5b9)
	z = times(graph.BitwiseXor(z, shifted(z, 27)), 0x94d049bb133111eb)
	return graph.BitwiseXor(z, shifted(z, 31))
}

// mixed is mix of a number.
func mixed(z uint64) uint64 {
	z = (z + 1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
