package graphrun

import (
	"fmt"
	"slices"
	"strings"
)

// labelled is an operand of Einsum: a tensor with a letter for each axis.
type labelled struct {
	t      *Tensor
	labels []rune
}

// einsum joins its inputs two by two; the letters that neither the rest nor the result has are
// summed over.
func einsum(c *call) ([]*Tensor, error) {
	if err := c.requireAllInputs(); err != nil {
		return nil, err
	}
	equation := strings.ReplaceAll(c.text("equation", ""), " ", "")
	operands, out, err := c.equation(equation)
	if err != nil {
		return nil, err
	}
	have := operands[0]
	if have, err = c.diagonal(have); err != nil {
		return nil, err
	}
	for k, next := range operands[1:] {
		if next, err = c.diagonal(next); err != nil {
			return nil, err
		}
		wanted := slices.Clone(out)
		for _, later := range operands[k+2:] {
			wanted = append(wanted, later.labels...)
		}
		if have, err = c.contract(have, next, wanted); err != nil {
			return nil, err
		}
	}
	if have, err = c.sumTo(have, out); err != nil {
		return nil, err
	}
	return single(c.arrange(have, out))
}

// equation splits an equation into labels; an ellipsis becomes letters of its own.
func (c *call) equation(text string) (operands []labelled, out []rune, err error) {
	left, right, explicit := strings.Cut(text, "->")
	parts := strings.Split(left, ",")
	if len(parts) != len(c.in) {
		return nil, nil, fmt.Errorf("equation %q has %d terms for %d inputs", text, len(parts), len(c.in))
	}
	widest := 0
	for i, p := range parts {
		t, err := c.floats(i)
		if err != nil {
			return nil, nil, err
		}
		if strings.Contains(p, "...") {
			widest = max(widest, len(t.Shape)-len([]rune(p))+3)
		}
		operands = append(operands, labelled{t: t})
	}
	if widest > maxAxes {
		return nil, nil, fmt.Errorf("equation %q has too many axes", text)
	}
	expanded := func(p string, rank int) ([]rune, error) {
		var labels []rune
		before, after, dots := strings.Cut(p, "...")
		labels = append(labels, []rune(before)...)
		if dots {
			n := widest
			if rank >= 0 {
				n = rank - len([]rune(before)) - len([]rune(after))
			}
			for i := range max(n, 0) { // the last ones go together
				labels = append(labels, rune(-(widest - n + i + 1)))
			}
		}
		labels = append(labels, []rune(after)...)
		for _, l := range labels {
			if l >= 0 && !(l >= 'a' && l <= 'z' || l >= 'A' && l <= 'Z') {
				return nil, fmt.Errorf("equation %q has the label %q: only letters are supported", text, string(l))
			}
		}
		return labels, nil
	}
	counts := map[rune]int{}
	for i, p := range parts {
		if operands[i].labels, err = expanded(p, len(operands[i].t.Shape)); err != nil {
			return nil, nil, err
		}
		if len(operands[i].labels) != len(operands[i].t.Shape) {
			return nil, nil, fmt.Errorf("term %q of equation %q does not fit an input of shape %d", p, text,
				operands[i].t.Shape)
		}
		for _, l := range operands[i].labels {
			counts[l]++
		}
	}
	if explicit {
		out, err = expanded(right, -1)
		return operands, out, err
	}
	for l, n := range counts {
		if n == 1 || l < 0 {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b rune) int {
		if a < 0 && b < 0 {
			return int(b - a)
		}
		return int(a - b)
	})
	return operands, out, nil
}

// diagonal takes the values at which letters that occur twice have one place.
func (c *call) diagonal(x labelled) (labelled, error) {
	var labels []rune
	var shape, stride []int
	own := strides(x.t.Shape)
	for i, l := range x.labels {
		k := slices.Index(labels, l)
		if k < 0 {
			labels, shape, stride = append(labels, l), append(shape, x.t.Shape[i]), append(stride, own[i])
			continue
		}
		if shape[k] != x.t.Shape[i] {
			return x, fmt.Errorf("one label names two different sides of an input of shape %d", x.t.Shape)
		}
		stride[k] += own[i]
	}
	if len(labels) == len(x.labels) {
		return x, nil
	}
	t, err := c.gather(x.t, shape, stride, 0)
	return labelled{t, labels}, err
}

// sumTo sums over the labels that are not wanted.
func (c *call) sumTo(x labelled, wanted []rune) (labelled, error) {
	var axes, to []int
	var labels []rune
	for i, l := range x.labels {
		if slices.Contains(wanted, l) {
			labels, to = append(labels, l), append(to, x.t.Shape[i])
		} else {
			axes = append(axes, i)
		}
	}
	if len(axes) == 0 {
		return x, nil
	}
	if to == nil {
		to = []int{}
	}
	sum := *c
	n := *c.n
	node := *n.Node
	node.Op, node.Attrs = "ReduceSum", nil
	n.Node = &node
	sum.n = &n
	t, err := sum.reduceFloats(x.t, axes, to)
	c.fresh = sum.fresh
	return labelled{t, labels}, err
}

// arrange brings the axes into the order of the labels.
func (c *call) arrange(x labelled, out []rune) (*Tensor, error) {
	if slices.Equal(x.labels, out) {
		return x.t, nil
	}
	own := strides(x.t.Shape)
	var shape, stride []int
	for _, l := range out {
		k := slices.Index(x.labels, l)
		if k < 0 || len(out) != len(x.labels) {
			return nil, fmt.Errorf("the result has a label that no input has, or one twice")
		}
		shape, stride = append(shape, x.t.Shape[k]), append(stride, own[k])
	}
	return c.gather(x.t, shape, stride, 0)
}

// contract is the product of two operands, summed over the labels that are not wanted.
func (c *call) contract(x, y labelled, wanted []rune) (labelled, error) {
	x, err := c.sumTo(x, slices.Concat(wanted, y.labels))
	if err != nil {
		return x, err
	}
	if y, err = c.sumTo(y, slices.Concat(wanted, x.labels)); err != nil {
		return x, err
	}
	var batch, rows, inner, cols []rune
	side := map[rune]int{}
	for i, l := range x.labels {
		side[l] = x.t.Shape[i]
		switch {
		case !slices.Contains(y.labels, l):
			rows = append(rows, l)
		case slices.Contains(wanted, l):
			batch = append(batch, l)
		default:
			inner = append(inner, l)
		}
	}
	for i, l := range y.labels {
		k := slices.Index(x.labels, l)
		if k < 0 {
			cols = append(cols, l)
		} else if x.t.Shape[k] != y.t.Shape[i] && x.t.Shape[k] != 1 && y.t.Shape[i] != 1 {
			return x, fmt.Errorf("one label names sides of %d and of %d", x.t.Shape[k], y.t.Shape[i])
		}
		if k < 0 || side[l] == 1 {
			side[l] = y.t.Shape[i]
		}
	}
	sized := func(labels []rune) (shape []int, n int) {
		for _, l := range labels {
			shape = append(shape, side[l])
		}
		return shape, size(shape)
	}
	laid := func(o labelled, order []rune) (*Tensor, error) { // with sides of 1 repeated
		own := strides(o.t.Shape)
		var shape, stride []int
		for _, l := range order {
			k := slices.Index(o.labels, l)
			step := own[k]
			if o.t.Shape[k] == 1 {
				step = 0
			}
			shape, stride = append(shape, side[l]), append(stride, step)
		}
		return c.gather(o.t, shape, stride, 0)
	}
	a, err := laid(x, slices.Concat(batch, rows, inner))
	if err != nil {
		return x, err
	}
	b, err := laid(y, slices.Concat(batch, inner, cols))
	if err != nil {
		return x, err
	}
	bs, bn := sized(batch)
	rs, rn := sized(rows)
	_, in := sized(inner)
	cs, cn := sized(cols)
	t, err := c.products(a.view([]int{bn, rn, in}), b.view([]int{bn, in, cn}), false, false, 1)
	if err != nil {
		return x, err
	}
	return labelled{t.view(slices.Concat(bs, rs, cs)), slices.Concat(batch, rows, cols)}, nil
}
