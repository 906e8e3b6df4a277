package imaging

import (
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/internal/base/spell"
	"github.com/kindred-ml/kindred/internal/kernel/pix"
)

// Filter is the kernel of a resampling. Its text form is "bilinear" or "bicubic".
type Filter uint8

// Bilinear is a triangle of half-width 1. Bicubic is Keys' cubic with a = -0.5 and half-width 2.
// When an image shrinks by a factor s, both are widened by s (antialiasing), as in PIL and in
// torchvision with antialias=True.
const (
	Bilinear Filter = iota
	Bicubic
)

var filters = spell.Of[Filter]("Filter", "filter", "bilinear", "bicubic")

// String gives the text of f.
func (f Filter) String() string { return filters.Name(f) }

// MarshalText gives the text of f.
func (f Filter) MarshalText() ([]byte, error) { return filters.Text(f) }

// UnmarshalText reads the text of a Filter.
func (f *Filter) UnmarshalText(text []byte) error { return filters.Set(f, text) }

func (f Filter) support() float64 {
	if f == Bicubic {
		return 2
	}
	return 1
}

func (f Filter) at(x float64) float64 {
	x = math.Abs(x)
	if f == Bilinear {
		return max(0, 1-x)
	}
	const a = -0.5
	switch {
	case x < 1:
		return ((a+2)*x-(a+3))*x*x + 1
	case x < 2:
		return ((a*x-5*a)*x+8*a)*x - 4*a
	}
	return 0
}

// Box is a rectangle of an image in pixels. Pixel i covers [i, i+1).
type Box struct{ X0, Y0, X1, Y1 float64 }

// Resizer resamples images. It keeps its buffers and weights between calls, and is for one
// goroutine. The zero value is ready to use.
type Resizer struct {
	Filter Filter

	x, y      axis
	middle    []float32
	last      []uint8
	row       []float32
	one, zero []float32
}

// axis holds the weights of one direction. Output i is the sum of
// weights[i*taps+k] * input[first[i]+step*k] for k < taps.
type axis struct {
	key     axisKey
	taps    int
	first   []int32
	weights []float32
}

// axisKey identifies the sizes that an axis was computed for.
type axisKey struct {
	in, out, step int
	lo, hi        float64
	filter        Filter
	mirror        bool
}

// set computes the weights.
func (a *axis) set(key axisKey) {
	if a.key == key {
		return
	}
	a.key = key
	in, out := key.in, key.out
	scale := (key.hi - key.lo) / float64(out)
	stretch := max(scale, 1)
	support := key.filter.support() * stretch
	still := key.lo == 0 && key.hi == float64(in) && in == out
	// window returns the first and last input pixel of output i, and its centre.
	window := func(i int) (lo, hi int, center float64) {
		if still {
			return i, i, float64(i) + 0.5 // every pixel stays where it is
		}
		center = key.lo + (float64(i)+0.5)*scale
		lo = max(int(math.Ceil(center-support-0.5)), 0)
		return lo, min(int(math.Floor(center+support-0.5)), in-1), center
	}
	a.taps = 1
	for i := range out {
		lo, hi, _ := window(i)
		a.taps = max(a.taps, hi-lo+1)
	}
	a.first, a.weights = grow(a.first, out), grow(a.weights, out*a.taps)
	clear(a.weights)
	for i := range out {
		lo, hi, center := window(i)
		// All windows have the same length, so windows near the far edge start earlier.
		first := min(lo, in-a.taps)
		at := i
		if key.mirror {
			at = out - 1 - i
		}
		w := a.weights[at*a.taps : (at+1)*a.taps]
		sum := 0.0
		for k := lo; k <= hi; k++ {
			sum += key.filter.at((float64(k) + 0.5 - center) / stretch)
		}
		for k := lo; k <= hi; k++ {
			w[k-first] = float32(key.filter.at((float64(k)+0.5-center)/stretch) / sum)
		}
		a.first[at] = int32(key.step * first)
	}
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// Resize resamples box of src to w x h pixels into dst, whose memory is reused, and rounds to 8
// bits. dst and src must be different images. It panics if the box is empty or leaves the image.
func (r *Resizer) Resize(dst, src *Image, box Box, w, h int) {
	dst.Reset(w, h, src.C)
	line := w * src.C
	r.prepare(src, box, w, h, false)
	r.row, r.one, r.zero = grow(r.row, line), grow(r.one, line), grow(r.zero, line)
	for i := range line {
		r.one[i], r.zero[i] = 1, 0.5
	}
	for y := range h {
		r.blend(r.row, y, r.one, r.zero)
		out := dst.Row(y)
		for i, v := range r.row {
			out[i] = uint8(v)
		}
	}
}

// resample resamples box of src to w x h pixels, possibly mirrored, and writes a*v + b for the
// values v from 0 to 255. a and b have an element for each value of a row.
func (r *Resizer) resample(dst []float32, src *Image, box Box, w, h int, mirror bool, a, b []float32) {
	r.prepare(src, box, w, h, mirror)
	line := w * src.C
	for y := range h {
		r.blend(dst[y*line:(y+1)*line], y, a, b)
	}
}

// prepare runs the horizontal pass over the rows that the vertical pass needs.
func (r *Resizer) prepare(src *Image, box Box, w, h int, mirror bool) {
	if !(box.X0 >= 0 && box.Y0 >= 0 && box.X1 <= float64(src.W) && box.Y1 <= float64(src.H) && box.X0 < box.X1 &&
		box.Y0 < box.Y1) || w < 1 || h < 1 {
		panic(fmt.Sprintf("imaging: resize %v of a %d x %d image to %d x %d", box, src.W, src.H, w, h))
	}
	r.x.set(axisKey{src.W, w, src.C, box.X0, box.X1, r.Filter, mirror})
	r.y.set(axisKey{src.H, h, 1, box.Y0, box.Y1, r.Filter, false})
	line := w * src.C
	top, bottom := r.rows()
	r.middle = grow(r.middle, (bottom-top)*line+1)
	for y := top; y < bottom; y++ {
		out := r.middle[(y-top)*line:]
		if src.C == 1 {
			r.x.grey(out[:line], src.Row(y))
			continue
		}
		in := src.Pix[3*src.W*y:]
		if y == src.H-1 { // the one row with nothing after it
			r.last = append(append(r.last[:0], in...), 0)
			in = r.last
		}
		pix.Gather(out[:line+1], in, r.x.first, r.x.weights, r.x.taps)
	}
}

// rows returns the range of input rows that the vertical pass reads.
func (r *Resizer) rows() (top, bottom int) {
	return int(r.y.first[0]), int(r.y.first[r.y.key.out-1]) + r.y.taps
}

// blend computes output row y.
func (r *Resizer) blend(dst []float32, y int, a, b []float32) {
	top := int(r.y.first[0])
	src := r.middle[(int(r.y.first[y])-top)*len(dst):]
	pix.Blend(dst, src, len(dst), r.y.weights[y*r.y.taps:(y+1)*r.y.taps], a, b)
}

// grey is the horizontal pass of one channel.
func (a *axis) grey(dst []float32, src []uint8) {
	for i := range dst {
		w := a.weights[i*a.taps : (i+1)*a.taps]
		s := src[a.first[i]:][:len(w)]
		var sum float32
		for k, wk := range w {
			sum += wk * float32(s[k])
		}
		dst[i] = sum
	}
}
