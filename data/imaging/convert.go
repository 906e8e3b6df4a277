package imaging

import (
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"math/bits"
)

// fromImage copies im into dst, with one channel for grey models and three for others. It
// composites transparency over the background that it returns.
func fromImage(dst *Image, im image.Image) (over Background) {
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
		return fromRGBA(dst, im.Pix, im.Stride, w, h, 4, false)
	case *image.NRGBA64:
		return fromRGBA(dst, im.Pix, im.Stride, w, h, 8, false)
	case *image.RGBA:
		return fromRGBA(dst, im.Pix, im.Stride, w, h, 4, true)
	case *image.RGBA64:
		return fromRGBA(dst, im.Pix, im.Stride, w, h, 8, true)
	case *image.Paletted:
		return fromPaletted(dst, im, w, h)
	case *image.CMYK:
		dst.Reset(w, h, 3)
		for y := range h {
			d := dst.Row(y)
			for x := range w {
				ink := im.Pix[y*im.Stride+4*x:][:4]
				white := 255 - uint32(ink[3])
				for c, v := range ink[:3] {
					d[3*x+c] = uint8(white - (uint32(v)*white+127)/255)
				}
			}
		}
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
		k := coverageOf(im)
		over = k.background()
		dst.Reset(w, h, 3)
		for y := range h {
			d := dst.Row(y)
			for x := range w {
				d[3*x], d[3*x+1], d[3*x+2] = over.composite(im.At(b.Min.X+x, b.Min.Y+y))
			}
		}
	}
	return over
}

// composite composites a colour over the background.
func (b Background) composite(c color.Color) (red, green, blue uint8) {
	cr, cg, cb, ca := c.RGBA() // premultiplied, 16 bits
	under := (0xffff - ca) * b.under() / 255
	return uint8((cr + under) >> 8), uint8((cg + under) >> 8), uint8((cb + under) >> 8)
}

// fromRGBA reads pixels of four big-endian samples of size/4 bytes each, with the alpha last. The
// colours may be premultiplied by the alpha.
func fromRGBA(dst *Image, pix []uint8, stride, w, h, size int, premultiplied bool) Background {
	k := coverageOfRGBA(pix, stride, w, h, size, premultiplied)
	over := k.background()
	under := over.under()
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
				d[3*x+c] = uint8(min(v+(255-a)*under/255, 255))
			}
		}
	}
	return over
}

func fromPaletted(dst *Image, im *image.Paletted, w, h int) Background {
	k := coverageOfPalette(im, w, h)
	over := k.background()
	dst.Reset(w, h, 3)
	// Damaged files may have indices beyond the palette. They become black.
	var table [256][3]uint8
	for i, c := range im.Palette {
		r, g, b := over.composite(c)
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
	return over
}

// depth16 are the values of a picture of 16 bits without the alpha: pixels of step bytes that begin with size of them.
type depth16 struct {
	pix        []uint8
	step, size int
}

func newDepth16(im image.Image) depth16 {
	switch im := im.(type) {
	case *image.Gray16:
		return depth16{im.Pix, 2, 2}
	case *image.RGBA64:
		return depth16{im.Pix, 8, 6}
	}
	return depth16{}
}

// eachSample calls use with two bytes at a time.
func (d depth16) eachSample(use func(v []uint8)) {
	for i := 0; i < len(d.pix); i += d.step {
		for k := i; k < i+d.size; k += 2 {
			use(d.pix[k : k+2])
		}
	}
}

// scaleDepth scales values that a program has written as they were measured, such as 0 to 4095 of 12 bits, to 16 bits,
// if the file says that so many bits are significant (the chunk sBIT of PNG). Those of a file that follows the standard
// are scaled already, and then have no bits below the significant ones unless they are large. Without such a statement
// the values are left as they are, as the picture may be a dark one. It returns the bits that the values use if they
// are few, and 0 otherwise.
func scaleDepth(im image.Image, significant int) (used int) {
	const few = 14
	var all, most uint16
	d := newDepth16(im)
	d.eachSample(func(v []uint8) {
		n := binary.BigEndian.Uint16(v)
		all, most = all|n, max(most, n)
	})
	used = bits.Len16(most)
	unscaled := significant > 0 && used <= significant && all&(1<<(16-significant)-1) != 0
	switch {
	case used == 0, used > few && !unscaled:
		return 0
	case !unscaled:
		return used
	}
	largest := uint32(1)<<significant - 1
	d.eachSample(func(v []uint8) {
		binary.BigEndian.PutUint16(v, uint16((uint32(binary.BigEndian.Uint16(v))*0xffff+largest/2)/largest))
	})
	return 0
}

// remarkOnDepth says that a picture uses few of its bits.
func remarkOnDepth(used int) string {
	return fmt.Sprintf("nearly black, as its values use %d of 16 bits: if that is its depth, scale it, "+
		"as by magick a.png -evaluate multiply %d b.png", used, 1<<(16-used))
}
