package onnxnet

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// isMovement tells operators whose result is values of their first input,
// somewhere else.
func isMovement(op string) bool {
	switch op {
	case "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Gather", "Split", "Expand", "Identity",
		"Dropout", "Tile":
		return true
	}
	return false
}

// moved says where the values of a movement's outputs come from: the shape of
// each, and the offsets of its values in the first input.
type moved struct {
	shape []int
	from  []int
}

// move computes where an operator of isMovement takes its values from. in holds
// what is known of the inputs; of the first one the shape is enough.
func (g *graph) move(n *node, shape []int, in []*array) ([]moved, error) {
	a := attrs{node: n.Node}
	if _, err := count(shape); err != nil {
		return nil, err
	}
	same := func(to []int) ([]moved, error) {
		have, err := count(shape)
		if err != nil {
			return nil, err
		}
		want, err := count(to)
		if err != nil {
			return nil, err
		}
		if have != want {
			return nil, fmt.Errorf("%d values of shape %d do not fill shape %d", have, shape, to)
		}
		from, err := walk(to, strides(to), 0)
		return []moved{{to, from}}, errors.Join(err, a.err)
	}
	strided := func(to, stride []int, start int) ([]moved, error) {
		from, err := walk(to, stride, start)
		return []moved{{to, from}}, errors.Join(err, a.err)
	}
	switch n.Op {
	case "Identity", "Dropout":
		return same(shape)
	case "Reshape":
		to, err := g.reshaped(n, shape, in)
		if err != nil {
			return nil, err
		}
		return same(to)
	case "Flatten":
		axis := a.int("axis", 1)
		if axis < 0 {
			axis += int64(len(shape))
		}
		if axis < 0 || axis > int64(len(shape)) {
			return nil, fmt.Errorf("axis %d of a tensor with %d", axis, len(shape))
		}
		return same([]int{product(shape[:axis]), product(shape[axis:])})
	case "Squeeze", "Unsqueeze":
		to, err := g.squeezed(n, shape, in)
		if err != nil {
			return nil, err
		}
		return same(to)
	case "Transpose":
		perm, err := permutation(a.ints("perm"), len(shape))
		if err != nil {
			return nil, err
		}
		own := strides(shape)
		to, stride := make([]int, len(shape)), make([]int, len(shape))
		for i, p := range perm {
			to[i], stride[i] = shape[p], own[p]
		}
		return strided(to, stride, 0)
	case "Slice":
		to, stride, start, err := g.sliced(n, shape, in)
		if err != nil {
			return nil, err
		}
		return strided(to, stride, start)
	case "Gather":
		return gathered(&a, shape, in)
	case "Split":
		return g.split(n, shape, in)
	case "Expand", "Tile":
		return repeated(n, shape, in)
	}
	return nil, fmt.Errorf("%s is no movement", n.Op)
}

// product multiplies sides that count has let through.
func product(shape []int) int {
	p := 1
	for _, d := range shape {
		p *= d
	}
	return p
}

// numbers returns the integers that an input holds, or, up to some opset, an
// attribute; ok is false if neither is there.
func numbers(n *node, in []*array, at int, attr string) (v []int64, ok bool, err error) {
	if at < len(in) && in[at] != nil {
		if in[at].isReal() {
			return nil, false, fmt.Errorf("its input %d holds no integers", at)
		}
		return in[at].ints, true, nil
	}
	if at < len(n.in) && n.in[at] != nil {
		return nil, false, fmt.Errorf("its input %q is computed from the image", n.in[at].name)
	}
	a := attrs{node: n.Node}
	v = a.ints(attr)
	return v, v != nil, a.err
}

func (g *graph) reshaped(n *node, shape []int, in []*array) ([]int, error) {
	want, ok, err := numbers(n, in, 1, "shape")
	if err != nil || !ok {
		return nil, errors.Join(err, errors.New("its shape is not known"))
	}
	a := attrs{node: n.Node}
	zero := a.int("allowzero", 0) == 0
	total, err := count(shape)
	if err != nil {
		return nil, err
	}
	to := make([]int, len(want))
	open, rest := -1, int64(1)
	for i, w := range want {
		switch {
		case w == 0 && zero:
			if i >= len(shape) {
				return nil, fmt.Errorf("side %d of shape %d is taken from an input of shape %d", i, want, shape)
			}
			w = int64(shape[i])
		case w == -1 && open < 0:
			open = i
			continue
		case w < 0:
			return nil, fmt.Errorf("shape %d is impossible", want)
		}
		rest = budget.Product(rest, w)
		if rest == math.MaxInt64 {
			return nil, fmt.Errorf("shape %d is impossible", want)
		}
		to[i] = int(w)
	}
	if open >= 0 {
		if rest == 0 || int64(total)%rest != 0 {
			return nil, fmt.Errorf("%d values of shape %d do not fill shape %d", total, shape, want)
		}
		to[open] = int(int64(total) / rest)
	}
	return to, a.err
}

func (g *graph) squeezed(n *node, shape []int, in []*array) ([]int, error) {
	want, ok, err := numbers(n, in, 1, "axes")
	if err != nil {
		return nil, err
	}
	if n.Op == "Unsqueeze" {
		axes, err := axesOf(want, len(shape)+len(want))
		if err != nil {
			return nil, err
		}
		to := slices.Clone(shape)
		for _, i := range axes { // sorted, so that each finds its place
			to = slices.Insert(to, i, 1)
		}
		return to, nil
	}
	axes, err := axesOf(want, len(shape))
	if err != nil {
		return nil, err
	}
	var to []int
	for i, d := range shape {
		drop := slices.Contains(axes, i)
		if !ok {
			drop = d == 1
		}
		if drop && d != 1 {
			return nil, fmt.Errorf("side %d of shape %d is not 1", i, shape)
		}
		if !drop {
			to = append(to, d)
		}
	}
	return append([]int{}, to...), nil
}

func permutation(perm []int64, rank int) ([]int, error) {
	out := make([]int, rank)
	if perm == nil {
		for i := range out {
			out[i] = rank - 1 - i
		}
		return out, nil
	}
	seen := make([]bool, rank)
	if len(perm) != rank {
		return nil, fmt.Errorf("perm %d of a tensor with %d axes", perm, rank)
	}
	for i, p := range perm {
		if p < 0 || p >= int64(rank) || seen[p] {
			return nil, fmt.Errorf("perm %d is no order of %d axes", perm, rank)
		}
		seen[p] = true
		out[i] = int(p)
	}
	return out, nil
}

// sliced follows numpy: bounds that count from the end, cut to what there is.
func (g *graph) sliced(n *node, shape []int, in []*array) (to, stride []int, start int, err error) {
	starts, ok1, err1 := numbers(n, in, 1, "starts")
	ends, ok2, err2 := numbers(n, in, 2, "ends")
	axes, haveAxes, err3 := numbers(n, in, 3, "axes")
	steps, haveSteps, err4 := numbers(n, in, 4, "steps")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, nil, 0, err
	}
	if !ok1 || !ok2 || len(starts) != len(ends) || haveAxes && len(axes) != len(starts) ||
		haveSteps && len(steps) != len(starts) || !haveAxes && len(starts) > len(shape) {
		return nil, nil, 0, errors.New("its starts, ends, axes and steps do not go together")
	}
	to, stride = slices.Clone(shape), strides(shape)
	seen := make([]bool, len(shape))
	for i := range starts {
		axis, step := i, int64(1)
		if haveAxes {
			if axis, err = axisOf(axes[i], len(shape)); err != nil {
				return nil, nil, 0, err
			}
		}
		if haveSteps {
			step = steps[i]
		}
		if step == 0 || step < -1<<31 || step > 1<<31 || seen[axis] {
			return nil, nil, 0, fmt.Errorf("step %d along axis %d", step, axis)
		}
		seen[axis] = true
		d := int64(shape[axis])
		bound := func(v, lo, hi int64) int64 {
			if v < 0 {
				v += d
			}
			return min(max(v, lo), hi)
		}
		var from, length int64
		if step > 0 {
			from = bound(starts[i], 0, d)
			length = (bound(ends[i], 0, d) - from + step - 1) / step
		} else {
			from = bound(starts[i], 0, d-1)
			last := int64(-1)
			if ends[i] >= -d {
				last = bound(ends[i], -1, d-1)
			}
			length = (from - last - step - 1) / -step
		}
		to[axis] = int(max(length, 0))
		start += int(from) * stride[axis]
		stride[axis] *= int(step)
	}
	return to, stride, start, nil
}

func gathered(a *attrs, shape []int, in []*array) ([]moved, error) {
	if len(in) < 2 || in[1] == nil || in[1].isReal() {
		return nil, errors.New("its indices are not known")
	}
	axis, err := axisOf(a.int("axis", 0), len(shape))
	if err != nil {
		return nil, err
	}
	to := slices.Concat(shape[:axis], in[1].shape, shape[axis+1:])
	total, err := count(to)
	if err != nil {
		return nil, err
	}
	outer, inner := product(shape[:axis]), product(shape[axis+1:])
	from := make([]int, 0, total)
	for o := range outer {
		for _, k := range in[1].ints {
			if k < 0 {
				k += int64(shape[axis])
			}
			if k < 0 || k >= int64(shape[axis]) {
				return nil, fmt.Errorf("index %d along an axis of %d", k, shape[axis])
			}
			for i := range inner {
				from = append(from, (o*shape[axis]+int(k))*inner+i)
			}
		}
	}
	return []moved{{append([]int{}, to...), from}}, a.err
}

func (g *graph) split(n *node, shape []int, in []*array) ([]moved, error) {
	a := attrs{node: n.Node}
	axis, err := axisOf(a.int("axis", 0), len(shape))
	if err != nil {
		return nil, err
	}
	sizes, ok, err := numbers(n, in, 1, "split")
	if err != nil {
		return nil, err
	}
	if len(n.Outputs) == 0 {
		return nil, errors.New("it has 0 outputs")
	}
	if !ok {
		parts := int64(len(n.Outputs))
		size := (int64(shape[axis]) + parts - 1) / parts
		for left := int64(shape[axis]); len(sizes) < int(parts); left -= size {
			sizes = append(sizes, max(0, min(size, left)))
		}
	}
	if len(sizes) != len(n.Outputs) {
		return nil, fmt.Errorf("%d parts for %d outputs", len(sizes), len(n.Outputs))
	}
	own := strides(shape)
	var out []moved
	at := int64(0)
	for _, size := range sizes {
		if size < 0 || at+size > int64(shape[axis]) {
			return nil, fmt.Errorf("parts %d of an axis of %d", sizes, shape[axis])
		}
		to := slices.Clone(shape)
		to[axis] = int(size)
		from, err := walk(to, own, int(at)*own[axis])
		if err != nil {
			return nil, err
		}
		out = append(out, moved{to, from})
		at += size
	}
	if at != int64(shape[axis]) {
		return nil, fmt.Errorf("parts %d of an axis of %d", sizes, shape[axis])
	}
	return out, a.err
}

// repeated is Expand and Tile.
func repeated(n *node, shape []int, in []*array) ([]moved, error) {
	want, ok, err := numbers(n, in, 1, "")
	if err != nil || !ok {
		return nil, errors.Join(err, errors.New("its shape is not known"))
	}
	to := make([]int, len(want))
	for i, w := range want {
		if w < 0 || w > math.MaxInt32 {
			return nil, fmt.Errorf("shape %d is impossible", want)
		}
		to[i] = int(w)
	}
	if n.Op == "Tile" {
		if len(to) != len(shape) {
			return nil, fmt.Errorf("repeats %d of shape %d", to, shape)
		}
		return tiled(shape, to)
	}
	if to, err = broadcast(shape, to); err != nil {
		return nil, err
	}
	if _, err := count(to); err != nil {
		return nil, err
	}
	from, err := spread(shape, to)
	return []moved{{to, from}}, err
}

func tiled(shape, repeats []int) ([]moved, error) {
	to := make([]int, len(shape))
	for i := range to {
		if repeats[i] > 0 && shape[i] > math.MaxInt32/repeats[i] {
			return nil, fmt.Errorf("repeats %d of shape %d", repeats, shape)
		}
		to[i] = shape[i] * repeats[i]
	}
	all, err := walk(to, strides(to), 0)
	if err != nil {
		return nil, err
	}
	own, wide := strides(shape), strides(to)
	for k, off := range all {
		from := 0
		for i := range to {
			from += off / wide[i] % to[i] % shape[i] * own[i]
		}
		all[k] = from
	}
	return []moved{{to, all}}, nil
}
