package graphrun

import "fmt"

// Broadcast is the shape that elementwise operators make of several.
func Broadcast(shapes ...[]int) ([]int, error) {
	rank := 0
	for _, s := range shapes {
		rank = max(rank, len(s))
	}
	out := make([]int, rank)
	for i := range out {
		out[i] = 1
	}
	for _, s := range shapes {
		for k, d := range s {
			i := k + rank - len(s)
			switch {
			case d == out[i] || d == 1:
			case out[i] == 1:
				out[i] = d
			default:
				return nil, fmt.Errorf("shapes %d do not broadcast to one shape", shapes)
			}
		}
	}
	_, err := length(out)
	return out, err
}

// strides of a row-major tensor.
func strides(shape []int) []int {
	s := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= shape[i]
	}
	return s
}

// spreadStrides are those of a tensor that is repeated to fill a shape.
func spreadStrides(shape, to []int) []int {
	own := strides(shape)
	s := make([]int, len(to))
	for i := range to {
		if k := i - len(to) + len(shape); k >= 0 && shape[k] != 1 {
			s[i] = own[k]
		}
	}
	return s
}

// rows goes through the values of a shape row by row: rows are its last axis, after axes were
// joined that every operand goes through as through one.
type rows struct {
	sides []int
	step  [][]int // of each operand, along each axis
}

// newRows prepares operands with the given strides.
func newRows(shape []int, strides ...[]int) *rows {
	r := &rows{step: make([][]int, len(strides))}
	for i, d := range shape {
		if d == 1 {
			continue
		}
		k := len(r.sides) - 1
		joins := k >= 0
		for o := range strides {
			joins = joins && r.step[o][k] == strides[o][i]*d
		}
		if joins {
			r.sides[k] *= d
			for o := range strides {
				r.step[o][k] = strides[o][i]
			}
			continue
		}
		r.sides = append(r.sides, d)
		for o := range strides {
			r.step[o] = append(r.step[o], strides[o][i])
		}
	}
	if len(r.sides) == 0 {
		r.sides = []int{1}
		for o := range r.step {
			r.step[o] = []int{0}
		}
	}
	return r
}

// width is the length of a row, count how many there are.
func (r *rows) width() int { return r.sides[len(r.sides)-1] }

func (r *rows) count() int { return size(r.sides[:len(r.sides)-1]) }

// stride is that of an operand within a row.
func (r *rows) stride(operand int) int { return r.step[operand][len(r.sides)-1] }

// walk calls body for rows lo to hi-1 with the offset of each operand.
func (r *rows) walk(lo, hi int, body func(row int, at []int)) {
	outer := r.sides[:len(r.sides)-1]
	place := make([]int, len(outer))
	at := make([]int, len(r.step))
	rest := lo
	for i := len(outer) - 1; i >= 0; i-- {
		place[i] = rest % outer[i]
		rest /= outer[i]
		for o := range at {
			at[o] += place[i] * r.step[o][i]
		}
	}
	for row := lo; row < hi; row++ {
		body(row, at)
		for i := len(outer) - 1; i >= 0; i-- {
			place[i]++
			for o := range at {
				at[o] += r.step[o][i]
			}
			if place[i] < outer[i] {
				break
			}
			for o := range at {
				at[o] -= place[i] * r.step[o][i]
			}
			place[i] = 0
		}
	}
}

// alignOperands brings operands of an elementwise operator into one order: channels last if one of
// them is an image that lies so and all are floating-point. It returns the shape of the result,
// the shapes in which the operands and the result lie, and whether that is channels last.
func (c *call) alignOperands(in []*Tensor) (list []*Tensor, shape, lies []int, own [][]int, last bool) {
	var shapes [][]int
	for _, t := range in {
		shapes = append(shapes, t.Shape)
		last = last || t.last
	}
	shape = must(Broadcast(shapes...))
	for _, t := range in {
		last = last && len(shape) == 4 && t.isFloat()
	}
	for _, t := range in {
		s := t.Shape
		switch {
		case !last:
			t = c.contiguous(t)
		case !t.last && t.len() > 1:
			s = make([]int, 4)
			for i := range s {
				s[i] = 1
			}
			copy(s[4-len(t.Shape):], t.Shape)
			t = c.channelsLast(t.view(s))
		}
		list = append(list, t)
		if last && t.len() > 1 {
			own = append(own, []int{s[0], s[2], s[3], s[1]})
		} else {
			own = append(own, t.Shape)
		}
	}
	lies = shape
	if last {
		lies = []int{shape[0], shape[2], shape[3], shape[1]}
	}
	return list, shape, lies, own, last
}
