//go:build (!amd64 && !arm64) || noasm

package pix

func gather(dst *float32, src *uint8, first *int32, weights *float32, n, taps int) bool {
	return false
}

func blend(dst, src *float32, stride int, weights *float32, taps int, a, b *float32, blocks int, high float32) bool {
	return false
}

func affine(dst *float32, src *uint8, a, b *float32, blocks int) bool { return false }

func colors(dst, src, m *float32, n int, high float32) bool { return false }

func gatherFixed(dst, src *uint8, first, weights *int32, n, taps int) bool { return false }

func blendFixed(dst, src *uint8, stride int, weights *int32, taps, blocks int) bool { return false }
