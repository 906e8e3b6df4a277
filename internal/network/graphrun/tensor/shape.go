package tensor

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// AxisOf turns an axis that may count from the end into one that does not.
func AxisOf(axis int64, rank int) (int, error) {
	if axis < 0 {
		axis += int64(rank)
	}
	if axis < 0 || axis >= int64(rank) {
		return 0, fmt.Errorf("axis %d does not exist: the tensor has %d axes", axis, rank)
	}
	return int(axis), nil
}

// AxesOf is AxisOf for several, in the order of the axes; twice the same is an error.
func AxesOf(axes []int64, rank int) ([]int, error) {
	taken := make([]bool, rank)
	for _, a := range axes {
		i, err := AxisOf(a, rank)
		if err != nil {
			return nil, err
		}
		if taken[i] {
			return nil, errors.New("its axes name one axis twice")
		}
		taken[i] = true
	}
	out := []int{}
	for i, t := range taken {
		if t {
			out = append(out, i)
		}
	}
	return out, nil
}

// Lines cuts a tensor along an axis: values of the axis are inner apart, and outer x inner lines
// of them.
func Lines(shape []int, axis int) (outer, side, inner int) {
	return Size(shape[:axis]), shape[axis], Size(shape[axis+1:])
}

// Lengthen adds the side of a tensor that is joined along an axis to a shape. The other sides must be equal.
func Lengthen(shape, by []int, axis int) error {
	if len(by) != len(shape) {
		return fmt.Errorf("tensors of shapes %d and %d cannot be joined", shape, by)
	}
	for i, d := range by {
		if i != axis && shape[i] != d {
			return fmt.Errorf("tensors of shapes %d and %d cannot be joined along axis %d", shape, by, axis)
		}
	}
	shape[axis] += by[axis]
	return nil
}

// TransposedShape swaps the last two axes if a matrix is to be transposed.
func TransposedShape(s []int, turned bool) []int {
	if !turned || len(s) < 2 {
		return s
	}
	s = slices.Clone(s)
	n := len(s)
	s[n-1], s[n-2] = s[n-2], s[n-1]
	return s
}

// MatMulShape is the shape of the product of two tensors, and that of the axes before the matrices.
func MatMulShape(x, y []int) (shape, batch []int, err error) {
	wrong := fmt.Errorf("matrices of shapes %d and %d cannot be multiplied", x, y)
	if len(x) == 0 || len(y) == 0 {
		return nil, nil, wrong
	}
	rows, inner := max(len(x)-2, 0), max(len(y)-2, 0) // the axes before the last; of a vector this one
	if x[len(x)-1] != y[inner] {
		return nil, nil, wrong
	}
	if batch, err = Broadcast(x[:rows], y[:inner]); err != nil {
		return nil, nil, err
	}
	shape = slices.Concat(batch, x[rows:len(x)-1], y[inner+1:])
	_, err = Length(shape)
	return shape, batch, err
}

// MaxAxes bounds the axes of a tensor.
const MaxAxes = 64

// Length multiplies the sides of a shape. What memory cannot hold is an error.
func Length(shape []int) (int, error) {
	if len(shape) > MaxAxes {
		return 0, fmt.Errorf("a tensor has %d axes: at most %d are supported", len(shape), MaxAxes)
	}
	n := int64(1)
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %d is not valid: a side is negative, or it is too large", shape)
		}
		n = budget.Product(n, int64(d))
	}
	if err := budget.Check(fmt.Sprintf("a tensor of %d", shape), budget.Product(n, 4)); err != nil {
		return 0, err
	}
	return int(n), nil
}

// Size multiplies sides that Length has let through.
func Size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

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
	_, err := Length(out)
	return out, err
}

// Strides of a row-major tensor.
func Strides(shape []int) []int {
	s := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= shape[i]
	}
	return s
}

// SpreadStrides are those of a tensor that is repeated to fill a shape.
func SpreadStrides(shape, to []int) []int {
	own := Strides(shape)
	s := make([]int, len(to))
	for i := range to {
		if k := i - len(to) + len(shape); k >= 0 && shape[k] != 1 {
			s[i] = own[k]
		}
	}
	return s
}
