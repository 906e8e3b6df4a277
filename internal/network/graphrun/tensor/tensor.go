// Package tensor holds the values of ONNX graphs: tensors, the rules of their shapes, and the memory that
// they lie in.
package tensor

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/format/onnx"
)

// Tensor holds values in row-major order: floating-point ones in Floats, integers and truths
// in Ints. The other is nil. A sequence has no values of its own, but a List that is not nil.
type Tensor struct {
	Shape  []int
	Floats []float32
	Ints   []int64
	Type   onnx.DataType // Float32 for all floating-point numbers
	List   []*Tensor
	Last   bool // of an image: the values lie as N x H x W x C, whatever Shape says

	used *int // of a sequence: how much of the memory of List is in use, by this sequence or longer ones
	mem  *memory
}

// Floats makes a tensor of floating-point numbers, which it does not copy.
func Floats(shape []int, v []float32) *Tensor {
	return &Tensor{Shape: shape, Floats: v, Type: onnx.Float32, mem: &memory{}}
}

// Integers makes a tensor of 64-bit integers, which it does not copy.
func Integers(shape []int, v []int64) *Tensor {
	return &Tensor{Shape: shape, Ints: v, Type: onnx.Int64, mem: &memory{}}
}

// Truth makes a single boolean.
func Truth(yes bool) *Tensor {
	t := Integers([]int{}, []int64{0})
	if t.Type = onnx.Bool; yes {
		t.Ints[0] = 1
	}
	return t
}

// Sequence makes a sequence.
func Sequence(list []*Tensor) *Tensor {
	if list == nil {
		list = []*Tensor{}
	}
	return &Tensor{List: list, mem: &memory{}}
}

// Append is a sequence with one more tensor. The memory behind the old one is used if no other sequence uses it, so
// that appending in a loop does not copy the sequence each time; copied is the number of tensors that were copied.
func (t *Tensor) Append(x *Tensor) (longer *Tensor, copied int) {
	list, used := t.List, t.used
	if used == nil || *used != len(list) || cap(list) == len(list) {
		copied = len(list)
		list, used = append(make([]*Tensor, 0, 2*len(list)+4), list...), new(int)
	}
	list = append(list, x)
	*used = len(list)
	return &Tensor{List: list, used: used, mem: &memory{}}, copied
}

// FromONNX converts a tensor of a model, whose memory it does not share.
func FromONNX(t *onnx.Tensor) (*Tensor, error) {
	out := &Tensor{Shape: make([]int, len(t.Shape)), Type: t.Type, mem: &memory{}}
	for i, d := range t.Shape {
		if d > math.MaxInt32 {
			return nil, fmt.Errorf("shape %d is not valid: a side is negative, or it is too large", t.Shape)
		}
		out.Shape[i] = int(d)
	}
	if _, err := Length(out.Shape); err != nil {
		return nil, err
	}
	var err error
	if t.Type.IsFloat() {
		out.Type = onnx.Float32
		out.Floats, err = t.Float32s()
	} else {
		out.Ints, err = t.Int64s()
	}
	return out, err
}

// Len is the number of values.
func (t *Tensor) Len() int { return max(len(t.Floats), len(t.Ints)) }

// IsFloat reports a tensor of floating-point numbers.
func (t *Tensor) IsFloat() bool { return t.Type.IsFloat() }

// Value is the value at an offset, of either kind.
func (t *Tensor) Value(i int) float64 {
	if t.IsFloat() {
		return float64(t.Floats[i])
	}
	return float64(t.Ints[i])
}

// SetValue stores a number of either kind.
func (t *Tensor) SetValue(i int, v float64) {
	if t.IsFloat() {
		t.Floats[i] = float32(v)
		return
	}
	t.Ints[i] = Wrap(Truncate(v), t.Type)
}

// Copy moves n values from an offset of x to one of t.
func (t *Tensor) Copy(at int, x *Tensor, from, n int) {
	if t.IsFloat() {
		copy(t.Floats[at:at+n], x.Floats[from:from+n])
		return
	}
	copy(t.Ints[at:at+n], x.Ints[from:from+n])
}

// Clone has values of its own, which lie as those of t.
func (t *Tensor) Clone() *Tensor {
	own := *t
	own.mem = &memory{}
	own.Floats, own.Ints = slices.Clone(t.Floats), slices.Clone(t.Ints)
	return &own
}

// View is t with another shape, over the same values.
func (t *Tensor) View(shape []int) *Tensor {
	v := *t
	v.Shape = shape
	return &v
}

// ChannelsFirst brings an image of integers whose channels lie last into the order of its shape.
func (t *Tensor) ChannelsFirst() *Tensor {
	out := Integers(t.Shape, make([]int64, len(t.Ints)))
	out.Type = t.Type
	ch, area := t.Shape[1], t.Shape[2]*t.Shape[3]
	for p := range area {
		for c := range ch {
			out.Ints[c*area+p] = t.Ints[p*ch+c]
		}
	}
	return out
}

// Integers are the values of a tensor of integers.
func (t *Tensor) Integers() ([]int64, error) {
	if t.IsFloat() {
		return nil, errors.New("floating-point numbers stand where integers are expected")
	}
	return t.Ints, nil
}

// Only is the value of a tensor of one integer or boolean. An error says what it should have been.
func (t *Tensor) Only(what string) (int64, error) {
	if t.IsFloat() || len(t.Ints) != 1 {
		return 0, fmt.Errorf("%s is not a single integer or boolean", what)
	}
	return t.Ints[0], nil
}

// Sides are the values of a tensor of integers as a shape.
func (t *Tensor) Sides() ([]int, error) {
	v, err := t.Integers()
	if err != nil {
		return nil, err
	}
	if len(v) > MaxAxes {
		return nil, fmt.Errorf("a tensor has %d axes: at most %d are supported", len(v), MaxAxes)
	}
	shape := make([]int, len(v))
	for i, d := range v {
		if d < 0 || d > math.MaxInt32 {
			return nil, fmt.Errorf("shape %d is not valid: a side is negative, or it is too large", v)
		}
		shape[i] = int(d)
	}
	return shape, nil
}
