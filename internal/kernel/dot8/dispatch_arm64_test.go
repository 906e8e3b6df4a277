//go:build !noasm

package dot8

import "github.com/klauspost/cpuid/v2"

type stripFunc = func(c []int32, a []int8, bias []int32, b []uint8, steps, panels int)

// fast adds the kernels of this machine.
func fast(all map[string]stripFunc) {
	if !IsFast() {
		return
	}
	all["sdot"] = func(c []int32, a []int8, bias []int32, b []uint8, steps, panels int) {
		stripDot(&c[0], &a[0], &bias[0], &b[0], steps, panels)
	}
	if cpuid.CPU.Supports(cpuid.I8MM) {
		all["usmmla"] = func(c []int32, a []int8, bias []int32, b []uint8, steps, panels int) {
			stripMatrix(&c[0], &a[0], &bias[0], &b[0], steps, panels)
		}
	}
}
