//go:build !noasm

package fft

import "github.com/kindred-ml/kindred/internal/kernel/simd"

func pass(radix int, dst, src []complex128, dstStep, srcStep int, factors []float64, n int) {
	// The last numbers that the kernels read and write.
	d, s, f := &dst[:(radix-1)*dstStep+n][0], &src[:(radix-1)*srcStep+n][0], &factors[0]
	switch level := simd.Active(); {
	case level == simd.AVX512 && radix == 2:
		pass2AVX512(d, s, 16*dstStep, 16*srcStep, f, n/4)
	case level == simd.AVX512 && radix == 3:
		pass3AVX512(d, s, 16*dstStep, 16*srcStep, f, n/4)
	case level == simd.AVX512 && radix == 4:
		pass4AVX512(d, s, 16*dstStep, 16*srcStep, f, n/4)
	case level == simd.AVX512:
		pass5AVX512(d, s, 16*dstStep, 16*srcStep, f, n/4)
	case level == simd.AVX2 && radix == 2:
		pass2AVX2(d, s, 16*dstStep, 16*srcStep, f, n/2)
	case level == simd.AVX2 && radix == 3:
		pass3AVX2(d, s, 16*dstStep, 16*srcStep, f, n/2)
	case level == simd.AVX2 && radix == 4:
		pass4AVX2(d, s, 16*dstStep, 16*srcStep, f, n/2)
	case level == simd.AVX2:
		pass5AVX2(d, s, 16*dstStep, 16*srcStep, f, n/2)
	default:
		passGeneric(radix, dst, src, dstStep, srcStep, factors, n)
	}
}
