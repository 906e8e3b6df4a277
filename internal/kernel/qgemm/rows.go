package qgemm

import (
	"fmt"
	"math"
)

// Quantize sets dst to the bytes of src: round(src*scale + shift), clamped to 0..255,
// where scale is one over the scale of the bytes and shift is their zero. NaN becomes 0.
func Quantize(dst []uint8, src []float32, scale, shift float32) {
	mustFit(len(dst), len(src))
	done := 0 // by a vector unit
	if len(src) > 0 && Active() > Generic {
		done = quantizeVector(dst, src, scale, shift)
	}
	for i := done; i < len(src); i++ {
		dst[i] = toByte(clamp(float32(src[i]*scale)+shift, 0, 255))
	}
}

// Dequantize sets dst to scale times (src - zero).
func Dequantize(dst []float32, src []uint8, zero int32, scale float32) {
	mustFit(len(dst), len(src))
	done := 0 // by a vector unit
	if len(src) > 0 && Active() > Generic {
		done = dequantizeVector(dst, src, zero, scale)
	}
	for i := done; i < len(src); i++ {
		dst[i] = float32(int32(src[i])-zero) * scale
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
	done := 0 // by a vector unit
	if rows > 0 && Active() > Generic {
		done = columnSumsVector(dst, src, rows)
	}
	clear(dst[done:])
	for r := range rows {
		row := src[r*len(dst):][:len(dst)]
		for j := done; j < len(row); j++ {
			dst[j] += int32(row[j])
		}
	}
}

func mustFit(dst, src int) {
	if dst != src {
		panic(fmt.Sprintf("qgemm: %d values from %d", dst, src))
	}
}
