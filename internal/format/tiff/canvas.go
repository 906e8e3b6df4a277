package tiff

import (
	"errors"
	"image"
	"image/color"
)

// canvas is the picture that is made: pixels of step bytes.
type canvas struct {
	w, h, step int
	pix        []byte
	model      color.Model
	colours    [][3]byte // of a palette
	to         [][]int   // by sample, which bytes of a pixel it is
}

// canvas takes memory for the result.
func (p *picture) canvas() (*canvas, error) {
	c := &canvas{w: p.w, h: p.h, step: 4, model: p.model()}
	switch {
	case c.model == color.GrayModel:
		c.step = 1
		c.to = [][]int{{0}}
	case p.photometric <= blackIsZero:
		c.to = [][]int{{0, 1, 2}, {3}}
	case p.photometric == palette:
		c.to = [][]int{{0}, {3}}
		var err error
		if c.colours, err = p.colourMap(); err != nil {
			return nil, err
		}
	case p.photometric == cmyk:
		c.to = [][]int{{0}, {1}, {2}, {3}}
	default:
		c.to = [][]int{{0}, {1}, {2}, {3}}
	}
	if p.alpha == noAlpha && p.photometric != cmyk {
		c.to = c.to[:p.colours()]
	}
	c.pix = make([]byte, c.step*c.w*c.h)
	if c.step == 4 && p.alpha == noAlpha && p.photometric != cmyk {
		for i := 3; i < len(c.pix); i += 4 {
			c.pix[i] = 0xff
		}
	}
	return c, nil
}

// colourMap reads the palette. Its values have 16 bits; where none is above 255 they are
// taken for 8, as libtiff does.
func (p *picture) colourMap() ([][3]byte, error) {
	values := p.numbers(tagColorMap)
	n := 1 << p.bits
	if len(values) < 3*n {
		return nil, errors.New("the palette is missing or too short")
	}
	shift := 0
	for _, v := range values {
		if v > 255 {
			shift = 8
		}
	}
	out := make([][3]byte, n)
	for i := range out {
		for k := range 3 {
			out[i][k] = byte(values[k*n+i] >> shift)
		}
	}
	return out, nil
}

// samples writes a block of w x rows pixels at a point. plane is its sample where it holds
// only one.
func (c *canvas) samples(p *picture, b []byte, at image.Point, w, rows, plane, samples int) error {
	stride := ceil(w*samples*p.bits, 8)
	wide, high := min(w, c.w-at.X), min(rows, c.h-at.Y)
	for s := range samples {
		sample := s
		if p.planes {
			sample = plane
		}
		if sample >= len(c.to) {
			continue // an extra sample without a meaning
		}
		for y := range high {
			row := b[y*stride : (y+1)*stride]
			pix := c.pix[((at.Y+y)*c.w+at.X)*c.step:][:wide*c.step]
			for x := range wide {
				v := p.sample(row, x*samples+s)
				if c.colours != nil && sample == 0 {
					copy(pix[x*4:], c.colours[v][:])
					continue
				}
				for _, k := range c.to[sample] {
					pix[x*c.step+k] = p.scaled(v, sample)
				}
			}
		}
	}
	return nil
}

// sample is the value i of a row.
func (p *picture) sample(row []byte, i int) int {
	switch p.bits {
	case 8:
		return int(row[i])
	case 16:
		return int(p.order.Uint16(row[2*i:]))
	}
	v := 0
	for k := i * p.bits; k < (i+1)*p.bits; k++ {
		v = v<<1 | int(row[k/8]>>(7-k%8)&1)
	}
	return v
}

// scaled is a sample in 8 bits: of 16 the upper ones, of others in proportion.
func (p *picture) scaled(v, sample int) byte {
	switch {
	case p.bits > 8:
		v >>= p.bits - 8
	case p.bits < 8:
		v = v * 255 / (1<<p.bits - 1)
	}
	if p.photometric == whiteIsZero && sample == 0 {
		v = 255 - v
	}
	return byte(v)
}

// chroma writes a block of YCbCr, in units of across x down values of luma and one each of
// chroma.
func (c *canvas) chroma(b []byte, at image.Point, w, rows, across, down int) {
	unit := across*down + 2
	cols := ceil(w, across)
	for y := range min(rows, c.h-at.Y) {
		for x := range min(w, c.w-at.X) {
			u := b[(y/down*cols+x/across)*unit:][:unit]
			o := c.pix[((at.Y+y)*c.w+at.X+x)*4:]
			o[0], o[1], o[2] = color.YCbCrToRGB(u[y%down*across+x%across], u[unit-2], u[unit-1])
		}
	}
}

// image is the picture with its model.
func (c *canvas) image() image.Image {
	r := image.Rect(0, 0, c.w, c.h)
	switch c.model {
	case color.GrayModel:
		return &image.Gray{Pix: c.pix, Stride: c.w, Rect: r}
	case color.CMYKModel:
		return &image.CMYK{Pix: c.pix, Stride: 4 * c.w, Rect: r}
	case color.RGBAModel:
		return &image.RGBA{Pix: c.pix, Stride: 4 * c.w, Rect: r}
	}
	return &image.NRGBA{Pix: c.pix, Stride: 4 * c.w, Rect: r}
}
