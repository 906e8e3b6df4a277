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
	// glimpseSide is the side of the reduced pictures that bursts are told by.
	glimpseSide = 16
	// farthest is by how many of its pixels a hand moves between two photos: an
	// eighth of the picture.
	farthest = 2
	// moves is how many such movements there are.
	moves = (2*farthest + 1) * (2*farthest + 1)
	// cells is the side of the grid of tints.
	cells = 4
	// plainest is the standard deviation of greys below which a picture is plain.
	plainest = 2
)

// glimpse is what is kept of a picture to tell what it was taken together with.
type glimpse struct {
	grey  [glimpseSide * glimpseSide]uint8
	plain bool // of nearly one grey, or could not be read: like no other
	// sum and squares are those of the greys that overlap with a picture moved against
	// this one, for every movement.
	sum, squares [moves]int64
	// tints are by how much red and blue differ from green, in each cell of a grid.
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

// shrinkToGlimpse is by what the sides of a picture may be divided in decoding.
func shrinkToGlimpse(w, h int) int {
	for _, by := range []int{8, 4, 2} {
		if min(w, h) >= 4*by*glimpseSide {
			return by
		}
	}
	return 1
}

// glimpser is what one goroutine looks with.
type glimpser struct {
	d         *Dataset
	im, small imaging.Image
	dec       imaging.Decoder
	resizer   imaging.Resizer
}

func (e *glimpser) look(ctx context.Context, i int, g *glimpse) {
	g.plain = true
	if err := e.d.Image(ctx, i, &e.im, &e.dec); err != nil {
		return // which is said where the picture is used
	}
	if _, ok := e.d.Source.(*files); ok { // which leaves the file's content there
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

// prepare works out what the greys alone say.
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

// still is the movement by nothing.
const still = moves / 2

// movement gives the movements their numbers; that of -dx and -dy is moves-1-m.
func movement(m int) (dx, dy int) {
	return m%(2*farthest+1) - farthest, m/(2*farthest+1) - farthest
}

// moved is the correlation of the greys of two pictures where they overlap if o is
// moved. Its sums are whole numbers: so it has the same bits on every machine.
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

// tinted is the mean difference of the tints of two pictures, in levels of 255.
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

// gain is by how much a movement makes two pictures liker, at the most: where more
// is missing none is tried.
const gain = 0.4

// likeness is the correlation of the greys of two pictures, which brightness and
// contrast do not change, the largest over small movements of one against the other;
// 0 if one is plain. Where it is far from enough it is that without any movement.
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
