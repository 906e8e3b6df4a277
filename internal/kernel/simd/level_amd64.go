//go:build !noasm

package simd

import "github.com/klauspost/cpuid/v2"

func detect() Level {
	switch {
	case !cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3):
		return Generic
	case !cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL):
		return AVX2
	}
	return AVX512
}

// detectFamily uses the maker and the support for half precision arithmetic, which came with
// those cores.
func detectFamily() Family {
	if cpuid.CPU.IsVendor(cpuid.Intel) && cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512FP16) {
		return Sapphire
	}
	return Common
}
