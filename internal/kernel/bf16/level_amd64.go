//go:build !noasm

package bf16

import (
	"github.com/klauspost/cpuid/v2"

	"github.com/kindred-ml/kindred/internal/kernel/amx"
)

func detect() Level {
	switch {
	case !cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.AVX512BF16,
		cpuid.BMI2):
		return Generic
	case !amx.BFloat16():
		return AVX512
	}
	return AMX
}
