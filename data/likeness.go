package data

import (
	"context"
	"math"
	"time"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/base/par"
)

// Measures of glimpses.
const (
	// glimpseSide is the side of the reduced pictures that are compared to find bursts.
	glimpseSide = 16
	// farthest is the largest movement of the camera between two photos, in pixels of a glimpse:
	// an eighth of the picture.
	farthest = 2
	// moves is the number of possible movements.
	moves = (2*farthest + 1) * (2*farthest + 1)
	// cells is the side of the grid of tints.
	cells = 4
	// plainest is the standard deviation of greys below which a picture is plain.
	plainest = 2
)

// glimpse is a reduced picture, kept to find pictures that were taken together with it.
type glimpse struct {
	grey  [glimpseSide * glimpseSide]uint8
	plain bool // the picture has nearly one grey or could not be read, and is like no other
	// sum and squares are the sums of the greys that overlap with a moved picture, and of their
	// squares, for every movement.
	sum, squares [moves]int64
	// tints are the differences of red and blue from green in each cell of a grid.
	tints [cells * cells][2]int16
	taken time.Time
}

// glimpses reads the pictures of some samples.
func (d *Dataset) glimpses(ctx context.Context, index []int) ([]glimpse, error) {
	out := make([]glimpse, len(index))
	err := par.ForContext(ctx, len(out), 16, func(lo, hi int) {
		e := &glimpser{d: d}
		e.dec.Shrink = shrinkToGlimpse
		for k := lo; k < hi && ctx.Err() == nil; k++ {
			e.look(ctx, index[k], &out[k])
		}
	})
	return out, err
}

// shrinkToGlimpse returns the divisor of a picture's sides in decoding.
func shrinkToGlimpse(w, h int) int {
	for _, by := range []int{8, 4, 2} {
		if min(w, h) >= 4*by*glimpseSide {
			return by
		}
	}
	return 1
}

// glimpser holds the buffers of one goroutine.
type glimpser struct {
	d         *Dataset
	im, small imaging.Image
	dec       imaging.Decoder
	resizer   imaging.Resizer
}

func (e *glimpser) look(ctx context.Context, i int, g *glimpse) {
	g.plain = true
	if err := e.d.Image(ctx, i, &e.im, &e.dec); err != nil {
		return // the error is reported when the picture is used
	}
	if _, ok := e.d.Source.(*files); ok { // the decoder's buffer then holds the file's content
		g.taken = imaging.Taken(e.dec.Buffer)
	}
	im := &e.im
	whole := imaging.Box{X1: float64(im.W), Y1: float64(im.H)}
	if im.C == 3 {
		e.resizer.Resize(&e.small, im, whole, cells, cells)
		for c := range g.tints {
			p := e.small.Pix[3*c:]
			g.tints[c] = [2]int16{int16(p[0]) - int16(p[1]), int16(p[2]) - int16(p[1])}
		}
		im.SetChannels(1)
	}
	e.resizer.Resize(&e.small, im, whole, glimpseSide, glimpseSide)
	g.grey = [glimpseSide * glimpseSide]uint8(e.small.Pix)
	g.prepare()
}

// prepare computes sum, squares and plain from the greys.
func (g *glimpse) prepare() {
	for m := range moves {
		dx, dy := movement(m)
		g.sum[m], g.squares[m] = 0, 0
		for y := max(0, dy); y < glimpseSide+min(0, dy); y++ {
			for x := max(0, dx); x < glimpseSide+min(0, dx); x++ {
				v := int64(g.grey[y*glimpseSide+x])
				g.sum[m], g.squares[m] = g.sum[m]+v, g.squares[m]+v*v
			}
		}
	}
	const n = glimpseSide * glimpseSide
	g.plain = n*g.squares[still]-g.sum[still]*g.sum[still] < plainest*plainest*n*n
}

// still is the number of the movement by 0.
const still = moves / 2

// movement returns movement number m. The movement by -dx and -dy has the number moves-1-m.
func movement(m int) (dx, dy int) { return m%(2*farthest+1) - farthest, m/(2*farthest+1) - farthest }

// moved returns the correlation of the greys of two pictures where they overlap if o is moved. Its
// sums are whole numbers, so it has the same bits on every machine.
func (g *glimpse) moved(o *glimpse, m int) float64 {
	dx, dy := movement(m)
	w := glimpseSide - max(dx, -dx)
	n := int64(w * (glimpseSide - max(dy, -dy)))
	products := int32(0)
	for y := max(0, dy); y < glimpseSide+min(0, dy); y++ {
		p := g.grey[y*glimpseSide+max(0, dx):][:w]
		q := o.grey[(y-dy)*glimpseSide+max(0, -dx):][:w]
		for k, v := range p {
			products += int32(v) * int32(q[k])
		}
	}
	a, b := g.sum[m], o.sum[moves-1-m]
	va, vb := n*g.squares[m]-a*a, n*o.squares[moves-1-m]-b*b
	if va <= 0 || vb <= 0 {
		return 0
	}
	return float64(n*int64(products)-a*b) / math.Sqrt(float64(va)*float64(vb))
}

// tinted returns the mean difference of the tints of two pictures, on a scale of 255.
func (g *glimpse) tinted(o *glimpse) float64 {
	sum := 0
	for c, t := range g.tints {
		for k, v := range t {
			d := int(v) - int(o.tints[c][k])
			sum += max(d, -d)
		}
	}
	return float64(sum) / float64(2*len(g.tints))
}

// gain is the largest increase in likeness that a movement can give. If more is missing, no movement
// is tried.
const gain = 0.4

// likeness returns the largest correlation of the greys of two pictures over small movements of one
// against the other, which does not depend on brightness and contrast. It is 0 if one picture is
// plain. If the likeness without movement is far below enough, it returns that.
func (g *glimpse) likeness(o *glimpse, enough float64) float64 {
	if g.plain || o.plain {
		return 0
	}
	top := g.moved(o, still)
	if top < enough-gain {
		return top
	}
	for at, was := still, -1; at != was; {
		was = at
		dx, dy := movement(at)
		for _, by := range [...]struct{ dx, dy int }{{1, 0}, {-1, 0}, {0, 1}, {0, -1}} {
			x, y := dx+by.dx, dy+by.dy
			if max(x, -x) > farthest || max(y, -y) > farthest {
				continue
			}
			m := still + x + (2*farthest+1)*y
			if c := g.moved(o, m); c > top {
				top, at = c, m
			}
		}
	}
	return top
}
