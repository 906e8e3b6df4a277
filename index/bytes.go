package index

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// isLittleEndian reports whether the machine stores numbers as files do.
func isLittleEndian() bool {
	x := uint16(1)
	return *(*byte)(unsafe.Pointer(&x)) == 1
}

// number is a type of the numbers in sections.
type number interface {
	uint16 | int16 | uint32 | uint64 | float32 | float64
}

// numbers returns the numbers in a section. They share its memory if the machine stores
// numbers as files do. Sections begin at multiples of 64.
func numbers[T number](b []byte) []T {
	var one T
	size := int(unsafe.Sizeof(one))
	n := len(b) / size
	if n == 0 {
		return nil
	}
	if isLittleEndian() {
		return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
	}
	out := make([]T, n)
	if _, err := binary.Decode(b[:n*size], binary.LittleEndian, out); err != nil {
		panic("index: " + err.Error()) // the size is right
	}
	return out
}

func view16(b []byte) []int16    { return numbers[int16](b) }
func view32(b []byte) []uint32   { return numbers[uint32](b) }
func view64(b []byte) []uint64   { return numbers[uint64](b) }
func view32f(b []byte) []float32 { return numbers[float32](b) }
func view64f(b []byte) []float64 { return numbers[float64](b) }

// bytesOf returns the bytes of numbers, the reverse of numbers.
func bytesOf[T number](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	if isLittleEndian() {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))
	}
	b, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		panic("index: " + err.Error())
	}
	return b
}

// missingNumber stands for a missing number in a section.
var missingNumber = math.NaN()
