package simd

import (
	"math/rand/v2"
	"testing"
)

func TestTranspose(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(2, 2))
		for rows := range 35 {
			for cols := range 35 {
				ss, ds := cols+rnd.IntN(3), rows+rnd.IntN(3)
				src := normals(rnd, rows*ss+5)
				dst, want := normals(rnd, cols*ds+5), []float32(nil)
				want = append(want, dst...)
				for i := range rows {
					for j := range cols {
						want[j*ds+i] = src[i*ss+j]
					}
				}
				Transpose(dst, ds, src, ss, rows, cols)
				for i := range want {
					if dst[i] != want[i] {
						t.Fatalf("%d x %d: element %d is %g, want %g", rows, cols, i, dst[i], want[i])
					}
				}
			}
		}
	})
}
