package bf16

import (
	"fmt"
	"math"
	"unsafe"
)

// View returns the memory of v as bfloat16 values, two for each of v's.
func View(v []float32) []uint16 {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*uint16)(unsafe.Pointer(&v[0])), 2*len(v))
}

// Words returns the memory of v as pairs of bfloat16, one for each of v's, the
// first of a pair in the lower bits.
func Words(v []float32) []uint32 {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(&v[0])), len(v))
}

// FromFloat rounds one value.
func FromFloat(x float32) uint16 {
	b := math.Float32bits(x)
	switch {
	case b&0x7f800000 == 0: // zero or subnormal
		return uint16(b>>16) & 0x8000
	case b&0x7fffffff > 0x7f800000: // NaN
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// ToFloat is the value of h.
func ToFloat(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// Round sets dst to src, rounded.
func Round(dst []uint16, src []float32) {
	if len(dst) != len(src) {
		panic(fmt.Sprintf("bf16: %d values for %d", len(src), len(dst)))
	}
	if len(src) == 0 {
		return
	}
	if hasVector() {
		round(&dst[0], &src[0], len(src))
		return
	}
	for i, v := range src {
		dst[i] = FromFloat(v)
	}
}

// RoundSteps rounds rows of n values, srcStep apart, and lays them out as tiles read
// them: each 32 values of a row, the last filled up with zeros, step behind those
// before, and each row 32 behind the last.
func RoundSteps(dst []uint16, step int, src []float32, srcStep, rows, n int) {
	if rows <= 0 || n <= 0 {
		return
	}
	_, _ = src[(rows-1)*srcStep+n-1], dst[(n-1)/32*step+32*rows-1]
	if hasVector() {
		roundSteps(&dst[0], 2*step, &src[0], 4*srcStep, rows, n)
		return
	}
	for i := range rows {
		for j := range (n + 31) / 32 * 32 {
			to := &dst[j/32*step+32*i+j%32]
			if *to = 0; j < n {
				*to = FromFloat(src[i*srcStep+j])
			}
		}
	}
}

// Pairs rounds a and b, of the same length, and lays them out as pairs: the first
// 16 of them at the start of dst, each next 16 step further; the last of them are
// filled up with zeros. A nil slice stands for n zeros.
func Pairs(dst []uint32, step int, a, b []float32, n int) {
	if a != nil && len(a) < n || b != nil && len(b) < n {
		panic(fmt.Sprintf("bf16: rows of %d and %d values for %d pairs", len(a), len(b), n))
	}
	if n <= 0 {
		return
	}
	_ = dst[(n-1)/16*step+15]
	if hasVector() {
		pairs(&dst[0], 4*step, unsafe.SliceData(a), unsafe.SliceData(b), n)
		return
	}
	for j := 0; j < n; j += 16 {
		to := dst[j/16*step:][:16]
		for i := range to {
			to[i] = 0
			if a != nil && j+i < n {
				to[i] = uint32(FromFloat(a[j+i]))
			}
			if b != nil && j+i < n {
				to[i] |= uint32(FromFloat(b[j+i])) << 16
			}
		}
	}
}

// Widen sets dst to the values of src.
func Widen(dst []float32, src []uint16) {
	if len(dst) != len(src) {
		panic(fmt.Sprintf("bf16: %d values for %d", len(src), len(dst)))
	}
	if len(src) == 0 {
		return
	}
	if hasVector() {
		widen(&dst[0], &src[0], len(src))
		return
	}
	for i, h := range src {
		dst[i] = ToFloat(h)
	}
}

// CopySteps is RoundSteps of values that are bfloat16.
func CopySteps(dst []uint16, step int, src []uint16, srcStep, rows, n int) {
	if rows <= 0 || n <= 0 {
		return
	}
	_, _ = src[(rows-1)*srcStep+n-1], dst[(n-1)/32*step+32*rows-1]
	if hasVector() {
		copySteps(&dst[0], 2*step, &src[0], 2*srcStep, rows, n)
		return
	}
	for i := range rows {
		for j := range (n + 31) / 32 * 32 {
			to := &dst[j/32*step+32*i+j%32]
			if *to = 0; j < n {
				*to = src[i*srcStep+j]
			}
		}
	}
}

// PairHalves is Pairs of values that are bfloat16.
func PairHalves(dst []uint32, step int, a, b []uint16, n int) {
	if a != nil && len(a) < n || b != nil && len(b) < n {
		panic(fmt.Sprintf("bf16: rows of %d and %d values for %d pairs", len(a), len(b), n))
	}
	if n <= 0 {
		return
	}
	_ = dst[(n-1)/16*step+15]
	if hasVector() {
		pairHalves(&dst[0], 4*step, unsafe.SliceData(a), unsafe.SliceData(b), n)
		return
	}
	for j := 0; j < n; j += 16 {
		to := dst[j/16*step:][:16]
		for i := range to {
			to[i] = 0
			if a != nil && j+i < n {
				to[i] = uint32(a[j+i])
			}
			if b != nil && j+i < n {
				to[i] |= uint32(b[j+i]) << 16
			}
		}
	}
}
