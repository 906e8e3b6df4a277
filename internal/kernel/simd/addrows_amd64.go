//go:build !noasm

package simd

// addRowsLanes returns the width of addRows's registers, or 0 without such an instruction set.
func addRowsLanes() int {
	switch active {
	case AVX512:
		return 16
	case AVX2:
		return 8
	}
	return 0
}

// addRows is AddRows for one or eight registers of y.
func addRows(vecs int, y, x *float32, stride int, idx *int32, c *float32, n int) {
	switch {
	case active == AVX512 && vecs == 8:
		addRows8AVX512(y, x, stride, idx, c, n)
	case active == AVX512:
		addRows1AVX512(y, x, stride, idx, c, n)
	case vecs == 8:
		addRows8AVX2(y, x, stride, idx, c, n)
	default:
		addRows1AVX2(y, x, stride, idx, c, n)
	}
}
