package simd

import (
	"fmt"
	"testing"
)

func BenchmarkActivations(b *testing.B) {
	x, y := make([]float32, 8192), make([]float32, 8192)
	for i := range x {
		x[i] = float32(i%100)/10 - 5
	}
	for _, c := range actCases() {
		for _, back := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/%v", c.name, back), func(b *testing.B) {
				b.SetBytes(4 * 8192)
				for b.Loop() {
					if back {
						c.grad(y, x, x)
					} else {
						c.act(y, x)
					}
				}
			})
		}
	}
}
