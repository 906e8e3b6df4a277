package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// DataType is the type of a tensor's values, numbered as in the format.
type DataType int32

// The types whose values this package converts.
const (
	Float32  DataType = 1
	Uint8    DataType = 2
	Int8     DataType = 3
	Uint16   DataType = 4
	Int16    DataType = 5
	Int32    DataType = 6
	Int64    DataType = 7
	String   DataType = 8 // not converted
	Bool     DataType = 9
	Float16  DataType = 10
	Float64  DataType = 11
	Uint32   DataType = 12
	Uint64   DataType = 13
	BFloat16 DataType = 16
)

// String is the type as the format's description spells it.
func (d DataType) String() string {
	names := [...]string{"UNDEFINED", "FLOAT", "UINT8", "INT8", "UINT16", "INT16", "INT32", "INT64", "STRING", "BOOL",
		"FLOAT16", "DOUBLE", "UINT32", "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16"}
	if d >= 0 && int(d) < len(names) {
		return names[d]
	}
	return fmt.Sprintf("type %d", int32(d))
}

// Size is the number of bytes of one value, 0 for types that are not converted.
func (d DataType) Size() int {
	switch d {
	case Uint8, Int8, Bool:
		return 1
	case Uint16, Int16, Float16, BFloat16:
		return 2
	case Float32, Int32, Uint32:
		return 4
	case Float64, Int64, Uint64:
		return 8
	}
	return 0
}

// IsFloat reports whether values of that type are floating-point.
func (d DataType) IsFloat() bool {
	return d == Float32 || d == Float16 || d == Float64 || d == BFloat16
}

// Tensor is an array. Data holds its values little endian, in row-major order,
// whichever of its fields the file had them in; it may share the file's memory.
type Tensor struct {
	Name  string
	Type  DataType
	Shape []int64
	Data  []byte
}

// Len is the number of values that the shape has, math.MaxInt64 if no int64
// holds it.
func (t *Tensor) Len() int64 { return budget.Product(t.Shape...) }

// Floats makes a tensor of float32 values.
func Floats(name string, shape []int64, values []float32) Tensor {
	return Tensor{name, Float32, slices.Clone(shape), safetensors.Float32(name, nil, values).Data}
}

// Ints makes a tensor of int64 values.
func Ints(name string, shape []int64, values []int64) Tensor {
	return Tensor{name, Int64, slices.Clone(shape), safetensors.Int64(name, nil, values).Data}
}

// Float32s returns the values of a floating-point tensor, rounded from Float64,
// exact for the other types.
func (t *Tensor) Float32s() ([]float32, error) {
	types := map[DataType]safetensors.DType{
		Float32: safetensors.F32, Float64: safetensors.F64, Float16: safetensors.F16, BFloat16: safetensors.BF16,
	}
	if types[t.Type] == "" {
		return nil, fmt.Errorf("onnx: tensor %s holds values of type %s, not floating-point ones",
			escape.Quote(t.Name), t.Type)
	}
	as := safetensors.Tensor{Name: t.Name, DType: types[t.Type], Data: t.Data}
	return as.Float32s()
}

// Int64s returns the values of a tensor of integers or truths (true is 1).
func (t *Tensor) Int64s() ([]int64, error) {
	size := t.Type.Size()
	if size == 0 || t.Type.IsFloat() {
		return nil, fmt.Errorf("onnx: tensor %s holds values of type %s, not integers of a known type",
			escape.Quote(t.Name), t.Type)
	}
	out := make([]int64, len(t.Data)/size)
	for i := range out {
		switch b := t.Data[size*i:]; t.Type {
		case Uint8:
			out[i] = int64(b[0])
		case Bool:
			out[i] = int64(min(b[0], 1))
		case Int8:
			out[i] = int64(int8(b[0]))
		case Uint16:
			out[i] = int64(binary.LittleEndian.Uint16(b))
		case Int16:
			out[i] = int64(int16(binary.LittleEndian.Uint16(b)))
		case Int32:
			out[i] = int64(int32(binary.LittleEndian.Uint32(b)))
		case Uint32:
			out[i] = int64(binary.LittleEndian.Uint32(b))
		default: // Int64, Uint64
			out[i] = int64(binary.LittleEndian.Uint64(b))
		}
	}
	return out, nil
}

// maxSides bounds the sides of a tensor.
const maxSides = 64

// check compares the bytes of a tensor with its type and shape.
func (t *Tensor) check() error {
	if len(t.Shape) > maxSides {
		return fmt.Errorf("tensor %s has %d sides; at most %d are read", escape.Quote(t.Name), len(t.Shape), maxSides)
	}
	for _, d := range t.Shape {
		if d < 0 {
			return fmt.Errorf("tensor %s: shape %d has a negative side", escape.Quote(t.Name), t.Shape)
		}
	}
	if t.Type == String && len(t.Data) == 0 {
		return nil // its texts are not kept
	}
	size := t.Type.Size()
	if size == 0 {
		return fmt.Errorf("tensor %s: values of type %s are not read; convert the model to 32-bit floats first",
			escape.Quote(t.Name), t.Type)
	}
	want := budget.Product(t.Len(), int64(size))
	if want == math.MaxInt64 {
		return fmt.Errorf("tensor %s: shape %d is impossible", escape.Quote(t.Name), t.Shape)
	}
	if want != int64(len(t.Data)) {
		return fmt.Errorf("tensor %s: %d bytes, but shape %d of %s asks for %d",
			escape.Quote(t.Name), len(t.Data), t.Shape, t.Type, want)
	}
	return nil
}
