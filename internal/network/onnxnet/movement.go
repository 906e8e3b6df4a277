package onnxnet

import (
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
	"github.com/kindred-ml/kindred/nn"
)

// countOffsets counts the values of a shape whose offsets memory holds: what is computed of them, the inputs, and where
// they come from take four times 8 bytes a value.
func countOffsets(shape []int) (int, error) {
	n, err := tensor.Length(shape)
	if err == nil {
		err = budget.Check(fmt.Sprintf("a tensor of %d", shape), budget.Product(int64(n), 32))
	}
	return n, err
}

// offsets is a tensor that holds its own offsets: run through operators that move
// values it tells where each comes from.
func offsets(shape []int) (*tensor.Tensor, error) {
	n, err := countOffsets(shape)
	if err != nil {
		return nil, err
	}
	t := tensor.Integers(shape, make([]int64, n))
	for i := range t.Ints {
		t.Ints[i] = int64(i)
	}
	return t, nil
}

// origins returns, for each value of to, its offset in from, between which
// values are moved only.
func (l *lifter) origins(from, to *value) ([]int64, error) {
	x, err := offsets(from.shape)
	if err != nil {
		return nil, err
	}
	y, err := l.run(l.region(from, to), from, to, x, false)
	if err != nil {
		return nil, err
	}
	return y.Ints, nil
}

func isMove(n *node) bool { return isMovement(n.Op) && len(n.sources()) == 1 && n.in[0].known == nil }

// maxMoves bounds the operators of one movement.
const maxMoves = 12

// movement lifts the longest run of operators that only move values, where the
// result is positions and channels again: the same in another order, one
// position, all but the first ones, a part of the channels, or these shuffled.
func (l *lifter) movement(s *layerChain) (bool, error) {
	far := l.regionEnd(s, maxMoves, isMove)
	if far == s.i {
		return false, nil
	}
	if tensor.Size(s.chain[s.i].shape) != s.form.len() {
		return false, fmt.Errorf("%q is of shape %d, its image of %s", s.chain[s.i].name, s.chain[s.i].shape, s.form)
	}
	for j := far; j > s.i; j-- {
		from, err := l.origins(s.chain[s.i], s.chain[j])
		if err != nil {
			return false, err
		}
		made, f, ok := moveTo(s.form, from)
		if !ok {
			continue
		}
		if made != nil {
			made.from = s.chain[j].by
			s.layers = append(s.layers, made)
		}
		s.form, s.i = f, j
		return true, nil
	}
	return false, errors.New("it moves values in a way that no layer here does")
}

// moveTo tells what movement of an image of form f takes its values from the
// given offsets: the layer, if it takes one, and the form behind it.
func moveTo(f imageLayout, from []int64) (*layer, imageLayout, bool) {
	if made, to, ok := moveChannels(f, from); ok {
		return made, to, true
	}
	if f.c == 0 || len(from) == 0 || len(from)%f.c != 0 {
		return nil, f, false
	}
	n := len(from) / f.c // positions
	for _, first := range []bool{f.first, !f.first} {
		to := imageLayout{first: first, h: 1, w: n, c: f.c}
		p0, c0 := f.place(int(from[0]))
		if c0 != 0 || p0+n > f.positions() || !isOrdered(f, to, from, p0) {
			continue
		}
		switch {
		case n == f.positions():
			g := f
			g.first = first
			return nil, g, true
		case !f.isSettled():
			return nil, f, false
		case n == 1:
			return &layer{Layer: nn.Layer{Kind: nn.TakeToken, At: p0}}, to, true
		case p0+n == f.positions():
			to.drop = p0
			return nil, to, true
		}
	}
	return nil, f, false
}

// moveChannels tells what part of the channels, or order of all, a movement takes at
// every position.
func moveChannels(f imageLayout, from []int64) (*layer, imageLayout, bool) {
	n := f.positions()
	if n == 0 || f.c < 2 || !f.isSettled() || len(from) == 0 || len(from)%n != 0 || len(from) > f.len() {
		return nil, f, false
	}
	to := f
	to.c = len(from) / n
	channels := make([]int, to.c)
	for c := range channels {
		_, channels[c] = f.place(int(from[to.offset(0, c)]))
	}
	for i, o := range from {
		p, c := to.place(i)
		if o != int64(f.offset(p, channels[c])) {
			return nil, f, false
		}
	}
	part := to.c < f.c
	for c, k := range channels {
		part = part && k == channels[0]+c
	}
	if part {
		return &layer{Layer: nn.Layer{Kind: nn.Channels, At: channels[0], Out: to.c}}, to, true
	}
	if to.c != f.c || channels[1] < 2 || f.c%channels[1] != 0 {
		return nil, f, false
	}
	groups := f.c / channels[1]
	for c, k := range channels {
		if k != c%groups*(f.c/groups)+c/groups {
			return nil, f, false
		}
	}
	return &layer{Layer: nn.Layer{Kind: nn.Shuffle, Groups: groups}}, to, true
}

// isOrdered reports whether from lists the positions of f from p0 on, with all
// channels, as they lie in form to.
func isOrdered(f, to imageLayout, from []int64, p0 int) bool {
	for i, o := range from {
		p, c := to.place(i)
		if o != int64(f.offset(p0+p, c)) {
			return false
		}
	}
	return true
}

// tokens lifts a Concat that puts constant positions before, after or among
// those of its image.
func (l *lifter) tokens(s *layerChain) (bool, error) {
	to := s.chain[s.i+1]
	n := to.by
	if n.Op != "Concat" {
		return false, nil
	}
	from := s.chain[s.i]
	var constants []float32
	for _, v := range n.in {
		switch {
		case v == nil:
			return false, nil
		case v.known != nil && !v.known.IsFloat():
			return false, nil
		case v.known != nil:
			constants = append(constants, v.known.Floats...)
		case v != from && !allNodes(l.region(from, v), isMove):
			return false, nil
		}
	}
	f := s.form
	if len(constants) == 0 || !f.isSettled() || tensor.Size(from.shape) != f.len() {
		return false, nil
	}
	// Constants are numbered from -1 downwards.
	x, err := offsets(from.shape)
	if err != nil {
		return false, err
	}
	var in []*tensor.Tensor
	next := int64(-1)
	for _, v := range n.in {
		if v.known == nil {
			y := x
			if v != from {
				if y, err = l.run(l.region(from, v), from, v, x, false); err != nil {
					return false, err
				}
			}
			in = append(in, y)
			continue
		}
		a := tensor.Integers(v.known.Shape, make([]int64, v.known.Len()))
		for i := range a.Ints {
			a.Ints[i] = next
			next--
		}
		in = append(in, a)
	}
	y, err := l.g.compute(n, in)
	if err != nil {
		return false, err
	}
	made, g, ok := insertion(f, y[0].Ints, constants)
	if !ok {
		return false, errors.New("it joins values in a way that no layer here does: " +
			"a class token and registers are known, " +
			"added to the image's positions as a block")
	}
	made.from, made.hint = n, nameHint([]*node{n})
	s.i++
	s.add(made, g)
	return true, nil
}

// insertion tells which block of constant positions was added to those of f.
func insertion(f imageLayout, from []int64, constants []float32) (*layer, imageLayout, bool) {
	added := len(constants) / f.c
	if len(constants)%f.c != 0 || len(from) != f.len()+len(constants) {
		return nil, f, false
	}
	n := f.positions() + added
	for _, first := range []bool{false, true} {
		to := imageLayout{first: first, h: 1, w: n, c: f.c}
		at := 0
		for at < n && from[to.offset(at, 0)] >= 0 {
			at++
		}
		values := make([]float32, len(constants))
		ok := at+added <= n
		for p := 0; ok && p < n; p++ {
			for c := 0; ok && c < f.c; c++ {
				o := from[to.offset(p, c)]
				switch {
				case p >= at && p < at+added:
					if ok = o < 0; ok {
						values[(p-at)*f.c+c] = constants[-1-o]
					}
				case p < at:
					ok = o == int64(f.offset(p, c))
				default:
					ok = o == int64(f.offset(p-added, c))
				}
			}
		}
		if !ok {
			continue
		}
		made := &layer{Layer: nn.Layer{Kind: nn.Tokens, Out: added, At: at}}
		made.set("", []int{1, added, f.c}, values)
		return made, to, true
	}
	return nil, f, false
}
