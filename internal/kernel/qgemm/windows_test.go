package qgemm

import (
	"math/rand/v2"
	"testing"
	"unsafe"
)

func TestWindowsFieldsAreWhereTheKernelLooks(t *testing.T) {
	var x Windows
	for i, off := range []uintptr{unsafe.Offsetof(x.N), unsafe.Offsetof(x.Rows), unsafe.Offsetof(x.Cols),
		unsafe.Offsetof(x.Step), unsafe.Offsetof(x.Line), unsafe.Offsetof(x.Channels)} {
		if off != uintptr(8*i) {
			t.Errorf("field %d lies at %d", i, off)
		}
	}
}

func TestWindowsAtEveryLevel(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(13, 14))
		for channels := 1; channels < 150; channels++ {
			w := Windows{N: 1 + rnd.IntN(5), Rows: 1 + rnd.IntN(3), Cols: 1 + rnd.IntN(4), Channels: channels}
			w.Step, w.Line = rnd.IntN(3)*channels, rnd.IntN(9)*channels
			// Not a byte more than the windows have.
			src := make([]uint8, (w.Rows-1)*w.Line+(w.N-1)*w.Step+w.Cols*channels)
			for i := range src {
				src[i] = uint8(rnd.Uint32())
			}
			dst := make([]uint8, w.N*channels+2*guard)
			for i := range dst {
				dst[i] = 0x5a
			}
			w.Largest(dst[guard:guard+w.N*channels], src)
			for i, got := range dst {
				want := uint8(0x5a)
				if at := i - guard; at >= 0 && at < w.N*channels {
					want = 0
					for r := range w.Rows {
						for s := range w.Cols {
							want = max(want, src[r*w.Line+at/channels*w.Step+s*channels+at%channels])
						}
					}
				}
				if got != want {
					t.Fatalf("%+v: byte %d is %d, want %d", w, i-guard, got, want)
				}
			}
		}
	})
}

func TestWindowsRefuse(t *testing.T) {
	src, dst := make([]uint8, 100), make([]uint8, 100)
	fits := Windows{N: 3, Rows: 2, Cols: 2, Step: 10, Line: 50, Channels: 15}
	fits.Largest(dst[:45], src) // to the last byte of src
	for what, spoil := range map[string]func(w *Windows){
		"beyond the source":      func(w *Windows) { w.Line++ },
		"beyond the destination": func(w *Windows) { w.N++ },
		"no rows":                func(w *Windows) { w.Rows = 0 },
		"no columns":             func(w *Windows) { w.Cols = 0 },
		"no channels":            func(w *Windows) { w.Channels = 0 },
		"backwards":              func(w *Windows) { w.Step = -1 },
	} {
		w := fits
		spoil(&w)
		if func() (r any) { defer func() { r = recover() }(); w.Largest(dst[:45], src); return nil }() == nil {
			t.Errorf("%s passes", what)
		}
	}
}
