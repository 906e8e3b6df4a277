package pix

import "fmt"

// The factors of YCbCr to RGB, with 16 fractional bits: R = Y + 1.402 Cr, G = Y - 0.344136 Cb - 0.714136 Cr,
// B = Y + 1.772 Cb (ITU-R 601 in full range, as JFIF has it).
const (
	CrRed   = 91881
	CbGreen = -22554
	CrGreen = -46802
	CbBlue  = 116130
)

// Widen makes a row of chroma twice as wide from the two rows next to it, weighted by distance, in libjpeg's integers.
// With s = 3*near + far, and s at the border in place of what is beyond it:
//
//	dst[2i]   = (3*s[i] + s[i-1] + 8) / 16
//	dst[2i+1] = (3*s[i] + s[i+1] + 7) / 16
//
// It panics unless far is as long as near, and dst twice as long.
func Widen(dst, near, far []uint8) {
	n := len(near)
	if len(far) != n || len(dst) != 2*n {
		panic(fmt.Sprintf("pix: %d values of rows of %d and %d", len(dst), n, len(far)))
	}
	done := 0
	if blocks := (n - 2) / 16; n > 2 && blocks > 0 && widen(&dst[2], &near[1], &far[1], blocks) {
		widenFrom(dst, near, far, 0, 1)
		done = 1 + 16*blocks
	}
	widenFrom(dst, near, far, done, n)
}

// widenFrom is Widen for the values from lo to below hi.
func widenFrom(dst, near, far []uint8, lo, hi int) {
	if lo == hi {
		return
	}
	sum := func(i int) int32 { return 3*int32(near[i]) + int32(far[i]) }
	left, s := sum(max(lo-1, 0)), sum(lo)
	for i := lo; i < hi; i++ {
		right := s
		if i+1 < len(near) {
			right = sum(i + 1)
		}
		o := dst[2*i : 2*i+2 : 2*i+2]
		o[0], o[1] = uint8((3*s+left+8)>>4), uint8((3*s+right+7)>>4)
		left, s = s, right
	}
}

// RGB converts pixels of YCbCr to interleaved RGB, 3 len(y) values, rounded as libjpeg does:
//
//	R = clamp(Y + (CrRed*(Cr-128) + half) >> 16), and so on
//
// It panics where a slice is too short.
func RGB(dst, y, cb, cr []uint8) {
	n := len(y)
	if len(dst) < 3*n || len(cb) < n || len(cr) < n {
		panic(fmt.Sprintf("pix: %d bytes, %d and %d values for %d pixels", len(dst), len(cb), len(cr), n))
	}
	done := 0
	if blocks := (n - 2) / 8; n > 2 && blocks > 0 && rgb(&dst[0], &y[0], &cb[0], &cr[0], blocks) {
		done = 8 * blocks
	}
	const half = 1 << 15
	for i := done; i < n; i++ {
		v, b, r := int32(y[i]), int32(cb[i])-128, int32(cr[i])-128
		o := dst[3*i : 3*i+3 : 3*i+3]
		o[0] = clamp(v + (CrRed*r+half)>>16)
		o[1] = clamp(v + (CbGreen*b+CrGreen*r+half)>>16)
		o[2] = clamp(v + (CbBlue*b+half)>>16)
	}
}

func clamp(v int32) uint8 {
	if uint32(v) > 255 {
		return uint8(^(v >> 31)) // 0 below, 255 above
	}
	return uint8(v)
}
