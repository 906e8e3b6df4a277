//go:build !noasm

package amx

import "github.com/klauspost/cpuid/v2"

func hasTiles() bool { return cpuid.CPU.Supports(cpuid.AMXTILE) }

func hasInt8() bool { return cpuid.CPU.Supports(cpuid.AMXINT8) }

func hasBFloat16() bool { return cpuid.CPU.Supports(cpuid.AMXBF16) }
