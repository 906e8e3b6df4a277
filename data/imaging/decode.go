package imaging

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/heic"
	fastjpeg "github.com/kindred-ml/kindred/internal/format/jpeg"
	"github.com/kindred-ml/kindred/internal/format/wasm"
)

// DefaultMaxPixels is the size of the largest image that a Decoder accepts by default. It is more
// than any camera makes, and 540 MB when decoded to three channels.
const DefaultMaxPixels = 180_000_000

// Decoder reads image files. It keeps buffers between calls and is for one goroutine. The zero
// value is ready to use.
type Decoder struct {
	// MaxPixels bounds width times height by the header, before anything is decoded; 0 means
	// DefaultMaxPixels.
	MaxPixels int
	// MaxBytes, if not 0, bounds the memory for a picture, in addition to the limit of the process;
	// see Header.Bytes.
	MaxBytes int64
	// Buffer is memory that callers may read each file into; see Release.
	Buffer []byte
	// Background is the background of the last picture, if it is transparent.
	Background Background
	// Smooth enlarges the chroma of JPEG and AVIF files by interpolation. So do libjpeg, libavif and the
	// programs that use them: Pillow, torchvision and TensorFlow. Networks trained there have seen such
	// images. Without Smooth, chroma values are repeated, as libheif does with HEIC files.
	Smooth bool
	// Shrink, if set, reduces JPEG files, and HEIC files in tiles, while they are decoded, which saves
	// memory and, with JPEG, time. It takes the size of the upright picture and returns the divisor of
	// its sides: 1, 2, 4 or 8; see Pipeline.Shrink. Kinds of JPEG that only the standard library reads
	// keep their size.
	Shrink func(w, h int) int
	// RawColours leaves the values of pixels as they are stored. Otherwise those of a file that declares another colour
	// space are converted to sRGB in linear light: profiles (ICC) of curves and a matrix, gamma and chromaticities
	// (PNG), and code points of ITU-T H.273. Other spaces stay; see Remarks.
	RawColours bool

	fast fastjpeg.Decoder
	// declared is what the last file said of its colours, and converts how these become sRGB.
	declared   colourSpace
	conversion conversion
	// unconvertedReason says why the colours of the last picture are not sRGB, "" if they are.
	unconvertedReason string
	// usedBits are the bits that the values of the last picture use if they are few of 16, or 0.
	usedBits int
}

// ClearRemarks forgets the remarks on the last picture.
func (d *Decoder) ClearRemarks() { d.Background, d.unconvertedReason, d.usedBits = Opaque, "", 0 }

// Remarks says what became of the last picture that its user may not expect.
func (d *Decoder) Remarks() (list []string) {
	switch d.Background {
	case OnWhite:
		list = append(list, "transparent, put on white")
	case OnBlack:
		list = append(list, "transparent and nearly white, put on black")
	}
	if d.unconvertedReason != "" {
		list = append(list, "colours as they are stored: "+d.unconvertedReason)
	}
	if d.usedBits > 0 {
		list = append(list, remarkOnDepth(d.usedBits))
	}
	return list
}

// source is a file whose structure has been read.
type source struct {
	cfg image.Config
	// decode reads the picture as it is stored, and ends with its context. It is not set if sandbox is.
	decode func(ctx context.Context) (image.Image, error)
	// orientation is how the picture of decode is turned, by the file's EXIF.
	orientation int
	// colours returns what the structure says about the colours, in place of the format. It may be nil.
	colours func() colourSpace
	// sandbox is set for the formats whose decoders run in a sandbox.
	sandbox *sandboxedFile
	// bytes is the memory for decoding where the format knows it better than from cfg, or 0.
	bytes int64
	// jpeg is the kind of a JPEG file. Files of reducible kinds can be reduced while they are decoded.
	jpeg      fastjpeg.Header
	reducible bool
	// significant are the bits of a value that the file says have a meaning, or 0.
	significant int
	// check refuses a file that takes more work than its size explains. It may be nil.
	check func(file []byte) error
}

// goDecoder returns the opener of a format that a Go package decodes.
func goDecoder(config func(b []byte) (image.Config, error), decode func(r io.Reader) (image.Image, error)) func(
	context.Context, []byte, int64) (*source, error) {
	return func(_ context.Context, b []byte, _ int64) (*source, error) {
		cfg, err := config(b)
		if err != nil {
			return nil, err
		}
		return &source{cfg: cfg,
			decode: func(ctx context.Context) (image.Image, error) { return decode(newReader(ctx, b)) }}, nil
	}
}

// reader reads a file in memory until its context ends, and so ends decoders that know nothing of contexts. It gives
// few bytes at a time, as a few may stand for many pixels.
type reader struct {
	bytes.Reader
	ctx context.Context
}

func newReader(ctx context.Context, b []byte) *reader {
	r := &reader{ctx: ctx}
	r.Reset(b)
	return r
}

// ReadAt is for decoders that choose their place, which ask for a few KB at a time of what is compressed.
func (r *reader) ReadAt(p []byte, at int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.ReadAt(p, at)
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	const step = 256
	return r.Reader.Read(p[:min(len(p), step)])
}

// recoverPanic calls a decoder. It returns a panic, which a damaged file may cause, as an error.
func recoverPanic(decode func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the decoder failed: %v", r)
		}
	}()
	return decode()
}

// unsupported is the error of a valid file of a kind that is not read.
type unsupported string

func (u unsupported) Error() string { return string(u) + " is not supported" }

// decodeError returns the error for an error of the decoder. The file may be damaged, or valid but of a
// kind that is not supported.
func (f *format) decodeError(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var (
		ofJPEG jpeg.UnsupportedError
		ofPNG  png.UnsupportedError
		ofTIFF tiff.UnsupportedError
		ofHEIC heic.Unsupported
		known  unsupported
		memory *budget.Error
	)
	const convert = "convert the file to JPEG or PNG"
	switch {
	case errors.As(err, &ofJPEG):
		return fmt.Errorf("%s: %s is not supported: %s", f.name, string(ofJPEG), convert)
	case errors.As(err, &ofPNG) && ofPNG == "dimension overflow":
		return fmt.Errorf("PNG with too many pixels, or with a damaged header: %w", err)
	case errors.As(err, &ofPNG):
		return fmt.Errorf("PNG: %s is not supported: %s", string(ofPNG), convert)
	case errors.As(err, &known):
		ext := f.extensions[0]
		return fmt.Errorf("%w: convert the file to PNG, such as by magick a%s a.png", err, ext)
	case errors.As(err, &ofTIFF):
		return fmt.Errorf("TIFF: %s is not supported: %s", string(ofTIFF), convert)
	case errors.As(err, &ofHEIC):
		return fmt.Errorf("HEIC: %w: %s", ofHEIC, convert)
	case errors.Is(err, heic.ErrMissing):
		return err
	case errors.Is(err, wasm.ErrDecoder), errors.Is(err, wasm.ErrMemory), errors.Is(err, wasm.ErrLoops),
		errors.As(err, &memory):
		return fmt.Errorf("%s: %w", f.name, err)
	case errors.Is(err, bmp.ErrUnsupported):
		return fmt.Errorf("BMP: this kind of BMP is not supported: %s", convert)
	}
	return fmt.Errorf("damaged %s: %w", f.name, err)
}

// Decode reads the image file b into dst, upright and in 8 bits. Grey images get one channel, all
// others three.
//
//   - The EXIF orientation is applied, or, of formats that are decoded in a sandbox, the crops and turns that they
//     have of their own. HEIC needs a decoder that is not part of the program, see package internal/format/heic.
//   - Transparency is composited over white. It is composited over black if less than a hundredth
//     of the visible pixels, weighted by opacity, have a channel below 224, because white drawings
//     would vanish on white. See Decoder.Background.
//   - Colours of other spaces become sRGB; see Decoder.RawColours. CMYK is converted to RGB without a colour profile.
//     The upper 8 of 16 bits are kept.
//   - The first frame of an animation is read.
//
// Errors say what is wrong with the file. A file with more than MaxPixels, more memory than the
// limit (GOMEMLIMIT) or more scans than encoders write is refused before it is decoded. When ctx ends, decoding
// ends, and Decode returns ctx's error.
func (d *Decoder) Decode(ctx context.Context, dst *Image, b []byte) error {
	d.begin(dst)
	f, err := sniff(b)
	if err != nil {
		return err
	}
	if f.fastDecode != nil {
		if done, err := f.fastDecode(d, ctx, dst, b); done {
			if err == nil {
				d.unconvertedReason = d.conversionFor(func() colourSpace { return f.colours(b) }).apply(dst).reason
			}
			return err
		}
	}
	p, err := open(ctx, f, b, int64(len(b)))
	if err != nil {
		return err
	}
	return p.decode(ctx, d, dst)
}

// limit returns the largest number of pixels.
func (d *Decoder) limit() int {
	if d.MaxPixels <= 0 {
		return DefaultMaxPixels
	}
	return d.MaxPixels
}
