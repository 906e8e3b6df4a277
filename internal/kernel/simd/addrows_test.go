package simd

import (
	"math/rand/v2"
	"testing"
)

// AddRows has the bits of Axpy row after row, at every length, and writes nothing
// beyond it.
func TestAddRows(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 9))
		const rows, stride = 23, 311
		x := make([]float32, (rows-1)*stride+300)
		for i := range x {
			x[i] = float32(rng.NormFloat64())
		}
		for n := range 300 {
			offset := n % 5
			y, want := make([]float32, offset+n+16), make([]float32, offset+n+16)
			for i := range y {
				y[i] = float32(rng.NormFloat64())
			}
			copy(want, y)
			idx, c := make([]int32, n%40), make([]float32, n%40)
			for k := range idx {
				idx[k], c[k] = rng.Int32N(rows), float32(rng.NormFloat64())
			}
			AddRows(y[offset:offset+n], c, idx, x, stride)
			for k, i := range idx {
				Axpy(c[k], x[int(i)*stride:int(i)*stride+n], want[offset:offset+n])
			}
			for i := range y {
				if y[i] != want[i] {
					t.Fatalf("length %d, %d rows: value %d is %v, want %v", n, len(idx), i-offset, y[i], want[i])
				}
			}
		}
	})
}

func TestAddRowsPanics(t *testing.T) {
	x, y := make([]float32, 20), make([]float32, 5)
	for name, call := range map[string]func(){
		"beyond":   func() { AddRows(y, []float32{1}, []int32{4}, x, 4) },
		"negative": func() { AddRows(y, []float32{1}, []int32{-1}, x, 4) },
		"factors":  func() { AddRows(y, nil, []int32{1}, x, 4) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}
