package tiff

import (
	"context"
	"errors"
	"image"
	"image/color"
)

// canvas is the picture that is made: pixels of step bytes.
type canvas struct {
	w, h, step int
	pix        []byte
	model      color.Model
	channels   [][]int // by sample, which bytes of a pixel it is
}

// channels are, by sample, which bytes of a pixel of the result it is. Samples beyond these have no
// meaning.
func (f *File) channels() [][]int {
	to := [][]int{{0}, {1}, {2}, {3}}
	switch {
	case f.model() == color.GrayModel:
		to = [][]int{{0}}
	case f.photometric <= blackIsZero:
		to = [][]int{{0, 1, 2}, {3}}
	case f.photometric == palette:
		to = [][]int{{0}, {3}}
	}
	if f.alpha == noAlpha && f.photometric != cmyk {
		to = to[:f.numColours()]
	}
	return to
}

// newCanvas takes memory for the result.
func (f *File) newCanvas() *canvas {
	c := &canvas{w: f.w, h: f.h, step: f.step(), model: f.model(), channels: f.channels()}
	c.pix = make([]byte, c.step*c.w*c.h)
	return c
}

// readPalette reads the palette. Its values have 16 bits; where none is above 255 they are
// taken for 8, as libtiff does.
func (f *File) readPalette() error {
	if f.photometric != palette {
		return nil
	}
	n := 1 << f.bits
	values := f.numbers(tagColorMap, 3*n)
	if len(values) < 3*n {
		return errors.New("the palette is missing or too short")
	}
	shift := 0
	for _, v := range values {
		if v > 255 {
			shift = 8
		}
	}
	f.colours = make([][3]byte, n)
	for i := range f.colours {
		for k := range 3 {
			f.colours[i][k] = byte(values[k*n+i] >> shift)
		}
	}
	return nil
}

// samples writes a block of rows at a point. plane is its sample where it holds only one.
func (c *canvas) samples(d *decoder, b []byte, at image.Point, rows, plane, samples int) error {
	stride := ceil(d.blockW*samples*d.bits, 8)
	wide, high := min(d.blockW, c.w-at.X), min(rows, c.h-at.Y)
	for y := range high {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		row := b[y*stride : (y+1)*stride]
		pix := c.row(at, y, wide)
		for s := range min(samples, len(c.channels)) { // extra samples have no meaning
			sample := s
			if d.planes {
				sample = plane
			}
			for x := range wide {
				v := d.sample(row, x*samples+s)
				if d.colours != nil && sample == 0 {
					copy(pix[x*c.step:], d.colours[v][:])
					continue
				}
				for _, k := range c.channels[sample] {
					pix[x*c.step+k] = d.scaled(v, sample)
				}
			}
		}
	}
	return nil
}

// row is the part of a row of the result, y below a point, that a block covers.
func (c *canvas) row(at image.Point, y, wide int) []byte {
	return c.pix[((at.Y+y)*c.w+at.X)*c.step:][:wide*c.step]
}

// sample is the value i of a row.
func (f *File) sample(row []byte, i int) int {
	switch f.bits {
	case 8:
		return int(row[i])
	case 16:
		return int(f.order.Uint16(row[2*i:]))
	}
	v := 0
	for k := i * f.bits; k < (i+1)*f.bits; k++ {
		v = v<<1 | int(row[k/8]>>(7-k%8)&1)
	}
	return v
}

// scaled is a sample in 8 bits: of 16 the upper ones, of others in proportion.
func (f *File) scaled(v, sample int) byte {
	switch {
	case f.bits > 8:
		v >>= f.bits - 8
	case f.bits < 8:
		v = v * 255 / (1<<f.bits - 1)
	}
	if f.photometric == whiteIsZero && sample == 0 {
		v = 255 - v
	}
	return byte(v)
}

// chroma writes a block of YCbCr, in units of across x down values of luma and one each of
// chroma.
func (c *canvas) chroma(ctx context.Context, b []byte, at image.Point, w, rows, across, down int) error {
	unit := across*down + 2
	cols := ceil(w, across)
	wide := min(w, c.w-at.X)
	for y := range min(rows, c.h-at.Y) {
		if err := ctx.Err(); err != nil {
			return err
		}
		pix := c.row(at, y, wide)
		for x := range wide {
			u := b[(y/down*cols+x/across)*unit:][:unit]
			o := pix[c.step*x:]
			o[0], o[1], o[2] = color.YCbCrToRGB(u[y%down*across+x%across], u[unit-2], u[unit-1])
		}
	}
	return nil
}

// RGB is an opaque picture of three bytes a pixel.
type RGB struct {
	W, H int
	Pix  []uint8
}

// ColorModel returns the model of the colours that At returns.
func (*RGB) ColorModel() color.Model { return color.RGBAModel }

// Bounds returns the rectangle from (0, 0) to (W, H).
func (im *RGB) Bounds() image.Rectangle { return image.Rect(0, 0, im.W, im.H) }

// At returns the colour of a pixel. It is black outside the picture.
func (im *RGB) At(x, y int) color.Color {
	if !image.Pt(x, y).In(im.Bounds()) {
		return color.RGBA{A: 255}
	}
	p := im.Pix[3*(y*im.W+x):]
	return color.RGBA{p[0], p[1], p[2], 255}
}

// image is the picture with its model.
func (c *canvas) image() image.Image {
	r := image.Rect(0, 0, c.w, c.h)
	switch {
	case c.step == 3:
		return &RGB{c.w, c.h, c.pix}
	case c.model == color.GrayModel:
		return &image.Gray{Pix: c.pix, Stride: c.w, Rect: r}
	case c.model == color.CMYKModel:
		return &image.CMYK{Pix: c.pix, Stride: 4 * c.w, Rect: r}
	case c.model == color.RGBAModel:
		return &image.RGBA{Pix: c.pix, Stride: 4 * c.w, Rect: r}
	}
	return &image.NRGBA{Pix: c.pix, Stride: 4 * c.w, Rect: r}
}
