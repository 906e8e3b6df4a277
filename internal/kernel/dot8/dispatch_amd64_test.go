//go:build !noasm

package dot8

import "github.com/kindred-ml/kindred/internal/kernel/amx"

type stripFunc = func(c []int32, a []int8, bias []int32, b []uint8, steps, panels int)

// fast adds the kernels of this machine.
func fast(all map[string]stripFunc) {
	if !IsFast() {
		return
	}
	all["vnni"] = func(c []int32, a []int8, bias []int32, b []uint8, steps, panels int) {
		stripVNNI(&c[0], &a[0], &bias[0], &b[0], steps, panels)
	}
	if amx.Int8() {
		all["amx"] = stripMatrix
	}
}
