//go:build !noasm

package bf16

import "github.com/klauspost/cpuid/v2"

func detect() Level {
	switch {
	case !cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.AVX512BF16,
		cpuid.BMI2):
		return Generic
	case !cpuid.CPU.Supports(cpuid.AMXBF16, cpuid.AMXTILE) || !permitted():
		return AVX512
	}
	return AMX
}
