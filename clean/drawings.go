package clean

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/matrix"
)

// IsDrawing reports whether a picture is a line drawing: fewer than half of the pixels are grey, of all
// pixels and of every other one.
// Then all pixels are compared with any part of any picture.
func (p *Fingerprint) IsDrawing() bool {
	return float64(p.allPixels.greys) < minGreyPixels(1) && float64(p.halfPixels.greys) < minGreyPixels(2)
}

// strokes holds the pixels of a picture that differ from its commonest grey.
type strokes struct {
	ground int
	pixels []stroke
}

type stroke struct {
	index      uint16
	difference int16 // difference from the commonest grey
}

func newStrokes(p *Fingerprint) *strokes {
	s := &strokes{}
	s.setPicture(p)
	return s
}

func (s *strokes) setPicture(p *Fingerprint) {
	var times [256]int
	for _, v := range p.grey {
		times[v]++
	}
	s.ground, s.pixels = slices.Index(times[:], slices.Max(times[:])), s.pixels[:0]
	for i, v := range p.grey {
		if by := int(v) - s.ground; by != 0 {
			s.pixels = append(s.pixels, stroke{uint16(i), int16(by)})
		}
	}
}

// correlation returns the correlation of two whole pictures, where p is the picture of these strokes. It
// has the same bits as function correlation, because all sums are of integers.
func (s *strokes) correlation(p, q *Fingerprint) float64 {
	if float64(min(p.allPixels.greys, q.allPixels.greys)) >= minGreyPixels(1) {
		return windowCorrelation(p, q, window{0, 0, side}, 1)
	}
	ab := s.ground * q.allPixels.sum
	for _, k := range s.pixels {
		ab += int(k.difference) * int(q.grey[k.index&(side*side-1)])
	}
	m := moments{side * side, float64(p.allPixels.sum), float64(q.allPixels.sum), float64(p.allPixels.squares),
		float64(q.allPixels.squares), float64(ab)}
	return m.correlation()
}

// centre writes every other pixel less an approximate mean, and returns the length of the exactly centred
// values.
func (p *Fingerprint) centre(dst []float32) float64 {
	const n = side * side / 4
	mean := uint8(p.halfPixels.sum / n)
	k := 0
	for v := 0; v < side; v += 2 {
		row := p.grey[v*side : (v+1)*side]
		for u := 0; u < side; u += 2 {
			dst[k] = float32(row[u]) - float32(mean)
			k++
		}
	}
	return math.Sqrt(float64(p.halfPixels.squares) - float64(p.halfPixels.sum)*float64(p.halfPixels.sum)/n)
}

// Largest errors of correlations: on every other pixel by a float32 product of 256 terms, and on all
// pixels by float32 values of a window, summed in float64.
const (
	coarseSlack = 3e-5
	fineSlack   = 4e-6
)

// windowViews are windows of a picture, centred and of length 1, so that the product with a picture is the
// correlation.
type windowViews struct {
	picture *Fingerprint
	ready   bool
	windows []window
	coarse  *matrix.Dense // views on every other pixel, a row for each of begin
	// fine are views on all pixels, made when they are needed, and at maps windows to them. flat has
	// the windows with hardly any content.
	fine      [][side * side]float32
	flat      []bool
	fineIndex map[uint32]int
	ink       strokes // strokes of the searched picture
}

func newWindowViews(begin []window) windowViews {
	return windowViews{windows: begin, coarse: matrix.New(len(begin), side*side/4), fineIndex: map[uint32]int{}}
}

// prepare makes the views on every other pixel, once for a picture.
func (v *windowViews) prepare() {
	if v.ready {
		return
	}
	v.ready = true
	v.reset()
	var buffer [side * side]float64
	for r, w := range v.windows {
		shown := sampleWindow(&buffer, v.picture, w, 2)
		normalizeInto(v.coarse.Row(r), shown)
	}
}

func (v *windowViews) reset() {
	clear(v.fineIndex)
	v.fine, v.flat = v.fine[:0], v.flat[:0]
}

// normalizeInto writes centred numbers divided by their length, and returns the length.
func normalizeInto(dst []float32, of []float64) float64 {
	var mean, length float64
	for _, q := range of {
		mean += q
	}
	mean /= float64(len(of))
	for _, q := range of {
		length += (q - mean) * (q - mean)
	}
	length = math.Sqrt(length)
	scale := 0.0
	if length > 0 {
		scale = 1 / length
	}
	for k, q := range of {
		dst[k] = float32((q - mean) * scale)
	}
	return length
}

// maxFineViews is the largest number of kept views, which take 16 MiB.
const maxFineViews = 4096

// view returns the view of a window, and whether it has content. The window's corner and side are multiples
// of an eighth.
func (v *windowViews) view(w window) (*[side * side]float32, bool) {
	key := uint32(8*w.x)<<20 | uint32(8*w.y)<<10 | uint32(8*w.side)
	k, ok := v.fineIndex[key]
	if !ok {
		if len(v.fine) == maxFineViews {
			v.reset()
		}
		k = len(v.fine)
		v.fineIndex[key] = k
		v.fine = slices.Grow(v.fine, 1)[:k+1]
		var buffer [side * side]float64
		length := normalizeInto(v.fine[k][:], sampleWindow(&buffer, v.picture, w, 1))
		v.flat = append(v.flat, length < 1)
	}
	return &v.fine[k], !v.flat[k]
}

// search is function search for a drawing p. scores are its products with the coarse views, which must be
// divided by length. It returns 0 for a correlation below alike.
func (v *windowViews) search(p *Fingerprint, scores []float32, length float64) (float64, window) {
	if length == 0 {
		return searchWindows(p, v.picture, v.windows)
	}
	top := float64(slices.Max(scores)) / length
	if top < promisingCorrelation-coarseSlack {
		return 0, window{}
	}
	// Take the first of the best, and compare exact values if several may be the best.
	near := float32((top - 2*coarseSlack) * length)
	var best window
	exact := math.Inf(-1)
	for k, s := range scores {
		if s < near {
			continue
		}
		if c := windowCorrelation(p, v.picture, v.windows[k], 2); c > exact {
			best, exact = v.windows[k], c
		}
	}
	if exact < promisingCorrelation {
		return 0, best
	}
	v.ink.setPicture(p)
	size := math.Sqrt(float64(p.allPixels.squares) - float64(p.allPixels.sum)*float64(p.allPixels.sum)/(side*side))
	now, sure := v.correlation(best, size)
	best = climbWindow(best, func(at, w window) bool {
		c, certain := v.correlation(w, size)
		better := c > now
		if !sure || !certain || math.Abs(c-now) <= fineSlack {
			better = windowCorrelation(p, v.picture, w, 1) > windowCorrelation(p, v.picture, at, 1)
		}
		if better {
			now, sure = c, certain
		}
		return better
	})
	if sure && now < minCopyCorrelation-fineSlack {
		return 0, best
	}
	if c := windowCorrelation(p, v.picture, best, 1); c >= minCopyCorrelation {
		return c, best
	}
	return 0, best
}

// correlation returns the correlation of the searched picture with a window, and whether it can be used.
func (v *windowViews) correlation(w window, size float64) (c float64, sure bool) {
	view, sure := v.view(w)
	for _, k := range v.ink.pixels {
		c += float64(k.difference) * float64(view[k.index&(side*side-1)])
	}
	return c / size, sure
}
