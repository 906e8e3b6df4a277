package prepare

import (
	"math"

	"github.com/kindred-ml/kindred/internal/base/enum"
)

// Filter is the kernel of a resampling. Its text form is "bilinear", "bicubic", "lanczos", "hamming", "box" or
// "nearest". The kernels are Pillow's:
//
//	Bilinear  1 - |x|, for |x| < 1
//	Bicubic   Keys' cubic with a = -0.5, for |x| < 2
//	Lanczos   sinc(x) sinc(x/3), for |x| < 3
//	Hamming   sinc(x) (0.54 + 0.46 cos(pi x)), for |x| < 1
//	Box       1, for -0.5 < x <= 0.5
//	Nearest   the one pixel at the centre
//
// When an image shrinks by a factor s, all but Nearest are widened by s (antialiasing), as in Pillow and in
// torchvision with antialias=True.
type Filter uint8

// The filters.
const (
	Bilinear Filter = iota
	Bicubic
	Lanczos
	Hamming
	BoxFilter
	Nearest
)

var filters = enum.New[Filter]("Filter", "filter", Filters()...)

// Filters returns the text forms of the filters.
func Filters() []string {
	return []string{"bilinear", "bicubic", "lanczos", "hamming", "box", "nearest"}
}

// String gives the text of f.
func (f Filter) String() string { return filters.Name(f) }

// MarshalText gives the text of f.
func (f Filter) MarshalText() ([]byte, error) { return filters.Marshal(f) }

// UnmarshalText reads the text of a Filter.
func (f *Filter) UnmarshalText(text []byte) error { return filters.Unmarshal(f, text) }

// support returns the half-width of the kernel.
func (f Filter) support() float64 {
	switch f {
	case Bicubic:
		return 2
	case Lanczos:
		return 3
	case BoxFilter:
		return 0.5
	}
	return 1
}

// kernel returns the kernel's value. The operations are in Pillow's order, so that weights have the same bits.
func (f Filter) kernel(x float64) float64 {
	switch f {
	case Lanczos:
		if x < -3 || x >= 3 {
			return 0
		}
		return sinc(x) * sinc(x/3)
	case BoxFilter:
		if x <= -0.5 || x > 0.5 {
			return 0
		}
		return 1
	}
	x = math.Abs(x)
	const a = -0.5
	switch {
	case x >= f.support():
		return 0
	case f == Bilinear:
		return 1 - x
	case f == Hamming:
		return sinc(x) * (0.54 + 0.46*math.Cos(math.Pi*x))
	case x < 1:
		return ((a+2)*x-(a+3))*x*x + 1
	}
	return (((x-5)*x+8)*x - 4) * a
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	x *= math.Pi
	return math.Sin(x) / x
}
