package prepare

import (
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/kernel/pix"
)

// Box is a rectangle of an image in pixels. Pixel i covers [i, i+1).
type Box struct{ X0, Y0, X1, Y1 float64 }

// view is what becomes a result: the box of an image is resized to w x h pixels, and the result is cut out of them
// from pixel (x, y) on.
type view struct {
	box  Box
	w, h int
	x, y int
}

// Resizer resamples images. It keeps its buffers and weights between calls, and is for one
// goroutine. The zero value is ready to use.
type Resizer struct {
	Filter Filter
	// Rounded makes the resampling Pillow's, bit by bit: the horizontal pass, then the vertical one, each rounded to
	// 8 bits, with weights in fixed point. Without it, values are rounded at the end alone.
	Rounded bool

	x, y      axis
	middle    []float32
	rounded   []uint8 // the result of the horizontal pass, in place of middle
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
	exact   []float64
	weights []float32
	fixed   []int32 // the weights in fixed point, for Resizer.Rounded
}

// axisKey identifies the sizes that an axis was computed for: the range from lo to hi of in input pixels is resized to
// whole pixels, and out of them from the first one are computed.
type axisKey struct {
	in, step          int
	lo, hi            float64
	whole, first, out int
	filter            Filter
	mirror, rounded   bool
}

// window returns the input pixels, from lo to below hi, and the centre of a pixel of the whole output.
func (k *axisKey) window(i int) (lo, hi int, center float64) {
	if k.lo == 0 && k.hi == float64(k.in) && k.in == k.whole {
		return i, i + 1, float64(i) + 0.5 // every pixel stays where it is
	}
	scale := (k.hi - k.lo) / float64(k.whole)
	center = k.lo + (float64(i)+0.5)*scale
	if k.filter == Nearest {
		center = k.lo + 0.5*scale
		for range i { // Pillow adds up the steps
			center += scale
		}
		lo = min(int(center), k.in-1)
		return lo, lo + 1, float64(lo) + 0.5
	}
	support := k.filter.support() * max(scale, 1)
	return max(int(center-support+0.5), 0), min(int(center+support+0.5), k.in), center
}

// computeWeights computes the weights.
func (a *axis) computeWeights(key axisKey) {
	if a.key == key {
		return
	}
	a.key = key
	a.taps = 1
	for i := range key.out {
		lo, hi, _ := key.window(key.first + i)
		a.taps = max(a.taps, hi-lo)
	}
	a.first, a.exact = grow(a.first, key.out), grow(a.exact, key.out*a.taps)
	clear(a.exact)
	narrow := 1 / max((key.hi-key.lo)/float64(key.whole), 1)
	for i := range key.out {
		lo, hi, center := key.window(key.first + i)
		// All windows have the same length, so windows near the far edge start earlier.
		first := min(lo, key.in-a.taps)
		at := i
		if key.mirror {
			at = key.out - 1 - i
		}
		a.first[at] = int32(key.step * first)
		w := a.exact[at*a.taps+lo-first:][:hi-lo]
		sum := 0.0
		for k := range w {
			w[k] = key.filter.kernel((float64(lo+k) - center + 0.5) * narrow)
			sum += w[k]
		}
		for k := range w {
			w[k] *= 1 / sum
		}
	}
	if key.rounded {
		a.fixed = grow(a.fixed, len(a.exact))
		for i, w := range a.exact {
			a.fixed[i] = int32(math.Round(w * (1 << pix.Precision)))
		}
		return
	}
	a.weights = grow(a.weights, len(a.exact))
	for i, w := range a.exact {
		a.weights[i] = float32(w)
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
func (r *Resizer) Resize(dst, src *imaging.Image, box Box, w, h int) {
	dst.Reset(w, h, src.C)
	v := view{box: box, w: w, h: h}
	if r.Rounded {
		r.resampleRounded(dst.Pix, src, v, w, h, false)
		return
	}
	line := w * src.C
	r.prepare(src, v, w, h, false)
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

// resample resamples w x h pixels of a view of src, possibly mirrored, and writes a*v + b for the
// values v from 0 to 255. a and b have an element for each value of a row.
func (r *Resizer) resample(dst []float32, src *imaging.Image, v view, w, h int, mirror bool, a, b []float32) {
	r.prepare(src, v, w, h, mirror)
	line := w * src.C
	for y := range h {
		r.blend(dst[y*line:(y+1)*line], y, a, b)
	}
}

// resampleRounded resamples w x h pixels of a view of src as Resizer.Rounded says, possibly mirrored.
func (r *Resizer) resampleRounded(dst []uint8, src *imaging.Image, v view, w, h int, mirror bool) {
	r.setAxes(src, v, w, h, mirror)
	line := w * src.C
	top, bottom := r.rows()
	r.rounded = grow(r.rounded, (bottom-top)*line+1)
	for y := top; y < bottom; y++ {
		out := r.rounded[(y-top)*line:]
		if src.C == 1 {
			r.x.resampleGreyFixed(out[:line], src.Row(y))
			continue
		}
		pix.GatherFixed(out[:line+1], r.pixels(src, y), r.x.first, r.x.fixed, r.x.taps)
	}
	for y := range h {
		rows := r.rounded[(int(r.y.first[y])-top)*line:]
		pix.BlendFixed(dst[y*line:(y+1)*line], rows, line, r.y.fixed[y*r.y.taps:(y+1)*r.y.taps])
	}
}

// setAxes computes the weights of both directions.
func (r *Resizer) setAxes(src *imaging.Image, v view, w, h int, mirror bool) {
	box := v.box
	if !(box.X0 >= 0 && box.Y0 >= 0 && box.X1 <= float64(src.W) && box.Y1 <= float64(src.H) && box.X0 < box.X1 &&
		box.Y0 < box.Y1) || w < 1 || h < 1 {
		panic(fmt.Sprintf("imaging: resize %v of a %d x %d image to %d x %d", box, src.W, src.H, w, h))
	}
	r.x.computeWeights(axisKey{in: src.W, step: src.C, lo: box.X0, hi: box.X1, whole: v.w, first: v.x, out: w,
		filter: r.Filter, mirror: mirror, rounded: r.Rounded})
	r.y.computeWeights(axisKey{in: src.H, step: 1, lo: box.Y0, hi: box.Y1, whole: v.h, first: v.y, out: h,
		filter: r.Filter, rounded: r.Rounded})
}

// pixels returns row y of a picture of three channels, with a byte after its last pixel.
func (r *Resizer) pixels(src *imaging.Image, y int) []uint8 {
	in := src.Pix[3*src.W*y:]
	if y == src.H-1 { // the one row with nothing after it
		r.last = append(append(r.last[:0], in...), 0)
		in = r.last
	}
	return in
}

// prepare runs the horizontal pass over the rows that the vertical pass needs.
func (r *Resizer) prepare(src *imaging.Image, v view, w, h int, mirror bool) {
	r.setAxes(src, v, w, h, mirror)
	line := w * src.C
	top, bottom := r.rows()
	r.middle = grow(r.middle, (bottom-top)*line+1)
	for y := top; y < bottom; y++ {
		out := r.middle[(y-top)*line:]
		if src.C == 1 {
			r.x.resampleGrey(out[:line], src.Row(y))
			continue
		}
		pix.Gather(out[:line+1], r.pixels(src, y), r.x.first, r.x.weights, r.x.taps)
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

// resampleGrey is the horizontal pass of one channel.
func (a *axis) resampleGrey(dst []float32, src []uint8) {
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

// resampleGreyFixed is grey with weights in fixed point.
func (a *axis) resampleGreyFixed(dst, src []uint8) {
	for i := range dst {
		w := a.fixed[i*a.taps : (i+1)*a.taps]
		s := src[a.first[i]:][:len(w)]
		var sum int32
		for k, wk := range w {
			sum += wk * int32(s[k])
		}
		dst[i] = pix.Fixed(sum)
	}
}
