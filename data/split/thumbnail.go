package split

import (
	"context"
	"math"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/internal/base/par"
)

// Measures of glimpses.
const (
	// thumbnailSide is the side of the reduced pictures that are compared to find bursts.
	thumbnailSide = 16
	// maxShift is the largest movement of the camera between two photos, in pixels of a glimpse:
	// an eighth of the picture.
	maxShift = 2
	// numShifts is the number of possible movements.
	numShifts = (2*maxShift + 1) * (2*maxShift + 1)
	// tintGrid is the side of the grid of tints.
	tintGrid = 4
	// minContrast is the standard deviation of greys below which a picture is plain.
	minContrast = 2
)

// thumbnail is a reduced picture, kept to find pictures that were taken together with it.
type thumbnail struct {
	grey  [thumbnailSide * thumbnailSide]uint8
	plain bool // the picture has nearly one grey or could not be read, and is like no other
	// sum and squares are the sums of the greys that overlap with a moved picture, and of their
	// squares, for every movement.
	sum, squares [numShifts]int64
	// tints are the differences of red and blue from green in each cell of a grid.
	tints [tintGrid * tintGrid][2]int16
	taken time.Time
}

// readThumbnails reads the pictures of some samples.
func readThumbnails(ctx context.Context, d *data.Dataset, index []int) ([]thumbnail, error) {
	out := make([]thumbnail, len(index))
	local := d.HasLocalFiles()
	err := par.ForContext(ctx, len(out), 16, func(lo, hi int) {
		e := &thumbnailer{d: d, local: local}
		e.dec.Shrink = thumbnailShrink
		for k := lo; k < hi && ctx.Err() == nil; k++ {
			e.read(ctx, index[k], &out[k])
		}
	})
	return out, err
}

// thumbnailShrink returns the divisor of a picture's sides in decoding.
func thumbnailShrink(w, h int) int {
	for _, by := range []int{8, 4, 2} {
		if min(w, h) >= 4*by*thumbnailSide {
			return by
		}
	}
	return 1
}

// thumbnailer holds the buffers of one goroutine.
type thumbnailer struct {
	d         *data.Dataset
	local     bool // the pictures are files on this machine
	im, small imaging.Image
	dec       imaging.Decoder
	resizer   prepare.Resizer
}

func (e *thumbnailer) read(ctx context.Context, i int, g *thumbnail) {
	g.plain = true
	if err := e.d.Image(ctx, i, &e.im, &e.dec); err != nil {
		return // the error is reported when the picture is used
	}
	if e.local { // the decoder's buffer then holds the file's content
		g.taken = imaging.CaptureTime(e.dec.Buffer)
	}
	im := &e.im
	whole := prepare.Box{X1: float64(im.W), Y1: float64(im.H)}
	if im.C == 3 {
		e.resizer.Resize(&e.small, im, whole, tintGrid, tintGrid)
		for c := range g.tints {
			p := e.small.Pix[3*c:]
			g.tints[c] = [2]int16{int16(p[0]) - int16(p[1]), int16(p[2]) - int16(p[1])}
		}
		im.SetChannels(1)
	}
	e.resizer.Resize(&e.small, im, whole, thumbnailSide, thumbnailSide)
	g.grey = [thumbnailSide * thumbnailSide]uint8(e.small.Pix)
	g.prepare()
}

// prepare computes sum, squares and plain from the greys.
func (g *thumbnail) prepare() {
	for m := range numShifts {
		dx, dy := shiftOf(m)
		g.sum[m], g.squares[m] = 0, 0
		for y := max(0, dy); y < thumbnailSide+min(0, dy); y++ {
			for x := max(0, dx); x < thumbnailSide+min(0, dx); x++ {
				v := int64(g.grey[y*thumbnailSide+x])
				g.sum[m], g.squares[m] = g.sum[m]+v, g.squares[m]+v*v
			}
		}
	}
	const n = thumbnailSide * thumbnailSide
	g.plain = n*g.squares[noShift]-g.sum[noShift]*g.sum[noShift] < minContrast*minContrast*n*n
}

// noShift is the number of the movement by 0.
const noShift = numShifts / 2

// shiftOf returns movement number m. The movement by -dx and -dy has the number moves-1-m.
func shiftOf(m int) (dx, dy int) { return m%(2*maxShift+1) - maxShift, m/(2*maxShift+1) - maxShift }

// shiftedCorrelation returns the correlation of the greys of two pictures where they overlap if o is moved. Its
// sums are whole numbers, so it has the same bits on every machine.
func (g *thumbnail) shiftedCorrelation(o *thumbnail, m int) float64 {
	dx, dy := shiftOf(m)
	w := thumbnailSide - max(dx, -dx)
	n := int64(w * (thumbnailSide - max(dy, -dy)))
	products := int32(0)
	for y := max(0, dy); y < thumbnailSide+min(0, dy); y++ {
		p := g.grey[y*thumbnailSide+max(0, dx):][:w]
		q := o.grey[(y-dy)*thumbnailSide+max(0, -dx):][:w]
		for k, v := range p {
			products += int32(v) * int32(q[k])
		}
	}
	a, b := g.sum[m], o.sum[numShifts-1-m]
	va, vb := n*g.squares[m]-a*a, n*o.squares[numShifts-1-m]-b*b
	if va <= 0 || vb <= 0 {
		return 0
	}
	return float64(n*int64(products)-a*b) / math.Sqrt(float64(va)*float64(vb))
}

// tintDistance returns the mean difference of the tints of two pictures, on a scale of 255.
func (g *thumbnail) tintDistance(o *thumbnail) float64 {
	sum := 0
	for c, t := range g.tints {
		for k, v := range t {
			d := int(v) - int(o.tints[c][k])
			sum += max(d, -d)
		}
	}
	return float64(sum) / float64(2*len(g.tints))
}

// maxShiftGain is the largest increase in likeness that a movement can give. If more is missing, no movement
// is tried.
const maxShiftGain = 0.4

// similarity returns the largest correlation of the greys of two pictures over small movements of one
// against the other, which does not depend on brightness and contrast. It is 0 if one picture is
// plain. If the likeness without movement is far below enough, it returns that.
func (g *thumbnail) similarity(o *thumbnail, enough float64) float64 {
	if g.plain || o.plain {
		return 0
	}
	top := g.shiftedCorrelation(o, noShift)
	if top < enough-maxShiftGain {
		return top
	}
	for at, was := noShift, -1; at != was; {
		was = at
		dx, dy := shiftOf(at)
		for _, by := range [...]struct{ dx, dy int }{{1, 0}, {-1, 0}, {0, 1}, {0, -1}} {
			x, y := dx+by.dx, dy+by.dy
			if max(x, -x) > maxShift || max(y, -y) > maxShift {
				continue
			}
			m := noShift + x + (2*maxShift+1)*y
			if c := g.shiftedCorrelation(o, m); c > top {
				top, at = c, m
			}
		}
	}
	return top
}
