//go:build (amd64 || arm64) && !noasm

package simd

import "unsafe"

// shape is the width of the filters and the step in pixels, as two digits, 0 if
// they have no kernel of their own.
func (d *Depthwise) shape() int {
	if step := d.XStep / d.C; d.TapsW < 8 && step < 3 {
		return 10*d.TapsW + step
	}
	return 0
}

// finish applies what follows the sums where the kernel does not.
func (d *Depthwise) finish() {
	if d.Scale == nil {
		return
	}
	c := d.C / 4
	scale, shift := unsafe.Slice(d.Scale, c), unsafe.Slice(d.Shift, c)
	for i := range d.N {
		y := unsafe.Slice((*float32)(unsafe.Add(d.Y, i*d.YStep)), c)
		ScaleShift(y, y, scale, shift, d.Act)
	}
}
