package imaging

import (
	"fmt"
	"image"
	"image/color"
)

// Image holds 8-bit pixels in rows from the top, with interleaved channels: the value of channel c
// at (x, y) is Pix[(y*W+x)*C+c]. C is 1 (grey) or 3 (sRGB). *Image is an image.Image, so package
// image/png, for example, can write it.
type Image struct {
	W, H, C int
	Pix     []uint8
}

// NewImage returns a black image.
func NewImage(w, h, c int) *Image {
	im := new(Image)
	im.Reset(w, h, c)
	return im
}

// FromImage copies any picture. Grey pictures get one channel, all others three. Transparency is
// composited over white.
func FromImage(src image.Image) *Image {
	im := new(Image)
	fromImage(im, src)
	return im
}

// ColorModel returns the colour model of im, which is an image.Image.
func (im *Image) ColorModel() color.Model {
	if im.C == 1 {
		return color.GrayModel
	}
	return color.RGBAModel
}

// Bounds returns the rectangle from (0, 0) to (W, H).
func (im *Image) Bounds() image.Rectangle { return image.Rect(0, 0, im.W, im.H) }

// At returns the colour of a pixel. It is black outside the image.
func (im *Image) At(x, y int) color.Color {
	if !image.Pt(x, y).In(im.Bounds()) {
		return im.ColorModel().Convert(color.Black)
	}
	p := im.Pix[(y*im.W+x)*im.C:]
	if im.C == 1 {
		return color.Gray{Y: p[0]}
	}
	return color.RGBA{R: p[0], G: p[1], B: p[2], A: 255}
}

// Reset gives im a new shape. It reuses the memory if that is large enough. The pixels are
// undefined.
func (im *Image) Reset(w, h, c int) {
	if w < 0 || h < 0 || (c != 1 && c != 3) {
		panic(fmt.Sprintf("imaging: image of %d x %d with %d channels", w, h, c))
	}
	im.W, im.H, im.C = w, h, c
	n := w * h * c
	if cap(im.Pix) < n {
		im.Pix = nil // so that it may be freed
		im.Pix = make([]uint8, n)
	}
	im.Pix = im.Pix[:n]
}

// Row returns the values of row y, sharing im's memory.
func (im *Image) Row(y int) []uint8 {
	n := im.W * im.C
	return im.Pix[y*n : (y+1)*n : (y+1)*n]
}

// CopyFrom makes im a copy of src.
func (im *Image) CopyFrom(src *Image) {
	im.Reset(src.W, src.H, src.C)
	copy(im.Pix, src.Pix)
}

// Crop cuts im down to r in place. It panics if r is empty or leaves the image.
func (im *Image) Crop(r image.Rectangle) {
	if r.Empty() || !r.In(image.Rect(0, 0, im.W, im.H)) {
		panic(fmt.Sprintf("imaging: crop %v of a %d x %d image", r, im.W, im.H))
	}
	n := r.Dx() * im.C
	for y := range r.Dy() {
		copy(im.Pix[y*n:(y+1)*n], im.Row(r.Min.Y + y)[r.Min.X*im.C:])
	}
	im.W, im.H = r.Dx(), r.Dy()
	im.Pix = im.Pix[:n*im.H]
}

// SetChannels converts im to c channels in place. Grey is repeated. Colour is reduced to ITU-R 601
// luma (0.299 R + 0.587 G + 0.114 B, rounded), as in PIL.
func (im *Image) SetChannels(c int) {
	switch {
	case c == im.C:
	case c == 1:
		n := im.W * im.H
		for i := range n {
			p := im.Pix[3*i : 3*i+3 : 3*i+3]
			im.Pix[i] = luma(p[0], p[1], p[2])
		}
		im.Pix, im.C = im.Pix[:n], 1
	default:
		n := im.W * im.H
		if cap(im.Pix) < 3*n {
			im.Pix = append(make([]uint8, 0, 3*n), im.Pix...)
		}
		im.Pix, im.C = im.Pix[:3*n], 3
		for i := n - 1; i >= 0; i-- {
			v := im.Pix[i]
			im.Pix[3*i], im.Pix[3*i+1], im.Pix[3*i+2] = v, v, v
		}
	}
}

// luma returns the ITU-R 601 luma in 16-bit fixed point. The weights add up to 65536.
func luma(r, g, b uint8) uint8 {
	return uint8((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b) + 1<<15) >> 16)
}
