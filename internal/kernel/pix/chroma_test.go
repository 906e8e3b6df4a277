package pix

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestWiden(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 7))
		for n := range 100 {
			near, far, dst := octets(rng, n), octets(rng, n), octets(rng, 2*n+3)
			for i := range n { // the extremes too
				if rng.IntN(4) == 0 {
					near[i], far[i] = uint8(255*rng.IntN(2)), uint8(255*rng.IntN(2))
				}
			}
			guard := bytes.Clone(dst[2*n:])
			Widen(dst[:2*n], near, far)
			sum := func(i int) int {
				i = min(max(i, 0), n-1)
				return 3*int(near[i]) + int(far[i])
			}
			for i := range n {
				even, odd := (3*sum(i)+sum(i-1)+8)/16, (3*sum(i)+sum(i+1)+7)/16
				if int(dst[2*i]) != even || int(dst[2*i+1]) != odd {
					t.Fatalf("n %d, value %d: %d and %d, want %d and %d", n, i, dst[2*i], dst[2*i+1], even, odd)
				}
			}
			if !bytes.Equal(dst[2*n:], guard) {
				t.Fatal("wrote past the end")
			}
		}
	})
}

// TestRGB compares all pairs of chroma, at levels of luma that clamp and that do not, with the formula; and lengths.
func TestRGB(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		const n = 1 << 16
		y, cb, cr, dst := make([]uint8, n), make([]uint8, n), make([]uint8, n), make([]uint8, 3*n)
		byteOf := func(v int64) uint8 { return uint8(min(max(v, 0), 255)) }
		for _, luma := range []int{0, 1, 80, 128, 200, 254, 255} {
			for i := range n {
				y[i], cb[i], cr[i] = uint8(luma), uint8(i), uint8(i>>8)
			}
			RGB(dst, y, cb, cr)
			for i := range n {
				b, r, v := int64(cb[i])-128, int64(cr[i])-128, int64(luma)
				want := [3]uint8{byteOf(v + (91881*r+32768)>>16), byteOf(v + (-22554*b-46802*r+32768)>>16),
					byteOf(v + (116130*b+32768)>>16)}
				if [3]uint8(dst[3*i:]) != want {
					t.Fatalf("%d, %d, %d: %v, want %v", luma, b, r, dst[3*i:3*i+3], want)
				}
			}
		}
		rng := rand.New(rand.NewPCG(8, 8))
		for n := range 60 {
			y, cb, cr := octets(rng, n), octets(rng, n), octets(rng, n)
			dst := octets(rng, 3*n+3)
			guard := bytes.Clone(dst[3*n:])
			RGB(dst[:3*n], y, cb, cr)
			one := make([]uint8, 3)
			for i := range n {
				if RGB(one, y[i:i+1], cb[i:], cr[i:]); !bytes.Equal(one, dst[3*i:3*i+3]) {
					t.Fatalf("n %d, pixel %d: %v, want %v", n, i, dst[3*i:3*i+3], one)
				}
			}
			if !bytes.Equal(dst[3*n:], guard) {
				t.Fatal("wrote past the end")
			}
		}
	})
}
