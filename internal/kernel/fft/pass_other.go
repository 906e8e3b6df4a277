//go:build !amd64 || noasm

package fft

func pass(radix int, dst, src []complex128, dstStep, srcStep int, factors []float64, n int) {
	passGeneric(radix, dst, src, dstStep, srcStep, factors, n)
}
