//go:build !noasm

package pix

import "github.com/kindred-ml/kindred/internal/kernel/simd"

func widen(dst, near, far *uint8, blocks int) bool {
	if simd.Active() == simd.Generic {
		return false
	}
	widenVector(dst, near, far, blocks)
	return true
}

func rgb(dst, y, cb, cr *uint8, blocks int) bool {
	if simd.Active() == simd.Generic {
		return false
	}
	rgbVector(dst, y, cb, cr, blocks)
	return true
}
