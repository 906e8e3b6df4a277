package imaging

import (
	"image"
	"image/color"
)

// Background is the colour under transparent pixels.
type Background uint8

// The backgrounds.
const (
	Opaque Background = iota // no pixel is transparent
	OnWhite
	OnBlack
)

// coverage sums up the visible part of a picture with transparency, to choose its background. The
// background is white, as in most programs, or black if nearly all of the visible part is white
// and would vanish. The sums are whole numbers, so the choice is the same on every machine.
type coverage struct {
	seen  uint64 // sum of alpha over all pixels
	other uint64 // sum of alpha over pixels that are not nearly white
	clear bool   // some pixel is not opaque
}

// nearlyWhite is the least value of the channels of a pixel that vanishes on white.
const nearlyWhite = 224

// add adds n pixels with the least channel v, not premultiplied, and alpha a.
func (k *coverage) add(v, a uint32, n uint64) {
	k.seen += uint64(a) * n
	if v < nearlyWhite {
		k.other += uint64(a) * n
	}
	k.clear = k.clear || a < 255 && n > 0
}

// background returns black if less than a hundredth of the visible part is not nearly white.
func (k *coverage) background() Background {
	switch {
	case !k.clear:
		return Opaque
	case k.seen > 0 && 100*k.other < k.seen:
		return OnBlack
	}
	return OnWhite
}

// under returns the value of a background's channels.
func (b Background) under() uint32 {
	if b == OnBlack {
		return 0
	}
	return 255
}

// coverageOfRGBA returns the ink of pixels in the form that fromRGBA reads.
func coverageOfRGBA(pix []uint8, stride, w, h, size int, premultiplied bool) (k coverage) {
	step := size / 4
	if isOpaque(pix, stride, w, h, size) {
		return k
	}
	for y := range h {
		s := pix[y*stride:]
		for x := range w {
			p := s[x*size : x*size+size : x*size+size]
			a := uint32(p[3*step])
			v := uint32(min(p[0], p[step], p[2*step]))
			if premultiplied && a > 0 {
				v = v * 255 / a
			}
			k.add(v, a, 1)
		}
	}
	return k
}

// isOpaque reports whether all pixels are opaque, as in most pictures.
func isOpaque(pix []uint8, stride, w, h, size int) bool {
	for y := range h {
		s := pix[y*stride:][:w*size]
		for i := 3 * size / 4; i < len(s); i += size {
			if s[i] != 255 {
				return false
			}
		}
	}
	return true
}

// coverageOfPalette returns the ink of a picture with a palette. It counts each colour as often as it
// is used.
func coverageOfPalette(im *image.Paletted, w, h int) (k coverage) {
	var used [256]uint64
	for y := range h {
		for _, i := range im.Pix[y*im.Stride:][:w] {
			used[i]++
		}
	}
	for i, c := range im.Palette[:min(len(im.Palette), 256)] {
		v, a := leastOf(c)
		k.add(v, a, used[i])
	}
	return k
}

// coverageOf returns the ink of any picture.
func coverageOf(im image.Image) (k coverage) {
	b := im.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			v, a := leastOf(im.At(x, y))
			k.add(v, a, 1)
		}
	}
	return k
}

// leastOf returns the least channel of a colour, not premultiplied, and the alpha, both in 8 bits.
func leastOf(c color.Color) (v, a uint32) {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	return uint32(min(n.R, n.G, n.B)), uint32(n.A)
}
