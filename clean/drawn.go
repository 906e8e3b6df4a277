package clean

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/matrix"
)

// Drawn reports whether a picture is a line drawing: fewer than half of the pixels are grey, of all pixels and of every
// other one.
// Then all pixels are compared with any part of any picture.
func (p *Print) Drawn() bool {
	return float64(p.whole.greys) < enough(1) && float64(p.half.greys) < enough(2)
}

// strokes holds the pixels of a picture that differ from its commonest grey.
type strokes struct {
	ground int
	pixels []stroke
}

type stroke struct {
	at uint16
	by int16 // difference from the commonest grey
}

func strokesOf(p *Print) *strokes {
	s := &strokes{}
	s.read(p)
	return s
}

func (s *strokes) read(p *Print) {
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
func (s *strokes) correlation(p, q *Print) float64 {
	if float64(min(p.whole.greys, q.whole.greys)) >= enough(1) {
		return correlation(p, q, window{0, 0, side}, 1)
	}
	ab := s.ground * q.whole.sum
	for _, k := range s.pixels {
		ab += int(k.by) * int(q.grey[k.at&(side*side-1)])
	}
	m := moments{side * side, float64(p.whole.sum), float64(q.whole.sum), float64(p.whole.squares),
		float64(q.whole.squares), float64(ab)}
	return m.correlation()
}

// centred writes every other pixel less an approximate mean, and returns the length of the exactly centred
// values.
func (p *Print) centred(dst []float32) float64 {
	const n = side * side / 4
	mean := uint8(p.half.sum / n)
	k := 0
	for v := 0; v < side; v += 2 {
		row := p.grey[v*side : (v+1)*side]
		for u := 0; u < side; u += 2 {
			dst[k] = float32(row[u]) - float32(mean)
			k++
		}
	}
	return math.Sqrt(float64(p.half.squares) - float64(p.half.sum)*float64(p.half.sum)/n)
}

// Largest errors of correlations: on every other pixel by a float32 product of 256 terms, and on all
// pixels by float32 values of a window, summed in float64.
const (
	coarseSlack = 3e-5
	fineSlack   = 4e-6
)

// views are windows of a picture, centred and of length 1, so that the product with a picture is the
// correlation.
type views struct {
	of     *Print
	ready  bool
	begin  []window
	coarse *matrix.Dense // views on every other pixel, a row for each of begin
	// fine are views on all pixels, made when they are needed, and at maps windows to them. flat has
	// the windows with hardly any content.
	fine [][side * side]float32
	flat []bool
	at   map[uint32]int
	ink  strokes // strokes of the searched picture
}

func newViews(begin []window) views {
	return views{begin: begin, coarse: matrix.New(len(begin), side*side/4), at: map[uint32]int{}}
}

// prepare makes the views on every other pixel, once for a picture.
func (v *views) prepare() {
	if v.ready {
		return
	}
	v.ready = true
	v.forget()
	var buffer [side * side]float64
	for r, w := range v.begin {
		shown := sample(&buffer, v.of, w, 2)
		unit(v.coarse.Row(r), shown)
	}
}

func (v *views) forget() {
	clear(v.at)
	v.fine, v.flat = v.fine[:0], v.flat[:0]
}

// unit writes centred numbers divided by their length, and returns the length.
func unit(dst []float32, of []float64) float64 {
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

// mostFine is the largest number of kept views, which take 16 MiB.
const mostFine = 4096

// view returns the view of a window, and whether it has content. The window's corner and side are multiples
// of an eighth.
func (v *views) view(w window) (*[side * side]float32, bool) {
	key := uint32(8*w.x)<<20 | uint32(8*w.y)<<10 | uint32(8*w.side)
	k, ok := v.at[key]
	if !ok {
		if len(v.fine) == mostFine {
			v.forget()
		}
		k = len(v.fine)
		v.at[key] = k
		v.fine = slices.Grow(v.fine, 1)[:k+1]
		var buffer [side * side]float64
		length := unit(v.fine[k][:], sample(&buffer, v.of, w, 1))
		v.flat = append(v.flat, length < 1)
	}
	return &v.fine[k], !v.flat[k]
}

// search is function search for a drawing p. scores are its products with the coarse views, which must be
// divided by length. It returns 0 for a correlation below alike.
func (v *views) search(p *Print, scores []float32, length float64) (float64, window) {
	if length == 0 {
		return search(p, v.of, v.begin)
	}
	top := float64(slices.Max(scores)) / length
	if top < promising-coarseSlack {
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
		if c := correlation(p, v.of, v.begin[k], 2); c > exact {
			best, exact = v.begin[k], c
		}
	}
	if exact < promising {
		return 0, best
	}
	v.ink.read(p)
	size := math.Sqrt(float64(p.whole.squares) - float64(p.whole.sum)*float64(p.whole.sum)/(side*side))
	now, sure := v.correlation(best, size)
	best = climb(best, func(at, w window) bool {
		c, certain := v.correlation(w, size)
		better := c > now
		if !sure || !certain || math.Abs(c-now) <= fineSlack {
			better = correlation(p, v.of, w, 1) > correlation(p, v.of, at, 1)
		}
		if better {
			now, sure = c, certain
		}
		return better
	})
	if sure && now < alike-fineSlack {
		return 0, best
	}
	if c := correlation(p, v.of, best, 1); c >= alike {
		return c, best
	}
	return 0, best
}

// correlation returns the correlation of the searched picture with a window, and whether it can be used.
func (v *views) correlation(w window, size float64) (c float64, sure bool) {
	view, sure := v.view(w)
	for _, k := range v.ink.pixels {
		c += float64(k.by) * float64(view[k.at&(side*side-1)])
	}
	return c / size, sure
}
