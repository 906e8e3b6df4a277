package colourspace

import (
	"math"
	"slices"
	"testing"
)

// Each case converts white, black, the corners and some colours by the formulas of the standards in float64.
func TestFromH273(t *testing.T) {
	for primaries := range 24 {
		for transfer := range 20 {
			s, err := FromH273(primaries, transfer)
			if err != nil {
				continue
			}
			white := [3]float64{}
			for i, row := range s.ToSRGB {
				for _, v := range row {
					white[i] += v
				}
			}
			for _, v := range white {
				if math.Abs(v-1) > 2e-3 {
					t.Errorf("primaries %d: white becomes %v", primaries, white)
				}
			}
			if c := NewConverter(s); c != nil {
				p := []uint8{255, 255, 255, 0, 0, 0}
				if c.Convert8(p, 3); p[0] < 254 || p[1] < 254 || p[2] < 254 || p[3]+p[4]+p[5] != 0 {
					t.Errorf("%d, %d: white and black become %v", primaries, transfer, p)
				}
			}
		}
	}
}

func TestSpacesThatStay(t *testing.T) {
	for _, c := range []struct {
		primaries, transfer int
		stays               bool
	}{{1, 13, true}, {2, 2, true}, {1, 1, true}, {5, 13, false}, {12, 13, false}, {9, 14, false}, {1, 8, false},
		{1, 4, false}} {
		s, err := FromH273(c.primaries, c.transfer)
		if err != nil {
			t.Fatal(err)
		}
		if is := NewConverter(s) == nil; is != c.stays {
			t.Errorf("%d, %d: stays is %v", c.primaries, c.transfer, is)
		}
	}
	for _, transfer := range []int{16, 18, 0, 3, 9, 255} {
		if _, err := FromH273(1, transfer); err == nil {
			t.Errorf("transfer %d is converted", transfer)
		}
	}
}

// Display P3, computed by the formulas: the inverse curve, the matrices of the primaries, and the curve.
func TestDisplayP3(t *testing.T) {
	s, err := FromH273(12, 13)
	if err != nil {
		t.Fatal(err)
	}
	// Published: linear Display P3 to linear sRGB.
	want := Matrix{{1.2249401763, -0.2249401763, 0}, {-0.0420569547, 1.0420569547, 0},
		{-0.0196375546, -0.0786360456, 1.0982736001}}
	for i := range want {
		for j := range want[i] {
			if math.Abs(s.ToSRGB[i][j]-want[i][j]) > 2e-4 {
				t.Errorf("matrix %d, %d is %v, want %v", i, j, s.ToSRGB[i][j], want[i][j])
			}
		}
	}
}

// Of four values the last is an alpha, which stays. Runs of equal colours are converted once.
func TestConvertAlpha(t *testing.T) {
	s, _ := FromH273(12, 13)
	c := NewConverter(s)
	p := []uint8{10, 200, 30, 7, 10, 200, 30, 0, 200, 10, 30, 255, 0, 0, 0, 1}
	q := slices.Clone(p)
	c.Convert8(q, 4)
	for i := 3; i < len(p); i += 4 {
		if p[i] != q[i] {
			t.Errorf("alpha %d became %d", p[i], q[i])
		}
	}
	if !slices.Equal(q[:3], q[4:7]) || slices.Equal(q[:3], p[:3]) || slices.Equal(q[8:11], p[8:11]) {
		t.Errorf("%v became %v", p, q)
	}
}

// A linear picture in 16 bits keeps its dark parts, which 8 bits cannot hold.
func TestConvertLinear16(t *testing.T) {
	s, _ := FromH273(1, 8)
	c := NewConverter(s)
	for v := range 256 {
		l := uint16(math.Round(SRGB(float64(v)/255) * 65535))
		p := []uint8{uint8(l >> 8), uint8(l), uint8(l >> 8), uint8(l), uint8(l >> 8), uint8(l)}
		c.Convert16(p, 3)
		got := math.Round((float64(p[0])*256 + float64(p[1])) / 257)
		if math.Abs(got-float64(v)) > 0.5 {
			t.Errorf("%d becomes %v", v, got)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, p := range []Primaries{{}, {XY{0.3, 0.3}, XY{0.3, 0.3}, XY{0.3, 0.3}, d65},
		{XY{0.64, 0}, XY{0.3, 0.6}, XY{0.15, 0.06}, d65}, {XY{math.NaN(), 0.3}, XY{0.3, 0.6}, XY{0.15, 0.06}, d65}} {
		if _, err := New(p, SRGB); err == nil {
			t.Errorf("%v is a space", p)
		}
	}
}
