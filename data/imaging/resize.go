package imaging

import (
	"fmt"
	"math"
)

// Filter is the kernel of a resampling.
type Filter int

// Filters. Bilinear is a triangle of half-width 1, Bicubic Keys' cubic with
// a = -0.5 and half-width 2; when an image shrinks by a factor s both are
// widened by s (antialiasing), which is what PIL and torchvision's
// antialias=True do.
const (
	Bilinear Filter = iota
	Bicubic
)

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

// Box is a rectangle of an image in pixels; pixel i covers [i, i+1).
type Box struct{ X0, Y0, X1, Y1 float64 }

// Resizer resamples images. It keeps its buffers and weights between calls; one
// Resizer serves one goroutine. The zero value is ready.
type Resizer struct {
	Filter Filter

	x, y   axis
	middle []uint8
	sums   []int32
}

// precision is the number of fractional bits of the fixed-point weights: 8 bits
// of pixel, 22 of weight and a sign, and room for an overshoot, fill an int32.
const precision = 22

// axis holds the weights of one direction: output i is the sum of
// weights[i*width+k] * input[first[i]+k] for k < count[i], in fixed point.
type axis struct {
	in, out int
	lo, hi  float64
	filter  Filter
	ready   bool

	width   int
	first   []int
	count   []int
	weights []int32
}

// set computes the weights that take [lo, hi) of in pixels to out pixels.
func (a *axis) set(in, out int, lo, hi float64, f Filter) {
	if a.ready && a.in == in && a.out == out && a.lo == lo && a.hi == hi && a.filter == f {
		return
	}
	*a = axis{in: in, out: out, lo: lo, hi: hi, filter: f, ready: true,
		first: grow(a.first, out), count: grow(a.count, out), weights: a.weights[:0]}
	scale := (hi - lo) / float64(out)
	stretch := max(scale, 1)
	support := f.support() * stretch
	a.width = int(math.Ceil(support))*2 + 1
	a.weights = grow(a.weights, out*a.width)
	clear(a.weights)
	w := make([]float64, a.width)
	for i := range out {
		center := lo + (float64(i)+0.5)*scale
		first := max(int(center-support+0.5), 0)
		last := min(int(center+support+0.5), in)
		if last <= first { // a sliver between two pixel centres
			first = min(max(int(center), 0), in-1)
			last = first + 1
		}
		sum := 0.0
		for k := first; k < last; k++ {
			w[k-first] = f.at((float64(k) + 0.5 - center) / stretch)
			sum += w[k-first]
		}
		if sum == 0 {
			w[0], sum, last = 1, 1, first+1
		}
		a.first[i], a.count[i] = first, last-first
		for k := range last - first {
			a.weights[i*a.width+k] = int32(math.Round(w[k] / sum * (1 << precision)))
		}
	}
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// Resize resamples box of src to w x h pixels into dst, whose memory is reused.
// The horizontal pass runs first and is rounded to 8 bits between the passes, as
// in PIL, so that results agree with it to one grey level. dst and src must be
// different images. It panics if the box is empty or leaves the image.
func (r *Resizer) Resize(dst, src *Image, box Box, w, h int) {
	if !(box.X0 >= 0 && box.Y0 >= 0 && box.X1 <= float64(src.W) && box.Y1 <= float64(src.H) && box.X0 < box.X1 && box.Y0 < box.Y1) || w < 1 || h < 1 {
		panic(fmt.Sprintf("imaging: resize %v of a %d x %d image to %d x %d", box, src.W, src.H, w, h))
	}
	dst.Reset(w, h, src.C)
	r.x.set(src.W, w, box.X0, box.X1, r.Filter)
	r.y.set(src.H, h, box.Y0, box.Y1, r.Filter)
	// Only the rows that the vertical pass reads are resampled horizontally.
	top := r.y.first[0]
	bottom := r.y.first[h-1] + r.y.count[h-1]
	line := w * src.C
	r.middle = grow(r.middle, (bottom-top)*line)
	for y := top; y < bottom; y++ {
		out := r.middle[(y-top)*line : (y-top+1)*line]
		if src.C == 1 {
			r.x.row1(out, src.Row(y))
		} else {
			r.x.row3(out, src.Row(y))
		}
	}
	r.sums = grow(r.sums, line)
	for y := range h {
		wts := r.y.weights[y*r.y.width : y*r.y.width+r.y.count[y]]
		column(dst.Row(y), r.middle[(r.y.first[y]-top)*line:], wts, r.sums)
	}
}

func (a *axis) row1(dst, src []uint8) {
	for i := range dst {
		w := a.weights[i*a.width:][:a.count[i]]
		s := src[a.first[i]:][:len(w)]
		sum := int32(1 << (precision - 1))
		for k, wk := range w {
			sum += wk * int32(s[k])
		}
		dst[i] = clip(sum)
	}
}

func (a *axis) row3(dst, src []uint8) {
	for i := range a.out {
		w := a.weights[i*a.width:][:a.count[i]]
		s := src[3*a.first[i]:][:3*len(w)]
		r, g, b := int32(1<<(precision-1)), int32(1<<(precision-1)), int32(1<<(precision-1))
		for _, wk := range w {
			r += wk * int32(s[0])
			g += wk * int32(s[1])
			b += wk * int32(s[2])
			s = s[3:]
		}
		d := dst[3*i : 3*i+3 : 3*i+3]
		d[0], d[1], d[2] = clip(r), clip(g), clip(b)
	}
}

// column writes one output row: the weighted sum of consecutive rows of src.
func column(dst, src []uint8, w []int32, sums []int32) {
	n := len(dst)
	sums = sums[:n]
	for i := range sums {
		sums[i] = 1 << (precision - 1)
	}
	for k, wk := range w {
		row := src[k*n : k*n+n]
		for i, v := range row {
			sums[i] += wk * int32(v)
		}
	}
	for i, s := range sums {
		dst[i] = clip(s)
	}
}

func clip(v int32) uint8 {
	v >>= precision
	if uint32(v) > 255 {
		if v < 0 {
			return 0
		}
		return 255
	}
	return uint8(v)
}
