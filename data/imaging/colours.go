package imaging

import (
	"bytes"
	"image"
	"image/color"
	"math"

	"github.com/kindred-ml/kindred/internal/format/colourspace"
)

// colourSpace is what a file says about its colours. All of it may be missing; then colours are taken for sRGB. Of
// several statements the first of these fields counts.
type colourSpace struct {
	// other is the space of formats that state it in a way of their own, or why it is not one that is converted.
	other *colourspace.Space
	err   error
	// cicp has the code points of ITU-T H.273 for primaries and transfer function. 2 is unspecified. It is zero
	// without them.
	cicp struct{ primaries, transfer uint8 }
	// icc is a profile of the International Color Consortium, of at most maxProfile bytes. It may share the memory of
	// the file, and may be damaged.
	icc []byte
	// srgb is set if the file says that its colours are sRGB.
	srgb bool
	// gamma is the exponent from light to samples, as 0.45455; 0 without one.
	gamma float64
	// chromaticities are x and y of white, red, green and blue, or all zero.
	chromaticities [8]float64
}

// maxProfile is the size of the largest profile that is read. Those of printers have up to 3 MB.
const maxProfile = 4 << 20

// smallProfile returns a profile, or nil for one that is too large.
func smallProfile(b []byte) []byte {
	if len(b) > maxProfile {
		return nil
	}
	return b
}

// space returns the colour space; nil for sRGB.
func (c *colourSpace) space() (*colourspace.Space, error) {
	const unspecified = 2
	switch p, t := c.cicp.primaries, c.cicp.transfer; {
	case c.other != nil, c.err != nil:
		return c.other, c.err
	case p != 0 && (p != unspecified || t != unspecified):
		return colourspace.FromH273(int(p), int(t))
	case c.icc != nil:
		return colourspace.ReadICC(c.icc)
	case c.srgb, c.gamma == 0 && c.chromaticities == [8]float64{}:
		return nil, nil
	}
	primaries := colourspace.SRGBPrimaries()
	if xy := c.chromaticities; xy != [8]float64{} {
		at := func(i int) colourspace.XY { return colourspace.XY{X: xy[2*i], Y: xy[2*i+1]} }
		primaries = colourspace.Primaries{White: at(0), Red: at(1), Green: at(2), Blue: at(3)}
	}
	curve := colourspace.SRGB
	// Files say 1/2.2 for the curve of sRGB, which is near to it.
	if least, most := 0.05, 20.0; c.gamma >= least && c.gamma <= most && math.Abs(2.2*c.gamma-1) > 0.01 {
		curve = colourspace.Gamma(1 / c.gamma)
	}
	return colourspace.New(primaries, curve)
}

// equal reports whether two files say the same.
func (c *colourSpace) equal(o *colourSpace) bool {
	return c.other == nil && o.other == nil && c.err == nil && o.err == nil && c.cicp == o.cicp && c.srgb == o.srgb &&
		c.gamma == o.gamma && c.chromaticities == o.chromaticities && bytes.Equal(c.icc, o.icc)
}

// conversion is what becomes of the colours of a file. The zero value leaves them as they are.
type conversion struct {
	*colourspace.Converter
	// reason says why the colours are left as they are, "" if they are not.
	reason string
}

// conversionFor returns the conversion to sRGB of a file that declares these colours. Files of a camera have the same
// profile, so that of the last file is kept.
func (d *Decoder) conversionFor(declared func() colourSpace) conversion {
	if d.RawColours {
		return conversion{}
	}
	says := declared()
	if d.declared.equal(&says) {
		return d.conversion
	}
	d.conversion = conversion{}
	s, err := says.space()
	if err != nil {
		d.conversion.reason = err.Error()
	} else if s != nil {
		d.conversion.Converter = colourspace.NewConverter(s)
	}
	says.icc = bytes.Clone(says.icc) // the file may change
	d.declared = says
	return d.conversion
}

// forChannels forgets a conversion that is not one for pictures of c channels.
func (v conversion) forChannels(c int) conversion {
	if v.Converter != nil && !v.Accepts(c) {
		return conversion{reason: "its colour space is one of greys"}
	}
	return v
}

// apply converts an opaque picture.
func (v conversion) apply(im *Image) conversion {
	if v = v.forChannels(im.C); v.Converter != nil {
		v.Convert8(im.Pix, im.C)
	}
	return v
}

// applyTo converts a picture before its transparency is lost. It returns false for the kinds that it does not know,
// which are opaque.
func (v conversion) applyTo(im image.Image) (conversion, bool) {
	switch im := im.(type) {
	case *image.Gray:
		v.rows(im.Pix, 1, 1)
	case *image.Gray16:
		v.rows(im.Pix, 1, 2)
	case *image.NRGBA:
		v = v.forChannels(3)
		v.rows(im.Pix, 4, 1)
	case *image.NRGBA64:
		v = v.forChannels(3)
		v.rows(im.Pix, 4, 2)
	case *image.RGBA:
		v = v.applyToRGBA(im.Pix, 1, true)
	case *image.RGBA64:
		v = v.applyToRGBA(im.Pix, 2, true)
	case *image.Paletted:
		v = v.forChannels(3)
		for i, c := range im.Palette {
			n := color.NRGBAModel.Convert(c).(color.NRGBA)
			p := []uint8{n.R, n.G, n.B, n.A}
			v.rows(p, 4, 1)
			im.Palette[i] = color.NRGBA{p[0], p[1], p[2], p[3]}
		}
	default:
		return v, false
	}
	return v, true
}

// rows converts pixels of step values of size bytes.
func (v conversion) rows(pix []uint8, step, size int) {
	switch {
	case v.Converter == nil:
	case size == 1:
		v.Convert8(pix, step)
	default:
		v.Convert16(pix, step)
	}
}

// applyToRGBA converts pixels of four values of size bytes, whose colours may be multiplied by the alpha.
func (v conversion) applyToRGBA(pix []uint8, size int, premultiplied bool) conversion {
	v = v.forChannels(3)
	if v.Converter == nil || !premultiplied || isOpaque(pix, len(pix), len(pix)/(4*size), 1, 4*size) {
		v.rows(pix, 4, size)
		return v
	}
	most := int64(math.MaxUint8)
	if size == 2 {
		most = math.MaxUint16
	}
	p := samples{pix: pix, size: 4 * size, wide: size == 2}
	for i := range len(pix) / p.size {
		a := int64(p.get(i, 3))
		// scale multiplies the colours by a fraction, rounded.
		scale := func(by, of int64) {
			for c := range 3 {
				p.set(i, c, int32((int64(p.get(i, c))*by+of/2)/of))
			}
		}
		if a > 0 {
			scale(most, a)
			v.rows(pix[i*p.size:][:p.size], 4, size)
			scale(a, most)
		}
	}
	return v
}
