package imaging

import (
	"image"
	"image/color"
)

// fromImage copies im into dst: one channel for grey models, three for others;
// transparency over white.
func fromImage(dst *Image, im image.Image) {
	b := im.Bounds()
	w, h := b.Dx(), b.Dy()
	switch im := im.(type) {
	case *Image:
		dst.CopyFrom(im)
	case *image.Gray:
		dst.Reset(w, h, 1)
		for y := range h {
			copy(dst.Row(y), im.Pix[y*im.Stride:])
		}
	case *image.Gray16:
		dst.Reset(w, h, 1)
		for y := range h {
			row := im.Pix[y*im.Stride:]
			for x, d := 0, dst.Row(y); x < w; x++ {
				d[x] = row[2*x]
			}
		}
	case *image.NRGBA:
		fromRGBA(dst, im.Pix, im.Stride, w, h, 4, false)
	case *image.NRGBA64:
		fromRGBA(dst, im.Pix, im.Stride, w, h, 8, false)
	case *image.RGBA:
		fromRGBA(dst, im.Pix, im.Stride, w, h, 4, true)
	case *image.RGBA64:
		fromRGBA(dst, im.Pix, im.Stride, w, h, 8, true)
	case *image.Paletted:
		fromPaletted(dst, im, w, h)
	case *image.YCbCr:
		dst.Reset(w, h, 3)
		for y := range h {
			d := dst.Row(y)
			for x := range w {
				yi := im.YOffset(b.Min.X+x, b.Min.Y+y)
				ci := im.COffset(b.Min.X+x, b.Min.Y+y)
				d[3*x], d[3*x+1], d[3*x+2] = color.YCbCrToRGB(im.Y[yi], im.Cb[ci], im.Cr[ci])
			}
		}
	default:
		dst.Reset(w, h, 3)
		for y := range h {
			d := dst.Row(y)
			for x := range w {
				d[3*x], d[3*x+1], d[3*x+2] = overWhite(im.At(b.Min.X+x, b.Min.Y+y))
			}
		}
	}
}

// overWhite composites any colour over white.
func overWhite(c color.Color) (r, g, b uint8) {
	cr, cg, cb, ca := c.RGBA() // premultiplied, 16 bits
	white := 0xffff - ca
	return uint8((cr + white) >> 8), uint8((cg + white) >> 8), uint8((cb + white) >> 8)
}

// fromRGBA reads pixels of four samples of size/4 bytes each, big-endian, with
// the alpha last and the colours premultiplied by it or not.
func fromRGBA(dst *Image, pix []uint8, stride, w, h, size int, premultiplied bool) {
	dst.Reset(w, h, 3)
	step := size / 4
	for y := range h {
		d := dst.Row(y)
		s := pix[y*stride:]
		for x := range w {
			p := s[x*size : x*size+size : x*size+size]
			a := uint32(p[3*step])
			if a == 255 {
				d[3*x], d[3*x+1], d[3*x+2] = p[0], p[step], p[2*step]
				continue
			}
			for c := range 3 {
				v := uint32(p[c*step])
				if !premultiplied {
					v = (v*a + 127) / 255
				}
				d[3*x+c] = uint8(min(v+255-a, 255))
			}
		}
	}
}

func fromPaletted(dst *Image, im *image.Paletted, w, h int) {
	dst.Reset(w, h, 3)
	// Indices beyond the palette, which damaged files may have, become black.
	var table [256][3]uint8
	for i, c := range im.Palette {
		r, g, b := overWhite(c)
		table[i] = [3]uint8{r, g, b}
	}
	for y := range h {
		d := dst.Row(y)
		s := im.Pix[y*im.Stride:]
		for x := range w {
			c := &table[s[x]]
			d[3*x], d[3*x+1], d[3*x+2] = c[0], c[1], c[2]
		}
	}
}
