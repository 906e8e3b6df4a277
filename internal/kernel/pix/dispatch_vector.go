//go:build (amd64 || arm64) && !noasm

package pix

import "github.com/kindred-ml/kindred/internal/kernel/simd"

func gather(dst *float32, src *uint8, first *int32, weights *float32, n, taps int) bool {
	if simd.Active() == simd.Generic {
		return false
	}
	gatherVector(dst, src, first, weights, n, taps)
	return true
}

func blend(dst, src *float32, stride int, weights *float32, taps int, a, b *float32, blocks int, high float32) bool {
	if simd.Active() == simd.Generic {
		return false
	}
	blendVector(dst, src, stride, weights, taps, a, b, blocks, high)
	return true
}

func affine(dst *float32, src *uint8, a, b *float32, blocks int) bool {
	if simd.Active() == simd.Generic {
		return false
	}
	affineVector(dst, src, a, b, blocks)
	return true
}

func colors(dst, src, m *float32, n int, high float32) bool {
	if simd.Active() == simd.Generic {
		return false
	}
	colorsVector(dst, src, m, n, high)
	return true
}

func gatherFixed(dst, src *uint8, first, weights *int32, n, taps int) bool {
	if simd.Active() == simd.Generic {
		return false
	}
	gatherFixedVector(dst, src, first, weights, n, taps)
	return true
}

func blendFixed(dst, src *uint8, stride int, weights *int32, taps, blocks int) bool {
	if simd.Active() == simd.Generic {
		return false
	}
	blendFixedVector(dst, src, stride, weights, taps, blocks)
	return true
}
