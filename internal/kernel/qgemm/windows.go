package qgemm

import "fmt"

// Windows describes N windows of Rows x Cols pixels of so many channels, one byte each:
//
//	Y[q][c] = max over r < Rows and s < Cols of X[r Line + q Step + s Channels + c]
type Windows struct {
	N, Rows, Cols int
	Step, Line    int // bytes from one window to the next, and from one row of a window to the next
	Channels      int
}

// Largest sets dst to the largest bytes of the windows of src. It panics if windows are empty
// or lie outside.
func (w *Windows) Largest(dst, src []uint8) {
	if w.N < 1 || w.Rows < 1 || w.Cols < 1 || w.Channels < 1 || w.Step < 0 || w.Line < 0 ||
		len(dst) < w.N*w.Channels || len(src) < (w.Rows-1)*w.Line+(w.N-1)*w.Step+w.Cols*w.Channels {
		panic(fmt.Sprintf("qgemm: windows %+v of %d bytes to %d", *w, len(src), len(dst)))
	}
	done := 0 // channels, by a vector unit
	if Active() > Generic {
		done = w.vector(dst, src)
	}
	if done == w.Channels {
		return
	}
	for q := range w.N {
		to := dst[q*w.Channels:][:w.Channels]
		clear(to[done:])
		for r := range w.Rows {
			row := src[r*w.Line+q*w.Step:]
			for s := range w.Cols {
				pixel := row[s*w.Channels:][:w.Channels]
				for c := done; c < len(to); c++ {
					to[c] = max(to[c], pixel[c])
				}
			}
		}
	}
}
