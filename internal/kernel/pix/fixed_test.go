package pix

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
)

// fixedWeights are weights whose sums leave the range of bytes at both ends, but not that of 32 bits.
func fixedWeights(rng *rand.Rand, n, taps int) []int32 {
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(rng.IntN(2*1500<<10)-1500<<10) / int32(taps) * 5
	}
	return v
}

// nearestByte rounds a sum in fixed point in other arithmetic than Fixed.
func nearestByte(sum int64) uint8 {
	return uint8(min(max(math.Floor(float64(sum)/(1<<Precision)+0.5), 0), 255))
}

func TestFixed(t *testing.T) {
	for _, v := range []int64{0, 1, 1<<21 - 1, 1 << 21, 1<<22 - 1, 255 << 22, 255<<22 + 1<<21, 300 << 22, -1, -1 << 21,
		-1<<21 - 1, -200 << 22} {
		if got, want := Fixed(int32(v)), nearestByte(v); got != want {
			t.Errorf("%d: %d, want %d", v, got, want)
		}
	}
}

func TestGatherFixed(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 5))
		for n := range 40 {
			for taps := 1; taps < 9; taps++ {
				src := octets(rng, 3*(taps+20)+1)
				first := make([]int32, n)
				for i := range first {
					first[i] = int32(3 * rng.IntN(21))
				}
				weights := fixedWeights(rng, n*taps, taps)
				dst := octets(rng, 3*n+4)
				guard := bytes.Clone(dst[3*n+1:])
				GatherFixed(dst[:3*n+1], src, first, weights, taps)
				for i := range 3 * n {
					var sum int64
					for k := range taps {
						sum += int64(weights[i/3*taps+k]) * int64(src[int(first[i/3])+3*k+i%3])
					}
					if want := nearestByte(sum); dst[i] != want {
						t.Fatalf("%d pixels, %d taps, byte %d: %v, want %v", n, taps, i, dst[i], want)
					}
				}
				if !bytes.Equal(dst[3*n+1:], guard) {
					t.Fatal("wrote past the end")
				}
			}
		}
	})
}

func TestBlendFixed(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(6, 6))
		for n := range 200 {
			for _, taps := range []int{1, 2, 3, 7} {
				stride := n + rng.IntN(5)
				src, weights := octets(rng, stride*(taps-1)+n), fixedWeights(rng, taps, taps)
				dst := octets(rng, n+3)
				guard := bytes.Clone(dst[n:])
				BlendFixed(dst[:n], src, stride, weights)
				for j := range n {
					var sum int64
					for k, w := range weights {
						sum += int64(w) * int64(src[k*stride+j])
					}
					if want := nearestByte(sum); dst[j] != want {
						t.Fatalf("n %d, %d taps, column %d: %v, want %v", n, taps, j, dst[j], want)
					}
				}
				if !bytes.Equal(dst[n:], guard) {
					t.Fatal("wrote past the end")
				}
			}
		}
	})
}
