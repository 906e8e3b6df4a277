package pix

import "fmt"

// Precision is the number of bits after the point of a weight in fixed point. With it, sums of bytes have room in 32
// bits. It is Pillow's (PRECISION_BITS).
const Precision = 22

// Fixed rounds a sum of bytes with weights in fixed point to the nearest byte; halves are rounded up.
func Fixed(sum int32) uint8 { return uint8(min(max((sum+1<<(Precision-1))>>Precision, 0), 255)) }

// GatherFixed computes a row of len(first) three-channel pixels, each the weighted sum of taps consecutive pixels of
// src, rounded:
//
//	dst[3i+c] = Fixed(sum over k of weights[taps*i+k] * src[first[i]+3k+c])
//
// All levels of instructions give the same bytes. dst needs one byte more than the pixels and src one more than the
// last pixel read: both may be touched. It panics where either is too short.
func GatherFixed(dst, src []uint8, first, weights []int32, taps int) {
	n := len(first)
	if len(dst) < 3*n+1 || taps < 1 || len(weights) < n*taps {
		panic(fmt.Sprintf("pix: %d bytes and %d weights for %d pixels of %d taps", len(dst), len(weights), n, taps))
	}
	for _, f := range first {
		if f < 0 || int(f)+3*taps+1 > len(src) {
			panic(fmt.Sprintf("pix: %d taps at %d of %d bytes", taps, f, len(src)))
		}
	}
	if n == 0 || gatherFixed(&dst[0], &src[0], &first[0], &weights[0], n, taps) {
		return
	}
	for i, f := range first {
		var r, g, b int32
		s := src[f:]
		for _, w := range weights[i*taps : (i+1)*taps] {
			r += w * int32(s[0])
			g += w * int32(s[1])
			b += w * int32(s[2])
			s = s[3:]
		}
		dst[3*i], dst[3*i+1], dst[3*i+2] = Fixed(r), Fixed(g), Fixed(b)
	}
}

// BlendFixed computes one row from len(weights) rows of src, which lie stride bytes apart:
//
//	dst[j] = Fixed(sum over k of weights[k] * src[stride*k+j])
//
// All levels of instructions give the same bytes. It panics where a slice is too short.
func BlendFixed(dst, src []uint8, stride int, weights []int32) {
	n, taps := len(dst), len(weights)
	if n == 0 {
		return
	}
	if taps == 0 || stride < 0 || len(src) < stride*(taps-1)+n {
		panic(fmt.Sprintf("pix: %d bytes for %d rows of %d, %d apart", len(src), taps, n, stride))
	}
	done := 0
	if blocks := n / 16; blocks > 0 && blendFixed(&dst[0], &src[0], stride, &weights[0], taps, blocks) {
		done = 16 * blocks
	}
	for j := done; j < n; j++ {
		var s int32
		for k, w := range weights {
			s += w * int32(src[stride*k+j])
		}
		dst[j] = Fixed(s)
	}
}
