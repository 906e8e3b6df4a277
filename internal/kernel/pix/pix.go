package pix

import "fmt"

// Gather computes a row of len(first) three-channel pixels, each the weighted
// sum of taps consecutive pixels of src:
//
//	dst[3i+c] = sum over k of weights[taps*i+k] * src[first[i]+3k+c]
//
// dst needs one value more than the pixels and src one byte more than the last
// pixel read: both may be touched. It panics where either is too short.
func Gather(dst []float32, src []uint8, first []int32, weights []float32, taps int) {
	n := len(first)
	if len(dst) < 3*n+1 || taps < 1 || len(weights) < n*taps {
		panic(fmt.Sprintf("pix: %d values and %d weights for %d pixels of %d taps", len(dst), len(weights), n, taps))
	}
	for _, f := range first {
		if f < 0 || int(f)+3*taps+1 > len(src) {
			panic(fmt.Sprintf("pix: %d taps at %d of %d bytes", taps, f, len(src)))
		}
	}
	if n == 0 || gather(&dst[0], &src[0], &first[0], &weights[0], n, taps) {
		return
	}
	for i, f := range first {
		var r, g, b float32
		s := src[f:]
		for _, w := range weights[i*taps : (i+1)*taps] {
			r += w * float32(s[0])
			g += w * float32(s[1])
			b += w * float32(s[2])
			s = s[3:]
		}
		dst[3*i], dst[3*i+1], dst[3*i+2] = r, g, b
	}
}

// Blend computes one row from len(weights) rows of src, which lie stride values
// apart:
//
//	dst[j] = a[j] * clamp(sum over k of weights[k] * src[stride*k+j], 0, 255) + b[j]
//
// It panics where a slice is too short.
func Blend(dst, src []float32, stride int, weights, a, b []float32) {
	n, taps := len(dst), len(weights)
	if n == 0 {
		return
	}
	if taps == 0 || stride < 0 || len(src) < stride*(taps-1)+n || len(a) < n || len(b) < n {
		panic(fmt.Sprintf("pix: %d values, %d and %d factors for %d rows of %d, %d apart", len(src), len(a), len(b),
			taps, n, stride))
	}
	done := 0
	if blocks := n / 16; blocks > 0 && blend(&dst[0], &src[0], stride, &weights[0], taps, &a[0], &b[0], blocks, 255) {
		done = 16 * blocks
	}
	for j := done; j < n; j++ {
		var s float32
		for k, w := range weights {
			s += w * src[stride*k+j]
		}
		dst[j] = a[j]*min(max(s, 0), 255) + b[j]
	}
}

// Affine computes dst[j] = a[j]*src[j] + b[j]. It panics where a slice is shorter
// than dst.
func Affine(dst []float32, src []uint8, a, b []float32) {
	n := len(dst)
	if len(src) < n || len(a) < n || len(b) < n {
		panic(fmt.Sprintf("pix: %d bytes, %d and %d factors for %d values", len(src), len(a), len(b), n))
	}
	done := 0
	if blocks := n / 16; blocks > 0 && affine(&dst[0], &src[0], &a[0], &b[0], blocks) {
		done = 16 * blocks
	}
	for j := done; j < n; j++ {
		dst[j] = a[j]*float32(src[j]) + b[j]
	}
}

// Colors maps three-channel pixels, with m the rows of a matrix:
//
//	dst[c] = a[c] * clamp(m[3c]*src[0] + m[3c+1]*src[1] + m[3c+2]*src[2] + offset, 0, 255) + b[c]
//
// It panics unless dst and src have one length, a multiple of 3. They must not
// overlap.
func Colors(dst, src []float32, m [9]float32, offset float32, a, b [3]float32) {
	n := len(dst) / 3
	if len(src) != len(dst) || 3*n != len(dst) {
		panic(fmt.Sprintf("pix: %d and %d values of three-channel pixels", len(dst), len(src)))
	}
	done := 0
	if n > 1 {
		k := [24]float32{
			m[0], m[3], m[6], 0, m[1], m[4], m[7], 0, m[2], m[5], m[8], 0,
			offset, offset, offset, 0, a[0], a[1], a[2], 0, b[0], b[1], b[2], 0,
		}
		if colors(&dst[0], &src[0], &k[0], n-1, 255) { // the last has nothing after it
			done = 3 * (n - 1)
		}
	}
	for i := done; i < len(dst); i += 3 {
		for c := range 3 {
			v := m[3*c]*src[i] + m[3*c+1]*src[i+1] + m[3*c+2]*src[i+2] + offset
			dst[i+c] = a[c]*min(max(v, 0), 255) + b[c]
		}
	}
}
