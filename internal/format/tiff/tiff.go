// Package tiff reads TIFF pictures as libtiff does: classic and BigTIFF files of both byte
// orders, in strips or tiles, with samples of 1 to 16 bits side by side or in planes of their
// own; black and white, grey, palettes, RGB, CMYK and YCbCr, with or without alpha; without
// compression or in CCITT RLE, G3 and G4, LZW, PackBits, Deflate, Zstandard and JPEG. Of a
// file of several pictures the first is read.
//
// What is valid and not read gives Unsupported; every other error is of a damaged file, or of one
// that takes more memory or work than its size explains.
package tiff

import (
	"context"
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
	tagOrientation  = 274
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

// File is a TIFF file whose structure has been read. It does not change, and refers to the file's
// bytes.
type File struct {
	directory
	grid
	w, h        int
	bits        int // of a sample
	samples     int // of a pixel
	photometric int
	compression int
	planes      bool // samples are not interleaved
	alpha       alphaKind
	across      int // pixels for a value of chroma, of YCbCr that is not in JPEG
	down        int
	reversed    bool // the bits of every byte are turned around
	differences bool // samples are kept as differences from those to the left of them
	fax         faxKind
	colours     [][3]byte // of a palette
	tables      []byte    // what comes before the data of each JPEG
	memory      int64
}

// alphaKind says what the first sample behind the colours is.
type alphaKind int

const (
	noAlpha alphaKind = iota
	straight
	premultiplied
)

// Open reads the structure of a file: its first directory, and how the picture is cut into blocks.
// It takes little memory, whatever the file says.
func Open(b []byte) (*File, error) {
	d, err := readDirectory(b)
	if err != nil {
		return nil, err
	}
	f := &File{directory: *d}
	f.w, f.h = f.side(tagWidth), f.side(tagHeight)
	if f.w <= 0 || f.h <= 0 || f.w > 1<<34/f.h {
		return nil, fmt.Errorf("%d x %d pixels", f.w, f.h)
	}
	f.samples, f.compression = f.number(tagSamples, 1), f.number(tagCompression, compressNone)
	if f.compression == 0 {
		f.compression = compressNone
	}
	for _, read := range []func() error{
		f.readBits, f.readInterpretation, f.check, f.readPalette, f.readTables, f.readGrid,
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	f.memory = budget.Sum(budget.Product(int64(f.step()), int64(f.w), int64(f.h)), f.blockMemory())
	return f, nil
}

// Config returns the size and the colour model of the picture.
func (f *File) Config() image.Config {
	return image.Config{Width: f.w, Height: f.h, ColorModel: f.model()}
}

// Memory returns an upper bound in bytes of the memory that Decode takes: the result, the largest
// block, and what the decoder of the blocks takes.
func (f *File) Memory() int64 { return f.memory }

// Decode reads the picture, of samples of 8 bits. When ctx ends, it returns ctx's error.
func (f *File) Decode(ctx context.Context) (im image.Image, err error) {
	d := decoder{File: f, ctx: ctx}
	defer d.close()
	return d.decode()
}

// side is a length in pixels; 0 for what is no such length.
func (f *File) side(tag uint16) int {
	n := f.number(tag, 0)
	if n < 0 || n > 1<<30 {
		return 0
	}
	return n
}

// readBits reads the bits of a sample, which must be those of every sample.
func (f *File) readBits() error {
	if f.samples < 1 || f.samples > 64 {
		return fmt.Errorf("%d samples a pixel", f.samples)
	}
	bits := f.numbers(tagBits, f.samples)
	f.bits = 1
	if len(bits) > 0 {
		f.bits = int(min(bits[0], 1<<16))
	}
	for _, n := range bits {
		if int(min(n, 1<<16)) != f.bits {
			return Unsupported(fmt.Sprintf("a picture with samples of %d and of %d bits", f.bits, n))
		}
	}
	for _, n := range f.numbers(tagSampleFormat, f.samples) {
		switch n {
		case 1, 4: // unsigned, undefined
		case 2:
			return Unsupported("a picture of signed integers")
		case 3:
			return Unsupported("a picture of floating-point numbers")
		default:
			return Unsupported("a picture of complex numbers")
		}
	}
	if f.bits < 1 || f.bits > 16 {
		return Unsupported(fmt.Sprintf("a sample of %d bits", f.bits))
	}
	return nil
}

// readInterpretation reads what samples mean. Some programs leave it out; then libtiff guesses.
func (f *File) readInterpretation() error {
	guess := blackIsZero
	switch {
	case compressRLE <= f.compression && f.compression <= compressG4 || f.compression == compressRLEW:
		guess = whiteIsZero
	case f.samples >= 3:
		guess = rgb
	}
	f.photometric = f.number(tagPhotometric, guess)
	switch n := f.photometric; n {
	case whiteIsZero, blackIsZero, rgb, palette, cmyk, ycbcr:
		return nil
	case 4:
		return Unsupported("a transparency mask")
	case 8, 9, 10:
		return Unsupported("the colour space CIE L*a*b*")
	case 32803, 34892:
		return Unsupported("a camera's raw picture (DNG)")
	case 32844, 32845:
		return Unsupported("the colour space LogLuv")
	default:
		return Unsupported(fmt.Sprintf("photometric interpretation %d", n))
	}
}

// numColours is the number of samples that are no alpha and no extra ones.
func (f *File) numColours() int {
	switch f.photometric {
	case rgb, ycbcr:
		return 3
	case cmyk:
		return 4
	}
	return 1
}

// check refuses combinations that are not read, and those that are none.
func (f *File) check() error {
	extra := f.samples - f.numColours()
	if extra < 0 {
		return fmt.Errorf("%d samples a pixel for a picture that takes %d", f.samples, f.numColours())
	}
	f.planes = f.number(tagPlanar, 1) == 2 && f.samples > 1
	if kinds := f.numbers(tagExtraSamples, 1); extra > 0 && f.photometric != cmyk {
		switch {
		case len(kinds) > 0 && kinds[0] == 1:
			f.alpha = premultiplied
		case len(kinds) > 0 && kinds[0] == 2, len(kinds) == 0 && f.photometric == rgb && f.samples == 4:
			f.alpha = straight
		}
	}
	switch {
	case f.photometric == palette && f.bits > 8:
		return Unsupported(fmt.Sprintf("a palette with samples of %d bits", f.bits))
	case f.photometric == cmyk && f.number(tagInkSet, 1) != 1:
		return Unsupported("a picture of inks other than CMYK")
	}
	if err := f.checkCompression(); err != nil {
		return err
	}
	if f.photometric == ycbcr {
		return f.checkChroma()
	}
	return nil
}

// checkChroma reads how YCbCr is stored.
func (f *File) checkChroma() error {
	f.across, f.down = 2, 2 // libtiff's default
	if s := f.numbers(tagSubsampling, 2); len(s) >= 2 {
		f.across, f.down = int(min(s[0], 99)), int(min(s[1], 99))
	}
	if f.compression == compressJPEG {
		f.across, f.down = 1, 1 // the JPEG knows
		return nil
	}
	for _, n := range []int{f.across, f.down} {
		if n != 1 && n != 2 && n != 4 {
			return fmt.Errorf("chroma of %d x %d pixels", f.across, f.down)
		}
	}
	switch {
	case f.bits != 8:
		return Unsupported(fmt.Sprintf("YCbCr with samples of %d bits", f.bits))
	case f.samples != 3:
		return Unsupported(fmt.Sprintf("YCbCr with %d samples a pixel", f.samples))
	case f.planes:
		return Unsupported("YCbCr with its samples in planes of their own")
	case !f.isUsual(tagCoefficients, 0.299, 0.587, 0.114), !f.isUsual(tagReference, 0, 255, 128, 255, 128, 255):
		return Unsupported("YCbCr with other coefficients or ranges than those of JPEG")
	}
	return nil
}

// isUsual reports whether a tag has these values or is missing.
func (f *File) isUsual(tag uint16, values ...float64) bool {
	got := f.rationals(tag, len(values)+1)
	for i, v := range got {
		if i >= len(values) || v < values[i]-0.001 || v > values[i]+0.001 {
			return false
		}
	}
	return true
}

// model is the colour model of the result.
func (f *File) model() color.Model {
	switch {
	case f.photometric == cmyk:
		return color.CMYKModel
	case f.alpha == noAlpha && f.photometric <= blackIsZero:
		return color.GrayModel
	case f.alpha == straight:
		return color.NRGBAModel
	}
	return color.RGBAModel
}

// IsRGB reports whether the result of Decode is an *RGB.
func (f *File) IsRGB() bool {
	return f.alpha == noAlpha && f.photometric > blackIsZero && f.photometric != cmyk
}

// step is the number of bytes of a pixel of the result.
func (f *File) step() int {
	switch {
	case f.IsRGB():
		return 3
	case f.model() == color.GrayModel:
		return 1
	}
	return 4
}
