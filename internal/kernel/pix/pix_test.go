package pix

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

func eachLevel(t *testing.T, test func(t *testing.T)) {
	for _, l := range []simd.Level{simd.Active(), simd.Generic} {
		restore := simd.Force(l)
		t.Run(l.String(), test)
		restore()
	}
}

func floats(rng *rand.Rand, n int, size float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rng.NormFloat64() * size)
	}
	return v
}

func octets(rng *rand.Rand, n int) []uint8 {
	v := make([]uint8, n)
	for i := range v {
		v[i] = uint8(rng.IntN(256))
	}
	return v
}

func near(got float32, want, size float64) bool { return math.Abs(float64(got)-want) <= 1e-5*(1+size) }

func TestGather(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 1))
		for n := range 40 {
			for taps := 1; taps < 9; taps++ {
				src := octets(rng, 3*(taps+20)+1)
				first := make([]int32, n)
				for i := range first {
					first[i] = int32(3 * rng.IntN(21))
				}
				weights := floats(rng, n*taps, 1)
				dst := floats(rng, 3*n+4, 1)
				guard := append([]float32(nil), dst[3*n+1:]...)
				Gather(dst[:3*n+1], src, first, weights, taps)
				for i := range n {
					for c := range 3 {
						var want, size float64
						for k := range taps {
							v := float64(weights[i*taps+k]) * float64(src[int(first[i])+3*k+c])
							want, size = want+v, size+math.Abs(v)
						}
						if !near(dst[3*i+c], want, size) {
							t.Fatalf("%d pixels, %d taps: %v, want %v", n, taps, dst[3*i+c], want)
						}
					}
				}
				for i, g := range guard {
					if dst[3*n+1+i] != g {
						t.Fatal("wrote past the end")
					}
				}
			}
		}
	})
}

func TestBlend(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(2, 2))
		for n := range 200 {
			for _, taps := range []int{1, 2, 3, 7} {
				stride := n + rng.IntN(5)
				src, weights := floats(rng, stride*(taps-1)+n, 200), floats(rng, taps, 1)
				a, b := floats(rng, n, 1), floats(rng, n, 1)
				dst := floats(rng, n+3, 1)
				guard := [3]float32(dst[n:])
				Blend(dst[:n], src, stride, weights, a, b)
				for j := range n {
					sum, size := 0.0, 0.0
					for k, w := range weights {
						v := float64(w) * float64(src[k*stride+j])
						sum, size = sum+v, size+math.Abs(v)
					}
					want := float64(a[j])*min(max(sum, 0), 255) + float64(b[j])
					if !near(dst[j], want, size*math.Abs(float64(a[j]))) {
						t.Fatalf("n %d, %d taps, column %d: %v, want %v", n, taps, j, dst[j], want)
					}
				}
				if [3]float32(dst[n:]) != guard {
					t.Fatal("wrote past the end")
				}
			}
		}
	})
}

func TestAffine(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 3))
		for n := range 200 {
			src, a, b := octets(rng, n), floats(rng, n, 1), floats(rng, n, 1)
			dst := floats(rng, n+3, 1)
			guard := [3]float32(dst[n:])
			Affine(dst[:n], src, a, b)
			for j := range n {
				if want := float64(a[j])*float64(src[j]) + float64(b[j]); !near(dst[j], want, 255) {
					t.Fatalf("n %d, column %d: %v, want %v", n, j, dst[j], want)
				}
			}
			if [3]float32(dst[n:]) != guard {
				t.Fatal("wrote past the end")
			}
		}
	})
}

func TestColors(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(4, 4))
		for n := range 50 {
			src := floats(rng, 3*n, 100)
			m, a, b := [9]float32(floats(rng, 9, 1)), [3]float32(floats(rng, 3, 1)), [3]float32(floats(rng, 3, 1))
			dst := floats(rng, 3*n+3, 1)
			guard := [3]float32(dst[3*n:])
			Colors(dst[:3*n], src, m, 40, a, b)
			for i := range n {
				for c := range 3 {
					v, size := 40.0, 40.0
					for k := range 3 {
						x := float64(m[3*c+k]) * float64(src[3*i+k])
						v, size = v+x, size+math.Abs(x)
					}
					want := float64(a[c])*min(max(v, 0), 255) + float64(b[c])
					if !near(dst[3*i+c], want, size*math.Abs(float64(a[c]))) {
						t.Fatalf("%d pixels: %v, want %v", n, dst[3*i+c], want)
					}
				}
			}
			if [3]float32(dst[3*n:]) != guard {
				t.Fatal("wrote past the end")
			}
		}
	})
}

func TestMismatchPanics(t *testing.T) {
	f := make([]float32, 8)
	for i, call := range []func(){
		func() { Gather(f[:3], make([]uint8, 9), []int32{0}, f, 1) },
		func() { Gather(f, make([]uint8, 3), []int32{0}, f, 1) },
		func() { Gather(f, make([]uint8, 9), []int32{-1}, f, 1) },
		func() { Blend(f, f, 8, []float32{1, 1}, f, f) },
		func() { Blend(f, f, 8, nil, f, f) },
		func() { Colors(f, f, [9]float32{}, 0, [3]float32{}, [3]float32{}) },
		func() { GatherFixed(make([]uint8, 3), make([]uint8, 9), []int32{0}, []int32{1}, 1) },
		func() { GatherFixed(make([]uint8, 8), make([]uint8, 3), []int32{0}, []int32{1}, 1) },
		func() { GatherFixed(make([]uint8, 8), make([]uint8, 9), []int32{-1}, []int32{1}, 1) },
		func() { GatherFixed(make([]uint8, 8), make([]uint8, 9), []int32{0}, nil, 1) },
		func() { BlendFixed(make([]uint8, 8), make([]uint8, 8), 8, []int32{1, 1}) },
		func() { BlendFixed(make([]uint8, 8), make([]uint8, 8), 8, nil) },
		func() { Widen(make([]uint8, 8), make([]uint8, 4), make([]uint8, 3)) },
		func() { Widen(make([]uint8, 7), make([]uint8, 4), make([]uint8, 4)) },
		func() { RGB(make([]uint8, 11), make([]uint8, 4), make([]uint8, 4), make([]uint8, 4)) },
		func() { RGB(make([]uint8, 12), make([]uint8, 4), make([]uint8, 3), make([]uint8, 4)) },
		func() { Affine(f, make([]uint8, 7), f, f) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("case %d: no panic", i)
				}
			}()
			call()
		}()
	}
}
