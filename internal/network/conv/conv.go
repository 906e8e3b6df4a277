// Package conv holds the convolutions of the training engine: channels-last
// activations, filters stored [K][R][S][C/Groups].
package conv

import "fmt"

// Shape describes a two-dimensional convolution.
type Shape struct {
	N, H, W, C       int // input: images, height, width, channels
	K, R, S          int // filters, their height and width
	StrideH, StrideW int // at least 1
	PadH, PadW       int // zeros added on both sides
	EndH, EndW       int // and beside those at the bottom and on the right alone
	Groups           int // at least 1; divides C and K
	Half             Halves
}

// Halves says which activations and gradients of a convolution are bfloat16, two to a
// float32 of the slices that hold them. They may be where Rounds holds.
type Halves struct{ X, DX, Y, DY bool }

// OutH is the height of the output.
func (s *Shape) OutH() int { return (s.H+2*s.PadH+s.EndH-s.R)/s.StrideH + 1 }

// OutW is the width of the output.
func (s *Shape) OutW() int { return (s.W+2*s.PadW+s.EndW-s.S)/s.StrideW + 1 }

// Check reports a shape that cannot be computed.
func (s *Shape) Check() error {
	switch {
	case s.N < 0 || s.H < 1 || s.W < 1 || s.C < 1 || s.K < 1 || s.R < 1 || s.S < 1:
		return fmt.Errorf("sizes must be positive: %+v", *s)
	case s.StrideH < 1 || s.StrideW < 1 || s.PadH < 0 || s.PadW < 0 || s.EndH < 0 || s.EndW < 0:
		return fmt.Errorf("stride must be at least 1 and padding at least 0: %+v", *s)
	case s.Groups < 1 || s.C%s.Groups != 0 || s.K%s.Groups != 0:
		return fmt.Errorf("%d groups do not divide %d input and %d output channels", s.Groups, s.C, s.K)
	case s.R > s.H+2*s.PadH+s.EndH || s.S > s.W+2*s.PadW+s.EndW:
		return fmt.Errorf("a %d x %d kernel is larger than its padded %d x %d input", s.R, s.S,
			s.H+2*s.PadH+s.EndH, s.W+2*s.PadW+s.EndW)
	}
	return nil
}
