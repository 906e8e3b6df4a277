package clean

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/mat"
)

// drawn tells that fewer than half of the pixels are grey, of all and of every other: then
// all of them are compared with any part of any picture.
func (p *Print) drawn() bool {
	return float64(p.whole.greys) < enough(1) && float64(p.half.greys) < enough(2)
}

// strokes are the pixels of a picture that are not of its commonest grey.
type strokes struct {
	ground int
	pixels []stroke
}

type stroke struct {
	at uint16
	by int16 // more than the ground
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

// correlation is that of two whole pictures, p being the one with these strokes: the same
// bits as function correlation gives, as all sums are of integers.
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

// centred writes every other pixel, less about their mean, and returns the length of what
// lies about the mean itself.
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

// How far off correlations may be: on every other pixel by a product of float32, of 256
// terms; on all by what is kept of a window in float32, summed in float64.
const (
	coarseSlack = 3e-5
	fineSlack   = 4e-6
)

// views are what windows of a picture show, about their means and of length 1, so that a
// product with a picture gives the correlation.
type views struct {
	of     *Print
	ready  bool
	begin  []window
	coarse *mat.Dense // on every other pixel, a row for each of begin
	// fine are on all pixels, as they are asked for, at by their windows; flat are those
	// that show next to nothing.
	fine [][side * side]float32
	flat []bool
	at   map[uint32]int
	ink  strokes // of the picture looked for
}

func newViews(begin []window) views {
	return views{begin: begin, coarse: mat.New(len(begin), side*side/4), at: map[uint32]int{}}
}

// prepare makes the views of every other pixel, once for a picture.
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

// unit writes numbers about their mean, divided by their length, which it returns.
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

// mostFine is how many views are kept: 16 MiB of them.
const mostFine = 4096

// view returns what a window shows, and whether it shows anything. Its corner and side
// are whole numbers of eighths.
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

// search is function search for a drawing p. scores are its products with the
// coarse views and length is what they are to be divided by. It returns 0 for what stays below alike.
func (v *views) search(p *Print, scores []float32, length float64) float64 {
	if length == 0 {
		return search(p, v.of, v.begin)
	}
	top := float64(slices.Max(scores)) / length
	if top < promising-coarseSlack {
		return 0
	}
	// The first of the best; where more than one may be it, by what they are exactly.
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
		return 0
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
		return 0
	}
	if c := correlation(p, v.of, best, 1); c >= alike {
		return c
	}
	return 0
}

// correlation is that of what is looked for with a window, and whether it is one to go by.
func (v *views) correlation(w window, size float64) (c float64, sure bool) {
	view, sure := v.view(w)
	for _, k := range v.ink.pixels {
		c += float64(k.by) * float64(view[k.at&(side*side-1)])
	}
	return c / size, sure
}
