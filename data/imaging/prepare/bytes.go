package prepare

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/kernel/pix"
)

// Bytes reports whether ApplyBytes can give the exact result of Apply for images of w x h pixels. With
// Config.Rounded it always can. Otherwise it can only if no step changes values. Resampling, affine maps, colour
// changes and erasing change values.
func (p *Pipeline) Bytes(w, h int) bool {
	if p.cfg.Rounded {
		return true
	}
	a := &p.cfg.Augment
	if p.cfg.Width != 0 && (w != p.cfg.Width || h != p.cfg.Height) || p.cfg.Shorter > min(w, h) ||
		a.CropArea[1] > 0 || a.hasAffine() || a.hasJitter() || a.Erase > 0 {
		return false
	}
	if a.Pad == 0 {
		return true
	}
	// The fill of uncovered pixels must be the value of a byte too.
	fill := p.fillValues(len(p.norm.Mean))
	table := p.norm.inImageOrder(len(fill)).Table(len(fill))
	for c, v := range fill {
		if v != table[int(p.fill)*len(fill)+c] {
			return false
		}
	}
	return true
}

// ApplyBytes is Apply without the normalization, but with the same order of channels and the same random numbers.
// Normalization.Table has the value of each byte. ApplyBytes panics if dst has the wrong length, or if Bytes returns
// false.
func (p *Pipeline) ApplyBytes(dst []uint8, im *imaging.Image, rng *rand.Rand, s *Scratch) {
	h, w, c := p.Shape(im.W, im.H, im.C)
	if len(dst) != h*w*c || !p.Bytes(im.W, im.H) {
		panic(fmt.Sprintf("imaging: %d bytes for a sample of %d x %d x %d of %d x %d pixels", len(dst), h, w, c, im.W,
			im.H))
	}
	p.applyBytes(dst, im, h, w, c, rng, s)
	if p.norm.swapsChannels(c) {
		swap(dst)
	}
}

// applyBytes is ApplyBytes with the channels in the image's own order.
func (p *Pipeline) applyBytes(dst []uint8, im *imaging.Image, h, w, c int, rng *rand.Rand, s *Scratch) {
	im.SetChannels(c)
	a := &p.cfg.Augment
	part := p.chooseView(im, rng)
	flip := rng != nil && a.Flip > 0 && rng.Float64() < a.Flip
	if part.isWhole(im) {
		for y := range h { // a row may be longer than what is kept of it
			row := dst[y*w*c : (y+1)*w*c]
			if copy(row, im.Row(y)); flip {
				mirror(row, c)
			}
		}
	} else {
		s.resizer.Filter, s.resizer.Rounded = p.cfg.Filter, p.cfg.Rounded
		s.resizer.resampleRounded(dst, im, part, w, h, flip)
	}
	if rng == nil {
		return
	}
	if a.hasAffine() || a.hasJitter() {
		p.changeBytes(dst, h, w, c, rng, s)
	}
	if a.Pad > 0 {
		px, py := int(math.Round(a.Pad*float64(w))), int(math.Round(a.Pad*float64(h)))
		fill := uint8(p.fill)
		shift(dst, w, h, c, rng.IntN(2*px+1)-px, rng.IntN(2*py+1)-py, [3]uint8{fill, fill, fill})
	}
	if a.Erase > 0 && rng.Float64() < a.Erase {
		if x, y, ew, eh, ok := eraseBox(w, h, rng); ok {
			var grey [3]uint8
			for k, m := range p.norm.inImageOrder(c).Mean {
				grey[k] = uint8(min(max(255*m, 0), 255) + 0.5)
			}
			for row := y; row < y+eh; row++ {
				fillPixels(dst[(row*w+x)*c:(row*w+x+ew)*c], c, grey)
			}
		}
	}
}

// changeBytes bends h x w pixels and changes their colours, rounded at the end.
func (p *Pipeline) changeBytes(dst []uint8, h, w, c int, rng *rand.Rand, s *Scratch) {
	s.raw = grow(s.raw, len(dst))
	for i, x := range dst {
		s.raw[i] = float32(x)
	}
	v := p.warpValues(s.raw, w, h, c, rng, s)
	if a := &p.cfg.Augment; a.hasJitter() {
		s.sums, s.colours = grow(s.sums, w*c), grow(s.colours, len(dst))
		a.jitter(s.colours, v, h, c, [3]float32{1, 1, 1}, [3]float32{}, s.sums, rng)
		v = s.colours
	}
	for i, x := range v {
		dst[i] = uint8(min(max(x, 0), 255) + 0.5)
	}
}

// Table returns the normalised values of bytes. The value of byte v in channel k of c channels is at v*c + k.
func (n Normalization) Table(c int) []float32 {
	n = n.withDefaults()
	table, a, b, v := make([]float32, 256*c), make([]float32, 256*c), make([]float32, 256*c), make([]uint8, 256*c)
	n.factors(a, b, c)
	for i := range v {
		v[i] = uint8(i / c)
	}
	pix.Affine(table, v, a, b)
	return table
}
