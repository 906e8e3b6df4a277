package qgemm

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

func TestDepthwiseFieldsAreWhereTheKernelLooks(t *testing.T) {
	var x Depthwise
	for i, off := range []uintptr{unsafe.Offsetof(x.X), unsafe.Offsetof(x.Y), unsafe.Offsetof(x.w),
		unsafe.Offsetof(x.off), unsafe.Offsetof(x.scale), unsafe.Offsetof(x.shift), unsafe.Offsetof(x.N),
		unsafe.Offsetof(x.XStep), unsafe.Offsetof(x.YStep), unsafe.Offsetof(x.groups), unsafe.Offsetof(x.blocks),
		unsafe.Offsetof(x.mask), unsafe.Offsetof(x.Lo)} {
		if off != uintptr(8*i) {
			t.Errorf("field %d lies at %d", i, off)
		}
	}
	if unsafe.Offsetof(x.Hi) != unsafe.Offsetof(x.Lo)+4 || unsafe.Offsetof(x.lift) != unsafe.Offsetof(x.Lo)+8 {
		t.Error("bounds and what is lifted do not lie side by side")
	}
}

func TestDepthwiseIsExactAtEveryLevel(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(11, 12))
		for _, channels := range []int{1, 3, 8, 15, 16, 17, 24, 32, 40, 41, 48, 56, 63, 64, 65, 96, 120, 129, 200} {
			for _, taps := range []int{1, 4, 9, 25} {
				const n = 5
				w := make([]int8, channels*taps)
				for i := range w {
					w[i] = int8(rnd.IntN(255) - 127)
				}
				scale, shift := make([]float32, channels), make([]float32, channels)
				for c := range scale {
					scale[c] = float32(rnd.NormFloat64()) / float32(taps) / 127
					shift[c] = 255 * rnd.Float32()
				}
				f := NewDepthFilters(w, channels, taps)
				f.SetAffine(scale, shift)
				off := make([]int64, taps)
				for i := range off {
					off[i] = int64(rnd.IntN(3*channels + 1))
				}
				f.SetTaps(off)
				x, y := make([]uint8, (n+4)*channels), make([]uint8, n*(channels+2)+2*guard)
				for i := range x {
					if x[i] = uint8(rnd.Uint32()); channels%5 == 0 {
						x[i] = 255
					}
				}
				for i := range y {
					y[i] = 0x5a
				}
				d := Depthwise{X: &x[0], Y: &y[guard], N: n, XStep: channels, YStep: channels + 2, Lo: 3, Hi: 250}
				d.Run(f)
				for i, got := range y {
					want := uint8(0x5a)
					if q, c := (i-guard)/(channels+2), (i-guard)%(channels+2); i >= guard && q < n && c < channels {
						var sum int64
						for k := range taps {
							sum += int64(x[q*channels+int(off[k])+c]) * int64(w[c*taps+k])
						}
						v := float32(float32(sum)*scale[c]) + shift[c]
						want = uint8(math.RoundToEven(float64(min(max(v, 3), 250))))
					}
					if got != want {
						t.Fatalf("%d channels, %d taps: byte %d is %d, want %d", channels, taps, i-guard, got, want)
					}
				}
			}
		}
	})
}
