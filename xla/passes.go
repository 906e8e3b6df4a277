package xla

import (
	"github.com/gomlx/gomlx/core/graph"

	"github.com/kindred-ml/kindred/nn"
)

// The graphs of a step. What the forward pass computes and the backward pass needs
// stays on the device: the values of layers that cost much (plan: kept) and the
// statistics of batch norm. The backward pass computes the cheap layers between them
// again, which a compiler fuses with their readers, and the gradient of one layer
// after another.

// begin makes a graph's common inputs: parameters, keys and images.
func (e *Net) begin(in []*tensor, training bool) (b *build, rest []*tensor) {
	b = &build{plan: e.plan, half: e.half, fixed: e.fixed, params: map[*held]*tensor{}, moments: map[int][2]*tensor{}}
	var vectors [sets]*tensor
	rest = in
	for k, n := range e.values {
		if n > 0 {
			vectors[k], rest = rest[0], rest[1:]
		}
	}
	for _, p := range e.params {
		b.params[p] = piece(vectors[p.set], p.at, p.size)
	}
	if training {
		b.keys, rest = rest[0], rest[1:]
	}
	rest[0] = e.normalized(rest[0])
	return b, rest
}

// piece is a part of a vector.
func piece(v *tensor, at, size int) *tensor {
	if v.Shape().Size() == size {
		return v
	}
	return graph.Slice(v, graph.AxisRange(at, at+size))
}

// joined puts vectors one behind the other.
func joined(parts []*tensor) *tensor {
	if len(parts) == 1 {
		return parts[0]
	}
	return graph.Concatenate(parts, 0)
}

// inferGraph computes embeddings in evaluation mode.
func (e *Net) inferGraph(in []*tensor) []*tensor {
	b, rest := e.begin(in, false)
	values := b.all(rest[0], false)
	return []*tensor{b.embedding(values[b.plan.last])}
}

// all adds every layer.
func (b *build) all(x *tensor, training bool) []*tensor {
	b.batch = x.Shape().Dimensions[0]
	values := []*tensor{b.flow(x)}
	for i := range b.plan.nodes {
		var in []*tensor
		for _, v := range b.plan.nodes[i].from {
			in = append(in, values[v])
		}
		values = append(values, b.layer(i, in, training))
	}
	return values
}

func (b *build) embedding(x *tensor) *tensor {
	return full(graph.Reshape(x, b.batch, x.Shape().Size()/b.batch))
}

// forwardGraph computes embeddings in training mode, the running statistics after
// it, and what the backward pass needs.
func (e *Net) forwardGraph(in []*tensor) []*tensor {
	b, rest := e.begin(in, true)
	values := b.all(rest[0], true)
	out := []*tensor{b.embedding(values[b.plan.last])}
	if e.norms() {
		out = append(out, e.running(b), joined(e.statistics(b)))
	}
	for i := range b.plan.nodes {
		if b.plan.nodes[i].kept() {
			out = append(out, values[i+1])
		}
	}
	return out
}

// running are the running statistics after a step.
func (e *Net) running(b *build) *tensor {
	after := map[*held]*tensor{}
	for i := range b.plan.nodes {
		if e.moves(i) {
			n := &b.plan.nodes[i]
			after[n.params[2]], after[n.params[3]] = b.moved(i)
		}
	}
	var parts []*tensor
	for _, p := range e.params {
		if p.set != running {
			continue
		}
		v := after[p]
		if v == nil { // no layer moves it
			v = b.params[p]
		}
		parts = append(parts, v)
	}
	return joined(parts)
}

// statistics are those of the batch, two vectors for each batch norm that takes them.
func (e *Net) statistics(b *build) []*tensor {
	var parts []*tensor
	for i := range b.plan.nodes {
		if e.moves(i) {
			parts = append(parts, b.moments[i][0], b.moments[i][1])
		}
	}
	return parts
}

// moves tells whether a node's running statistics move in training.
func (e *Net) moves(i int) bool { return e.plan.nodes[i].layer.Kind == nn.BatchNorm && !e.fixed }

// backwardGraph computes the gradient of every trained parameter from that of the
// embeddings.
func (e *Net) backwardGraph(in []*tensor) []*tensor {
	b, rest := e.begin(in, true)
	nodes := b.plan.nodes
	values := make([]*tensor, len(nodes)+1)
	values[0] = b.flow(rest[0])
	b.batch = rest[0].Shape().Dimensions[0]
	rest = rest[1:]
	if e.norms() {
		at := 0
		for i := range nodes {
			if e.moves(i) {
				size := nodes[i].params[0].size
				b.moments[i] = [2]*tensor{piece(rest[0], at, size), piece(rest[0], at+size, size)}
				at += 2 * size
			}
		}
		rest = rest[1:]
	}
	for i := range nodes {
		if nodes[i].kept() {
			values[i+1], rest = rest[0], rest[1:]
		}
	}
	back := &backward{build: b, values: values, slopes: make([]*tensor, len(values)), needs: b.needs(),
		grads: map[*held]*tensor{}}
	last := b.plan.last
	back.slopes[last] = b.flow(graph.Reshape(rest[0], append([]int{b.batch}, nodes[last-1].out...)...))
	for i := len(nodes) - 1; i >= 0; i-- {
		if back.slopes[i+1] != nil && back.needs[i+1] {
			back.node(i)
		}
	}
	var out []*tensor
	for _, p := range e.params {
		if p.set != trained {
			continue
		}
		g := back.grads[p]
		if g == nil { // its layer has no part in the embedding
			g = graph.ZerosLike(b.params[p])
		}
		out = append(out, full(graph.Reshape(g, p.size)))
	}
	return []*tensor{joined(out)}
}

// needs tells of each value whether a trained parameter comes before it.
func (b *build) needs() []bool {
	needs := make([]bool, len(b.plan.nodes)+1)
	for i := range b.plan.nodes {
		n := &b.plan.nodes[i]
		for _, v := range n.from {
			needs[i+1] = needs[i+1] || needs[v]
		}
		for _, p := range n.params {
			needs[i+1] = needs[i+1] || p.set == trained
		}
	}
	return needs
}

// backward is the backward pass under construction.
type backward struct {
	*build
	values []*tensor // what is known of the forward pass
	slopes []*tensor // gradients of the values, as far as they have been summed
	needs  []bool
	grads  map[*held]*tensor
}

// value is what a layer made, computed again if it was not kept.
func (b *backward) value(v int) *tensor {
	if b.values[v] == nil {
		var in []*tensor
		for _, u := range b.plan.nodes[v-1].from {
			in = append(in, b.value(u))
		}
		b.values[v] = b.layer(v-1, in, true)
	}
	return b.values[v]
}

// node adds node i's gradients to those of its inputs and parameters.
func (b *backward) node(i int) {
	n := &b.plan.nodes[i]
	// It depends on the values that gradients are taken by, as on everything.
	dy := graph.StopGradient(full(b.slopes[i+1]))
	switch kind := n.layer.Kind; {
	case kind == nn.BatchNorm && !b.fixed:
		dx, dgamma, dbeta := b.normGradient(i, full(b.value(n.from[0])), dy)
		b.give(n.from[0], dx)
		b.grads[n.params[0]], b.grads[n.params[1]] = dgamma, dbeta
		return
	case kind == nn.Attention:
		b.give(n.from[0], b.attentionGradient(n, b.value(n.from[0]), b.value(i+1), dy))
		return
	case kind == nn.Conv, kind == nn.Dense, kind == nn.Linear:
		gradient := b.denseGradient
		if kind == nn.Conv {
			gradient = b.convGradient
		}
		dx, dw, db := gradient(n, b.value(n.from[0]), dy, b.needs[n.from[0]])
		b.give(n.from[0], dx)
		b.grads[n.params[0]] = dw
		if db != nil {
			b.grads[n.params[1]] = db
		}
		return
	case kind == nn.AvgPool:
		b.give(n.from[0], b.meanGradient(n, full(b.value(n.from[0])), dy))
		return
	}
	var in, by []*tensor
	for _, v := range n.from {
		// Of one value taken twice each use has a gradient of its own.
		x := graph.Identity(b.value(v))
		in, by = append(in, x), append(by, x)
	}
	for _, p := range n.params {
		by = append(by, b.params[p])
	}
	y := full(b.layer(i, in, true))
	slopes := graph.Gradient(graph.ReduceAllSum(graph.Mul(y, dy)), by...)
	for k, v := range n.from {
		b.give(v, slopes[k])
	}
	for k, p := range n.params {
		b.grads[p] = slopes[len(in)+k]
	}
}

// give adds to the gradient of a value.
func (b *backward) give(v int, slope *tensor) {
	if !b.needs[v] {
		return
	}
	if old := b.slopes[v]; old != nil {
		slope = graph.Add(full(old), full(slope))
	}
	b.slopes[v] = b.flow(slope)
}

// squaresGraph sums the squares of all gradients.
func squaresGraph(in []*tensor) []*tensor { return []*tensor{graph.ReduceAllSum(graph.Square(in[0]))} }
