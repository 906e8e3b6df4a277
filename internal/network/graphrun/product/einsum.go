package product

import (
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// labelled is an operand of Einsum: a tensor with a letter for each axis.
type labelled struct {
	t      *tensor.Tensor
	labels []rune
}

// einsum joins its inputs two by two; the letters that neither the rest nor the result has are
// summed over.
func einsum(c *operator.Call) []*tensor.Tensor {
	c.RequireAllInputs()
	equation := strings.ReplaceAll(c.Text("equation", ""), " ", "")
	operands, out := parseEquation(c, equation)
	have := operands[0]
	have = diagonal(c, have)
	for k, next := range operands[1:] {
		next = diagonal(c, next)
		wanted := slices.Clone(out)
		for _, later := range operands[k+2:] {
			wanted = append(wanted, later.labels...)
		}
		have = contract(c, have, next, wanted)
	}
	have = sumTo(c, have, out)
	return operator.Single(arrange(c, have, out))
}

// parseEquation splits an equation into labels; an ellipsis becomes letters of its own.
func parseEquation(c *operator.Call, text string) (operands []labelled, out []rune) {
	left, right, explicit := strings.Cut(text, "->")
	parts := strings.Split(left, ",")
	if len(parts) != len(c.In) {
		operator.Fail("equation %q has %d terms for %d inputs", text, len(parts), len(c.In))
	}
	widest := 0
	for i, p := range parts {
		t := c.Floats(i)
		if strings.Contains(p, "...") {
			widest = max(widest, len(t.Shape)-len([]rune(p))+3)
		}
		operands = append(operands, labelled{t: t})
	}
	if widest > tensor.MaxAxes {
		operator.Fail("equation %q has too many axes", text)
	}
	expanded := func(p string, rank int) []rune {
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
				operator.Fail("equation %q has the label %q: only letters are supported", text, string(l))
			}
		}
		return labels
	}
	counts := map[rune]int{}
	for i, p := range parts {
		operands[i].labels = expanded(p, len(operands[i].t.Shape))
		if len(operands[i].labels) != len(operands[i].t.Shape) {
			operator.Fail("term %q of equation %q does not fit an input of shape %d", p, text, operands[i].t.Shape)
		}
		for _, l := range operands[i].labels {
			counts[l]++
		}
	}
	if explicit {
		return operands, expanded(right, -1)
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
	return operands, out
}

// diagonal takes the values at which letters that occur twice have one place.
func diagonal(c *operator.Call, x labelled) labelled {
	var labels []rune
	var shape, stride []int
	own := tensor.Strides(x.t.Shape)
	for i, l := range x.labels {
		k := slices.Index(labels, l)
		if k < 0 {
			labels, shape, stride = append(labels, l), append(shape, x.t.Shape[i]), append(stride, own[i])
			continue
		}
		if shape[k] != x.t.Shape[i] {
			operator.Fail("one label names two different sides of an input of shape %d", x.t.Shape)
		}
		stride[k] += own[i]
	}
	if len(labels) == len(x.labels) {
		return x
	}
	return labelled{c.Gather(x.t, shape, stride, 0), labels}
}

// sumTo sums over the labels that are not wanted.
func sumTo(c *operator.Call, x labelled, wanted []rune) labelled {
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
		return x
	}
	if to == nil {
		to = []int{}
	}
	return labelled{c.ReduceTo("ReduceSum", x.t, axes, to), labels}
}

// arrange brings the axes into the order of the labels.
func arrange(c *operator.Call, x labelled, out []rune) *tensor.Tensor {
	if slices.Equal(x.labels, out) {
		return x.t
	}
	own := tensor.Strides(x.t.Shape)
	var shape, stride []int
	for _, l := range out {
		k := slices.Index(x.labels, l)
		if k < 0 || len(out) != len(x.labels) {
			operator.Fail("the result has a label that no input has, or one twice")
		}
		shape, stride = append(shape, x.t.Shape[k]), append(stride, own[k])
	}
	return c.Gather(x.t, shape, stride, 0)
}

// contract is the product of two operands, summed over the labels that are not wanted.
func contract(c *operator.Call, x, y labelled, wanted []rune) labelled {
	x = sumTo(c, x, slices.Concat(wanted, y.labels))
	y = sumTo(c, y, slices.Concat(wanted, x.labels))
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
			operator.Fail("one label names sides of %d and of %d", x.t.Shape[k], y.t.Shape[i])
		}
		if k < 0 || side[l] == 1 {
			side[l] = y.t.Shape[i]
		}
	}
	sized := func(labels []rune) (shape []int, n int) {
		for _, l := range labels {
			shape = append(shape, side[l])
		}
		return shape, tensor.Size(shape)
	}
	laid := func(o labelled, order []rune) *tensor.Tensor { // with sides of 1 repeated
		own := tensor.Strides(o.t.Shape)
		var shape, stride []int
		for _, l := range order {
			k := slices.Index(o.labels, l)
			step := own[k]
			if o.t.Shape[k] == 1 {
				step = 0
			}
			shape, stride = append(shape, side[l]), append(stride, step)
		}
		return c.Gather(o.t, shape, stride, 0)
	}
	a := laid(x, slices.Concat(batch, rows, inner))
	b := laid(y, slices.Concat(batch, inner, cols))
	bs, bn := sized(batch)
	rs, rn := sized(rows)
	_, in := sized(inner)
	cs, cn := sized(cols)
	t := Multiply(c, a.View([]int{bn, rn, in}), b.View([]int{bn, in, cn}), false, false, 1)
	return labelled{t.View(slices.Concat(bs, rs, cs)), slices.Concat(batch, rows, cols)}
}
