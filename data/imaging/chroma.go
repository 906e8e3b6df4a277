package imaging

import (
	"image"
	"math"

	"github.com/kindred-ml/kindred/internal/format/isobmff"
	fastjpeg "github.com/kindred-ml/kindred/internal/format/jpeg"
)

// chroma converts planes of luma and chroma.
type chroma struct{ jpeg fastjpeg.Decoder }

// convert writes p to dst in colours. Without a colour, and with that of JPEG files, the planes are ITU-R 601 with
// values from 0 to 255. Other matrices are those of ITU-T H.273: 1 is ITU-R 709, 9 is ITU-R 2020, and 0 has the
// channels green, blue and red in place of luma and chroma.
func (c *chroma) convert(dst *Image, p *image.YCbCr, colour isobmff.Colour, smooth bool) {
	const identity, bt709, bt2020 = 0, 1, 9
	kr, kb := 0.299, 0.114
	switch colour.Matrix {
	case bt709:
		kr, kb = 0.2126, 0.0722
	case bt2020:
		kr, kb = 0.2627, 0.0593
	}
	b := p.Bounds()
	dst.Reset(b.Dx(), b.Dy(), 3)
	switch {
	case colour.Known && colour.Matrix == identity:
		eachPixel(dst, p, func(d []uint8, y, cb, cr uint8) { d[0], d[1], d[2] = cr, y, cb })
	case !colour.Known, colour.Full && kr == 0.299:
		if !smooth || !c.jpeg.ToRGB(dst.Pix, p) {
			fromImage(dst, p)
		}
	default:
		m := newMatrix(kr, kb, colour.Full)
		eachPixel(dst, p, m.apply)
	}
}

// eachPixel calls set with each pixel of dst and its samples.
func eachPixel(dst *Image, p *image.YCbCr, set func(d []uint8, y, cb, cr uint8)) {
	for y := range dst.H {
		d := dst.Row(y)
		for x := range dst.W {
			i, k := p.YOffset(x, y), p.COffset(x, y)
			set(d[3*x:3*x+3], p.Y[i], p.Cb[k], p.Cr[k])
		}
	}
}

// matrix converts luma and chroma to colours, in fixed point with 16 binary places.
type matrix struct{ black, y, rCr, gCb, gCr, bCb int32 }

// newMatrix returns the matrix for the weights of red and blue in the luma.
func newMatrix(kr, kb float64, full bool) *matrix {
	luma, chroma := 1.0, 2.0 // of a step of the sample, the chroma for a difference of one
	black := int32(0)
	if !full {
		luma, chroma, black = 255.0/219, 2*255.0/224, 16
	}
	fixed := func(v float64) int32 { return int32(math.Round(v * (1 << 16))) }
	kg := 1 - kr - kb
	return &matrix{black: black, y: fixed(luma), rCr: fixed(chroma * (1 - kr)), bCb: fixed(chroma * (1 - kb)),
		gCb: fixed(chroma * (1 - kb) * kb / kg), gCr: fixed(chroma * (1 - kr) * kr / kg)}
}

func (m *matrix) apply(d []uint8, y, cb, cr uint8) {
	const half = 1 << 15
	l := (int32(y)-m.black)*m.y + half
	u, v := int32(cb)-128, int32(cr)-128
	clip := func(v int32) uint8 { return uint8(min(max(v>>16, 0), 255)) }
	d[0], d[1], d[2] = clip(l+v*m.rCr), clip(l-u*m.gCb-v*m.gCr), clip(l+u*m.bCb)
}
