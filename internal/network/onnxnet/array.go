package onnxnet

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/onnx"
)

// array is a tensor whose values are known: integers and truths in ints,
// floating-point numbers in reals, row-major; the other is nil.
type array struct {
	shape []int
	ints  []int64
	reals []float32
}

// maxSides bounds the sides of what a model computes.
const maxSides = 64

// count multiplies a shape's sides. What cannot be held in memory is an error.
func count(shape []int) (int, error) {
	if len(shape) > maxSides {
		return 0, fmt.Errorf("an array of %d sides; at most %d are computed", len(shape), maxSides)
	}
	n := int64(1)
	for _, d := range shape {
		n = budget.Product(n, int64(d))
	}
	// Four of 8 bytes a value: what is computed, its inputs, and where they come from.
	if err := budget.Check(fmt.Sprintf("an array of %d", shape), budget.Product(n, 32)); err != nil {
		return 0, err
	}
	return int(n), nil
}

// fromTensor converts a tensor of a type that is known.
func fromTensor(t *onnx.Tensor) (*array, error) {
	a := &array{shape: make([]int, len(t.Shape))}
	for i, d := range t.Shape {
		a.shape[i] = int(d)
	}
	if _, err := count(a.shape); err != nil {
		return nil, err
	}
	var err error
	if t.Type.IsFloat() {
		a.reals, err = t.Float32s()
	} else {
		a.ints, err = t.Int64s()
	}
	return a, err
}

func scalar(v float32) *array { return &array{shape: []int{}, reals: []float32{v}} }

func vector(v []int64) *array { return &array{shape: []int{len(v)}, ints: v} }

func (a *array) len() int { return max(len(a.ints), len(a.reals)) }

func (a *array) isReal() bool { return a.reals != nil }

// value is the value at an offset, of either kind.
func (a *array) value(i int) float64 {
	if a.isReal() {
		return float64(a.reals[i])
	}
	return float64(a.ints[i])
}

// take makes an array of the given shape from the values at the given offsets.
func (a *array) take(shape []int, from []int) *array {
	out := &array{shape: shape}
	if a.isReal() {
		out.reals = make([]float32, len(from))
		for i, k := range from {
			out.reals[i] = a.reals[k]
		}
		return out
	}
	out.ints = make([]int64, len(from))
	for i, k := range from {
		out.ints[i] = a.ints[k]
	}
	return out
}

// strides of a row-major array.
func strides(shape []int) []int {
	s := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= shape[i]
	}
	return s
}

// walk lists, for every element of an array of the given shape in row-major
// order, the offset that the strides give it.
func walk(shape, stride []int, start int) ([]int, error) {
	n, err := count(shape)
	if err != nil {
		return nil, err
	}
	out := make([]int, 0, n)
	if n == 0 {
		return out, nil
	}
	at := make([]int, len(shape))
	for off := start; ; {
		out = append(out, off)
		i := len(at) - 1
		for ; i >= 0; i-- {
			at[i]++
			off += stride[i]
			if at[i] < shape[i] {
				break
			}
			off -= at[i] * stride[i]
			at[i] = 0
		}
		if i < 0 {
			return out, nil
		}
	}
}

// broadcastOffsets lists the offsets of a's values as they are repeated to fill shape.
func broadcastOffsets(a, shape []int) ([]int, error) {
	if len(a) > len(shape) {
		return nil, fmt.Errorf("shape %d does not spread to %d", a, shape)
	}
	own := strides(a)
	s := make([]int, len(shape))
	for i := range shape {
		k := i - len(shape) + len(a)
		switch {
		case k < 0 || a[k] == 1:
		case a[k] == shape[i]:
			s[i] = own[k]
		default:
			return nil, fmt.Errorf("shape %d does not spread to %d", a, shape)
		}
	}
	return walk(shape, s, 0)
}
