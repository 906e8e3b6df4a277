package simd

// Transpose writes the rows x cols matrix src, whose rows are srcStride apart,
// as its transpose: dst[j*dstStride+i] = src[i*srcStride+j]. It panics if
// either slice is too short.
func Transpose(dst []float32, dstStride int, src []float32, srcStride, rows, cols int) {
	if rows <= 0 || cols <= 0 {
		return
	}
	_, _ = src[(rows-1)*srcStride+cols-1], dst[(cols-1)*dstStride+rows-1]
	i := 0
	if c8 := cols &^ 7; active != Generic && c8 > 0 {
		for ; i+8 <= rows; i += 8 {
			transpose8(&dst[i], 4*dstStride, &src[i*srcStride], 4*srcStride, c8/8)
			if c8 < cols {
				transposeGeneric(dst[c8*dstStride+i:], dstStride, src[i*srcStride+c8:], srcStride, 8, cols-c8)
			}
		}
	}
	if i < rows {
		transposeGeneric(dst[i:], dstStride, src[i*srcStride:], srcStride, rows-i, cols)
	}
}

func transposeGeneric(dst []float32, dstStride int, src []float32, srcStride, rows, cols int) {
	for j := range cols {
		for i := range rows {
			dst[j*dstStride+i] = src[i*srcStride+j]
		}
	}
}
