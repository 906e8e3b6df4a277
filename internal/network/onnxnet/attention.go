package onnxnet

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
	"github.com/kindred-ml/kindred/nn"
)

// attention lifts softmax(q k' scale) v with everything that moves queries, keys
// and values into heads and back. Their projections become one linear layer.
func (l *lifter) attention(s *layerChain) (bool, error) {
	j := s.i + 1
	for j < len(s.chain) && isMove(s.chain[j].by) {
		j++
	}
	if j == len(s.chain) {
		return false, nil
	}
	product2 := s.chain[j].by
	if product2.Op != "MatMul" || len(product2.sources()) != 2 {
		return false, nil
	}
	fail := func(err error) (bool, error) {
		return false, fmt.Errorf("attention that ends in %s: %w", product2, err)
	}
	scores, scale, causal, err := l.softmax(product2.in[0])
	if err != nil {
		return fail(err)
	}
	from := s.chain[s.i]
	var roles [3]role
	for i, v := range []*value{scores.in[0], scores.in[1], product2.in[1]} {
		if roles[i], err = l.trace(from, v); err != nil {
			return fail(err)
		}
		scale *= roles[i].scale
	}
	heads, size, err := headsOf(&roles, s.form.positions())
	if err != nil {
		return fail(err)
	}
	var rows [3][]int
	var projections [3]*layer
	for i := range roles {
		r := &roles[i]
		f := s.form
		if r.source == from {
			projections[i] = s.last()
			if projections[i] == nil || projections[i].Kind != nn.Linear {
				return fail(errors.New("its queries, keys and values are not made by one linear layer"))
			}
		} else {
			branch, err := l.sequence(from, r.source, s.form)
			if err != nil {
				return false, err
			}
			if len(branch.layers) != 1 || branch.layers[0].Kind != nn.Linear {
				return fail(fmt.Errorf("its queries, keys and values are each made by a linear layer, not by %s",
					describe(branch.layers)))
			}
			projections[i], f = branch.layers[0], branch.form
		}
		if rows[i], err = r.rows(f, heads, size, i == 1); err != nil {
			return fail(err)
		}
	}
	// scale/sqrt(size) is what the layer does itself; the rest goes into the queries.
	made := stacked(projections, rows, float32(scale*math.Sqrt(float64(size))))
	core := &layer{Layer: nn.Layer{Kind: nn.Attention, Heads: heads, Causal: causal}, from: product2}
	back, f, err := l.gather(s, j, heads, size)
	if err != nil {
		return fail(err)
	}
	if roles[0].source == from {
		s.layers = s.layers[:len(s.layers)-1]
	}
	s.layers = append(s.layers, made, core)
	s.i, s.form = back, f
	return true, nil
}

// softmax goes back from the weights of an attention to the product of queries
// and keys, gathers the factors on the way, and tells of a causal mask.
func (l *lifter) softmax(v *value) (product *node, scale float64, causal bool, err error) {
	scale = 1
	for inside := false; ; {
		n := v.by
		if n == nil {
			return nil, 0, false, errors.New("its weights are not the softmax of a product")
		}
		k, isFactor := factor(n)
		switch {
		case n.Op == "Softmax" && !inside:
			if l.g.call(n).Axis("axis", -1, len(v.shape)) != len(v.shape)-1 {
				return nil, 0, false, errors.New("its softmax is not over the last axis")
			}
			inside = true
		case n.Op == "MatMul" && inside && len(n.sources()) == 2:
			return n, scale, causal, nil
		case isFactor && inside:
			scale *= k
		case n.Op == "Where" && !inside && len(n.sources()) == 2 && n.in[2] != nil && n.in[2].known == nil:
			v = n.in[2] // a softmax whose NaN are replaced
			continue
		case isMove(n) && slices.Equal(n.in[0].shape, v.shape), isMove(n) && n.Op == "Reshape":
		case inside && isCausalMask(n):
			causal = true
		case n.Op == "Add" && len(n.sources()) == 1:
			return nil, 0, false, fmt.Errorf("%s adds a bias to it (relative positions, a mask), "+
				"which attention here does not have", n)
		default:
			return nil, 0, false, fmt.Errorf("%s stands between the softmax and the product of queries and keys", n)
		}
		v = n.sources()[0]
	}
}

// isCausalMask tells whether a node adds 0 to the scores of positions up to the query's own,
// and so little to those behind it that their weights are 0.
func isCausalMask(n *node) bool {
	if n.Op != "Add" || len(n.sources()) != 1 {
		return false
	}
	scores := n.sources()[0].shape
	for _, v := range n.in {
		if v == nil || v.known == nil || !v.known.IsFloat() || len(v.known.Shape) < 2 || len(scores) < 2 {
			continue
		}
		t := scores[len(scores)-1]
		if scores[len(scores)-2] != t || v.known.Len() != t*t || !slices.Equal(v.known.Shape[len(v.known.Shape)-2:],
			[]int{t, t}) {
			continue
		}
		for i, m := range v.known.Floats {
			if future := i%t > i/t; future && !(m <= -1e4) || !future && m != 0 {
				return false
			}
		}
		return true
	}
	return false
}

// factor returns the number that a node multiplies its input by.
func factor(n *node) (float64, bool) {
	if n.Op != "Mul" && n.Op != "Div" || len(n.in) != 2 {
		return 0, false
	}
	for i, v := range n.in {
		if v == nil || v.known == nil || v.known.Len() != 1 {
			continue
		}
		k := v.known.Value(0)
		switch {
		case n.Op == "Mul":
			return k, true
		case i == 1:
			return 1 / k, true
		}
	}
	return 0, false
}

// role is one of queries, keys and values: what it is taken from, how its values
// are moved, and the factor on the way.
type role struct {
	source *value
	shape  []int
	from   []int64 // offsets in source
	scale  float64
}

// trace goes back from a role's values over movements and factors, no further
// than to from.
func (l *lifter) trace(from, v *value) (role, error) {
	r := role{scale: 1, shape: v.shape}
	var path []*node
	at := v
	for at != from && at.by != nil {
		k, isFactor := factor(at.by)
		if !isFactor && !isMove(at.by) {
			break
		}
		if isFactor {
			r.scale *= k
		} else {
			path = append(path, at.by)
		}
		at = at.by.sources()[0]
	}
	r.source = at
	x, err := offsets(at.shape)
	if err != nil {
		return r, err
	}
	// Factors keep every value in its place: their inputs stand for their outputs.
	known := map[*value]*tensor.Tensor{at: x}
	find := func(v *value) *tensor.Tensor {
		for v != nil && known[v] == nil && v.by != nil {
			v = v.by.sources()[0]
		}
		return known[v]
	}
	slices.Reverse(path)
	for _, n := range path {
		in := n.known()
		in[0] = find(n.in[0])
		if in[0] == nil {
			return r, errNoOperator
		}
		out, err := l.g.compute(n, in)
		if err != nil {
			return r, err
		}
		for i, u := range n.out {
			known[u] = out[i]
		}
	}
	y := find(v)
	if y == nil {
		return r, errNoOperator
	}
	r.from = y.Ints
	return r, nil
}

// headsOf compares the shapes of queries, keys and values: heads x positions x
// size, of keys with the last two exchanged.
func headsOf(r *[3]role, positions int) (heads, size int, err error) {
	var shape [3][]int
	for i := range r {
		s := r[i].shape
		if len(s) < 2 {
			return 0, 0, fmt.Errorf("its operands are of shape %d", s)
		}
		shape[i] = []int{tensor.Size(s[:len(s)-2]), s[len(s)-2], s[len(s)-1]}
	}
	q, k, v := shape[0], shape[1], shape[2]
	heads, size = q[0], q[2]
	if q[1] != positions || !slices.Equal(k, []int{heads, size, positions}) || !slices.Equal(v, q) || size == 0 ||
		heads == 0 {
		return 0, 0, fmt.Errorf("queries, keys and values of %d, %d and %d "+
			"for %d positions are not attention as it is here",
			r[0].shape, r[1].shape, r[2].shape, positions)
	}
	return heads, size, nil
}

// rows lists which outputs of its projection make a role's values, head by head.
func (r *role) rows(f imageLayout, heads, size int, keys bool) ([]int, error) {
	f.c = tensor.Size(r.source.shape) / f.positions()
	if f.len() != tensor.Size(r.source.shape) {
		return nil, errors.New("its projections are of another shape than its image")
	}
	positions := f.positions()
	out := make([]int, heads*size)
	for h := range heads {
		for t := range positions {
			for j := range size {
				at := (h*positions+t)*size + j
				if keys {
					at = (h*size+j)*positions + t
				}
				p, c := f.place(int(r.from[at]))
				if t == 0 {
					out[h*size+j] = c
				}
				if p != t || c != out[h*size+j] {
					return nil, errors.New("its heads are not made of channels at the same position")
				}
			}
		}
	}
	return out, nil
}

// stacked is the linear layer of the given rows of three, those of the queries
// multiplied by a factor.
func stacked(from [3]*layer, rows [3][]int, factor float32) *layer {
	if math.Abs(float64(factor)-1) < 1e-6 {
		factor = 1
	}
	made := &layer{Layer: nn.Layer{Kind: nn.Linear}, from: from[0].from, hint: from[0].hint}
	var weight, bias []float32
	wide := 0
	made.NoBias = from[0].NoBias && from[1].NoBias && from[2].NoBias
	for i, l := range from {
		w := l.param("weight")
		wide = w.shape[1]
		for _, r := range rows[i] {
			k, b := float32(1), float32(0)
			if i == 0 {
				k = factor
			}
			if p := l.param("bias"); p != nil {
				b = p.values[r]
			}
			for _, v := range w.values[r*wide : (r+1)*wide] {
				weight = append(weight, v*k)
			}
			bias = append(bias, b*k)
		}
	}
	made.Out = len(bias)
	made.set("weight", []int{made.Out, wide}, weight)
	if !made.NoBias {
		made.set("bias", []int{made.Out}, bias)
	}
	return made
}

// gather finds the end of the movements that bring heads x positions x size,
// which the value at point j of the chain is, back to positions x channels.
func (l *lifter) gather(s *layerChain, j, heads, size int) (int, imageLayout, error) {
	end := j
	for end+1 < len(s.chain) && isMove(s.chain[end+1].by) {
		end++
	}
	positions := s.form.positions()
	for ; end >= j; end-- {
		from, err := l.origins(s.chain[j], s.chain[end])
		if err != nil {
			return 0, imageLayout{}, err
		}
		if len(from) != heads*size*positions {
			continue
		}
		for _, first := range []bool{false, true} {
			f := imageLayout{first: first, h: s.form.h, w: s.form.w, c: heads * size}
			same := true
			for i, o := range from {
				p, c := f.place(i)
				if o != int64((c/size*positions+p)*size+c%size) {
					same = false
					break
				}
			}
			if same {
				return end, f, nil
			}
		}
	}
	return 0, imageLayout{}, errors.New("its heads are not brought together as channels")
}
