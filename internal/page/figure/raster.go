package figure

import (
	"image"
	"image/color"
	"math"
)

// layer is a transparent picture onto which marks are stamped. It replaces tens of
// thousands of vector marks, which a browser draws slowly.
type layer struct {
	img    *image.NRGBA
	radius float64 // of a mark, in pixels
	stamps map[stampKey]*stamp
}

type stampKey struct {
	s      shape
	fx, fy int // position within the pixel, in quarters
}

// stamp holds the share of each pixel that a mark covers.
type stamp struct {
	reach int
	cover []float64
}

func newLayer(w, h int, radius float64) *layer {
	return &layer{image.NewNRGBA(image.Rect(0, 0, w, h)), radius, map[stampKey]*stamp{}}
}

// put stamps a mark with centre (x, y) in pixels, y downwards.
func (l *layer) put(x, y float64, s shape, c color.NRGBA) {
	ix, iy := math.Floor(x), math.Floor(y)
	key := stampKey{s, int((x - ix) * 4), int((y - iy) * 4)}
	st := l.stamps[key]
	if st == nil {
		st = makeStamp(key, l.radius)
		l.stamps[key] = st
	}
	side := 2*st.reach + 1
	for dy := range side {
		for dx := range side {
			a := st.cover[dy*side+dx] * float64(c.A) / 255
			px, py := int(ix)+dx-st.reach, int(iy)+dy-st.reach
			if a > 0 && image.Pt(px, py).In(l.img.Rect) {
				blend(l.img, px, py, c, a)
			}
		}
	}
}

func makeStamp(k stampKey, radius float64) *stamp {
	const sub = 4
	reach := int(math.Ceil(radius*1.4)) + 1
	side := 2*reach + 1
	st := &stamp{reach, make([]float64, side*side)}
	cx, cy := (float64(k.fx)+0.5)/4, (float64(k.fy)+0.5)/4
	for i := range st.cover {
		dx, dy := float64(i%side-reach), float64(i/side-reach)
		n := 0
		for j := range sub * sub {
			x := dx + (float64(j%sub)+0.5)/sub - cx
			y := dy + (float64(j/sub)+0.5)/sub - cy
			if k.s.contains(x/radius, -y/radius) {
				n++
			}
		}
		st.cover[i] = float64(n) / (sub * sub)
	}
	return st
}

// blend blends colour c with opacity a over a pixel.
func blend(img *image.NRGBA, x, y int, c color.NRGBA, a float64) {
	p := img.Pix[img.PixOffset(x, y):]
	below := float64(p[3]) / 255 * (1 - a)
	total := a + below
	mix := func(old, top uint8) uint8 {
		return uint8(math.Round((float64(top)*a + float64(old)*below) / total))
	}
	p[0], p[1], p[2] = mix(p[0], c.R), mix(p[1], c.G), mix(p[2], c.B)
	p[3] = uint8(math.Round(255 * total))
}
