package qgemm

import (
	"fmt"
	"math"
	"slices"
)

// Quantize sets dst to the bytes of src: round(src*scale + shift), clamped to 0..255,
// where scale is one over the scale of the bytes and shift is their zero. NaN becomes 0.
func Quantize(dst []uint8, src []float32, scale, shift float32) {
	mustFit(len(dst), len(src))
	switch {
	case len(src) == 0:
	case Active() == VNNI:
		quantize(dst, src, scale, shift)
	default:
		for i, v := range src {
			dst[i] = toByte(clamp(float32(v*scale)+shift, 0, 255))
		}
	}
}

// Dequantize sets dst to scale times (src - zero).
func Dequantize(dst []float32, src []uint8, zero int32, scale float32) {
	mustFit(len(dst), len(src))
	switch {
	case len(src) == 0:
	case Active() == VNNI:
		dequantize(dst, src, zero, scale)
	default:
		for i, q := range src {
			dst[i] = float32(int32(q)-zero) * scale
		}
	}
}

// Larger raises each byte of dst to that of src if that is larger.
func Larger(dst, src []uint8) {
	mustFit(len(dst), len(src))
	switch {
	case len(src) == 0:
	case Active() == VNNI:
		larger(dst, src)
	default:
		for i, q := range src {
			dst[i] = max(dst[i], q)
		}
	}
}

// ColumnSums sets dst to the sums of the columns of src, which has rows of len(dst)
// bytes. It panics if a sum might not fit 32 bits.
func ColumnSums(dst []int32, src []uint8) {
	rows := 0
	if len(dst) > 0 {
		rows = len(src) / len(dst)
	}
	mustFit(rows*len(dst), len(src))
	if rows > math.MaxInt32/255 {
		panic(fmt.Sprintf("qgemm: sums of %d rows", rows))
	}
	switch {
	case rows == 0:
		clear(dst)
	case Active() == VNNI:
		columnSums(dst, src, rows)
	default:
		clear(dst)
		for row := range slices.Chunk(src, len(dst)) {
			for j, q := range row {
				dst[j] += int32(q)
			}
		}
	}
}

func mustFit(dst, src int) {
	if dst != src {
		panic(fmt.Sprintf("qgemm: %d values from %d", dst, src))
	}
}
