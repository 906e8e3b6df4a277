// Package tiff reads TIFF pictures as libtiff does: classic and BigTIFF files of both byte
// orders, in strips or tiles, with samples of 1 to 16 bits side by side or in planes of their
// own; black and white, grey, palettes, RGB, CMYK and YCbCr, with or without alpha; without
// compression or in CCITT RLE, G3 and G4, LZW, PackBits, Deflate, Zstandard and JPEG. Of a
// file of several pictures the first is read.
//
// What is valid and not read gives Unsupported; every other error is of a damaged file.
package tiff

import (
	"fmt"
	"image"
	"image/color"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// Unsupported names a kind of TIFF that is not read: "LZMA compression".
type Unsupported string

func (u Unsupported) Error() string { return string(u) + " is not supported" }

// Tags.
const (
	tagWidth        = 256
	tagHeight       = 257
	tagBits         = 258
	tagCompression  = 259
	tagPhotometric  = 262
	tagFillOrder    = 266
	tagStripOffsets = 273
	tagSamples      = 277
	tagRowsPerStrip = 278
	tagStripBytes   = 279
	tagPlanar       = 284
	tagG3Options    = 292
	tagPredictor    = 317
	tagColorMap     = 320
	tagTileWidth    = 322
	tagTileHeight   = 323
	tagTileOffsets  = 324
	tagTileBytes    = 325
	tagInkSet       = 332
	tagExtraSamples = 338
	tagSampleFormat = 339
	tagJPEGTables   = 347
	tagCoefficients = 529
	tagSubsampling  = 530
	tagReference    = 532
)

// Photometric interpretations.
const (
	whiteIsZero = 0
	blackIsZero = 1
	rgb         = 2
	palette     = 3
	cmyk        = 5
	ycbcr       = 6
)

// picture is what the directory says of a picture.
type picture struct {
	directory
	w, h        int
	bits        int // of a sample
	samples     int // of a pixel
	photometric int
	compression int
	planes      bool // samples are not interleaved
	alpha       alphaKind
	across      int // pixels for a value of chroma, of YCbCr that is not in JPEG
	down        int
}

// alphaKind says what the first sample behind the colours is.
type alphaKind int

const (
	noAlpha alphaKind = iota
	straight
	premultiplied
)

// DecodeConfig reads the size and the colour model of a picture.
func DecodeConfig(b []byte) (image.Config, error) {
	p, err := open(b)
	if err != nil {
		return image.Config{}, err
	}
	return image.Config{Width: p.w, Height: p.h, ColorModel: p.model()}, nil
}

// Decode reads a picture, of samples of 8 bits.
func Decode(b []byte) (image.Image, error) {
	p, err := open(b)
	if err != nil {
		return nil, err
	}
	out, err := p.canvas()
	if err != nil {
		return nil, err
	}
	if err := p.blocks(out); err != nil {
		return nil, err
	}
	return out.image(), nil
}

func open(b []byte) (*picture, error) {
	d, err := readDirectory(b)
	if err != nil {
		return nil, err
	}
	p := &picture{directory: *d}
	p.w, p.h = p.side(tagWidth), p.side(tagHeight)
	if p.w <= 0 || p.h <= 0 || p.w > 1<<34/p.h {
		return nil, fmt.Errorf("%d x %d pixels", p.w, p.h)
	}
	p.samples, p.compression = p.number(tagSamples, 1), p.number(tagCompression, compressNone)
	if p.compression == 0 {
		p.compression = compressNone
	}
	if err := p.readBits(); err != nil {
		return nil, err
	}
	if p.photometric, err = p.interpretation(); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	return p, nil
}

// side is a length in pixels; 0 for what is no such length.
func (p *picture) side(tag uint16) int {
	n := p.number(tag, 0)
	if n < 0 || n > 1<<30 {
		return 0
	}
	return n
}

// readBits reads the bits of a sample, which must be those of every sample.
func (p *picture) readBits() error {
	if p.samples < 1 || p.samples > 64 {
		return fmt.Errorf("%d samples a pixel", p.samples)
	}
	bits := p.numbers(tagBits)
	p.bits = 1
	if len(bits) > 0 {
		p.bits = int(min(bits[0], 1<<16))
	}
	for _, n := range bits[:min(len(bits), p.samples)] {
		if int(min(n, 1<<16)) != p.bits {
			return Unsupported(fmt.Sprintf("a picture with samples of %d and of %d bits", p.bits, n))
		}
	}
	for _, f := range p.numbers(tagSampleFormat) {
		switch f {
		case 1, 4: // unsigned, undefined
		case 2:
			return Unsupported("a picture of signed integers")
		case 3:
			return Unsupported("a picture of floating-point numbers")
		default:
			return Unsupported("a picture of complex numbers")
		}
	}
	if p.bits < 1 || p.bits > 16 {
		return Unsupported(fmt.Sprintf("a sample of %d bits", p.bits))
	}
	return nil
}

// interpretation is what samples mean. Some programs leave it out; then libtiff guesses.
func (p *picture) interpretation() (int, error) {
	guess := blackIsZero
	switch {
	case compressRLE <= p.compression && p.compression <= compressG4 || p.compression == compressRLEW:
		guess = whiteIsZero
	case p.samples >= 3:
		guess = rgb
	}
	switch n := p.number(tagPhotometric, guess); n {
	case whiteIsZero, blackIsZero, rgb, palette, cmyk, ycbcr:
		return n, nil
	case 4:
		return 0, Unsupported("a transparency mask")
	case 8, 9, 10:
		return 0, Unsupported("the colour space CIE L*a*b*")
	case 32803, 34892:
		return 0, Unsupported("a camera's raw picture (DNG)")
	case 32844, 32845:
		return 0, Unsupported("the colour space LogLuv")
	default:
		return 0, Unsupported(fmt.Sprintf("photometric interpretation %d", n))
	}
}

// colours is the number of samples that are no alpha and no extra ones.
func (p *picture) colours() int {
	switch p.photometric {
	case rgb, ycbcr:
		return 3
	case cmyk:
		return 4
	}
	return 1
}

// check refuses combinations that are not read, and those that are none.
func (p *picture) check() error {
	extra := p.samples - p.colours()
	if extra < 0 {
		return fmt.Errorf("%d samples a pixel for a picture that takes %d", p.samples, p.colours())
	}
	p.planes = p.number(tagPlanar, 1) == 2 && p.samples > 1
	if kinds := p.numbers(tagExtraSamples); extra > 0 && p.photometric != cmyk {
		switch {
		case len(kinds) > 0 && kinds[0] == 1:
			p.alpha = premultiplied
		case len(kinds) > 0 && kinds[0] == 2, len(kinds) == 0 && p.photometric == rgb && p.samples == 4:
			p.alpha = straight
		}
	}
	switch {
	case p.photometric == palette && p.bits > 8:
		return Unsupported(fmt.Sprintf("a palette with samples of %d bits", p.bits))
	case p.photometric == cmyk && p.number(tagInkSet, 1) != 1:
		return Unsupported("a picture of inks other than CMYK")
	case p.compression == compressJPEG && p.bits != 8:
		return Unsupported(fmt.Sprintf("JPEG with samples of %d bits", p.bits))
	}
	if err := p.knownCompression(); err != nil {
		return err
	}
	if p.photometric == ycbcr {
		return p.checkChroma()
	}
	return nil
}

// checkChroma reads how YCbCr is stored.
func (p *picture) checkChroma() error {
	p.across, p.down = 2, 2 // libtiff's default
	if s := p.numbers(tagSubsampling); len(s) >= 2 {
		p.across, p.down = int(min(s[0], 99)), int(min(s[1], 99))
	}
	if p.compression == compressJPEG {
		p.across, p.down = 1, 1 // the JPEG knows
		return nil
	}
	for _, n := range []int{p.across, p.down} {
		if n != 1 && n != 2 && n != 4 {
			return fmt.Errorf("chroma of %d x %d pixels", p.across, p.down)
		}
	}
	switch {
	case p.bits != 8:
		return Unsupported(fmt.Sprintf("YCbCr with samples of %d bits", p.bits))
	case p.samples != 3:
		return Unsupported(fmt.Sprintf("YCbCr with %d samples a pixel", p.samples))
	case p.planes:
		return Unsupported("YCbCr with its samples in planes of their own")
	case !p.usual(tagCoefficients, 0.299, 0.587, 0.114), !p.usual(tagReference, 0, 255, 128, 255, 128, 255):
		return Unsupported("YCbCr with other coefficients or ranges than those of JPEG")
	}
	return nil
}

// usual reports whether a tag has these values or is missing.
func (p *picture) usual(tag uint16, values ...float64) bool {
	got := p.rationals(tag)
	for i, v := range got {
		if i >= len(values) || v < values[i]-0.001 || v > values[i]+0.001 {
			return false
		}
	}
	return true
}

// model is the colour model of the result.
func (p *picture) model() color.Model {
	switch {
	case p.photometric == cmyk:
		return color.CMYKModel
	case p.alpha == premultiplied:
		return color.RGBAModel
	case p.alpha == noAlpha && p.photometric <= blackIsZero:
		return color.GrayModel
	}
	return color.NRGBAModel
}

// blocks decodes all strips or tiles into out.
func (p *picture) blocks(out *canvas) error {
	g, err := p.layout()
	if err != nil {
		return err
	}
	if err := budget.Check("a strip or tile of a TIFF", int64(g.size(p, 0))); err != nil {
		return err
	}
	buf := make([]byte, g.size(p, 0))
	for plane := range g.planes {
		for row := range g.down {
			for col := range g.across {
				i := (plane*g.down+row)*g.across + col
				at := image.Pt(col*g.w, row*g.h)
				if err := p.block(g, i, plane, at, buf, out); err != nil {
					return fmt.Errorf("block %d of %d: %w", i, len(g.offsets), err)
				}
			}
		}
	}
	return nil
}

// block decodes one strip or tile, whose upper left pixel is at a point of the picture.
func (p *picture) block(g *grid, i, plane int, at image.Point, buf []byte, out *canvas) error {
	data, err := g.data(p, i)
	if err != nil {
		return err
	}
	rows := g.rows(at.Y, p.h)
	if p.compression == compressJPEG {
		return p.jpeg(data, g.w, rows, plane, at, out)
	}
	buf = buf[:g.size(p, at.Y)]
	if err := p.unpack(buf, data, g.w, rows, g.blockSamples(p)); err != nil {
		return err
	}
	if p.photometric == ycbcr {
		out.chroma(buf, at, g.w, rows, p.across, p.down)
		return nil
	}
	return out.samples(p, buf, at, g.w, rows, plane, g.blockSamples(p))
}
