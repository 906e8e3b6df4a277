package tensor

import (
	"math"

	"github.com/kindred-ml/kindred/internal/format/onnx"
)

// Wrap wraps an integer to the range of a type, as arithmetic of that type does.
func Wrap(v int64, typ onnx.DataType) int64 {
	switch typ {
	case onnx.Bool:
		if v != 0 {
			return 1
		}
		return 0
	case onnx.Uint8:
		return int64(uint8(v))
	case onnx.Int8:
		return int64(int8(v))
	case onnx.Uint16:
		return int64(uint16(v))
	case onnx.Int16:
		return int64(int16(v))
	case onnx.Uint32:
		return int64(uint32(v))
	case onnx.Int32:
		return int64(int32(v))
	}
	return v
}

// Truncate cuts the fraction off; what int64 does not hold is its nearest, NaN is 0.
func Truncate(v float64) int64 {
	switch {
	case v != v:
		return 0
	case v >= math.MaxInt64:
		return math.MaxInt64
	case v <= math.MinInt64:
		return math.MinInt64
	}
	return int64(v)
}

// Round is Truncate of the nearest whole number, of halves the even one.
func Round(v float64) int64 { return Truncate(math.RoundToEven(v)) }
