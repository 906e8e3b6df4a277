package imaging

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"

	"golang.org/x/image/bmp"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/heic"
	fastjpeg "github.com/kindred-ml/kindred/internal/format/jpeg"
	"github.com/kindred-ml/kindred/internal/format/tiff"
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
	// Buffer is memory that callers may read each file into. If Decode ends because its context
	// has ended, it sets Buffer to nil.
	Buffer []byte
	// Background is the background of the last picture, if it is transparent.
	Background Background
	// Smooth enlarges the chroma of JPEG files by interpolation. So do libjpeg and the programs
	// that use it: Pillow, torchvision and TensorFlow. Networks trained there have seen such
	// images. Without Smooth, chroma values are repeated.
	Smooth bool
	// Shrink, if set, reduces JPEG files, and HEIC files in tiles, while they are decoded, which saves
	// memory and, with JPEG, time. It takes the size of the upright picture and returns the divisor of
	// its sides: 1, 2, 4 or 8; see Pipeline.Shrink. Kinds of JPEG that only the standard library reads
	// keep their size.
	Shrink func(w, h int) int

	fast fastjpeg.Decoder
}

// format is one way to store an image.
type format struct {
	name   string
	config func([]byte) (image.Config, error)
	decode func([]byte) (image.Image, error)
	// boxed is set instead of decode for the formats whose decoders run in a sandbox.
	boxed func(b []byte, cfg image.Config, shrink func(w, h int) int, smooth bool) (Image, Background, error)
}

// safely decodes b. It returns a panic of the decoder, which a damaged file may cause, as an error.
func (f *format) safely(b []byte) (im image.Image, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the decoder failed: %v", r)
		}
	}()
	return f.decode(b)
}

// fault returns the error for an error of the decoder. The file may be damaged, or valid but of a
// kind that is not supported.
func (f *format) fault(err error) error {
	var (
		ofJPEG jpeg.UnsupportedError
		ofPNG  png.UnsupportedError
		ofTIFF tiff.Unsupported
		ofHEIC heic.Unsupported
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
	case errors.As(err, &ofTIFF):
		return fmt.Errorf("TIFF: %w: %s", ofTIFF, convert)
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

// sniff recognises a format by its first bytes.
func sniff(b []byte) (format, error) {
	starts := func(s string) bool { return bytes.HasPrefix(b, []byte(s)) }
	switch {
	case len(b) == 0:
		return format{}, errors.New("empty file")
	case starts("\xff\xd8"):
		return format{name: "JPEG", config: jpegConfig,
			decode: func(b []byte) (image.Image, error) { return jpeg.Decode(bytes.NewReader(b)) }}, nil
	case starts("\x89PNG\r\n\x1a\n"):
		return format{name: "PNG",
			config: func(b []byte) (image.Config, error) { return png.DecodeConfig(bytes.NewReader(b)) },
			decode: func(b []byte) (image.Image, error) { return png.Decode(bytes.NewReader(b)) }}, nil
	case starts("GIF87a"), starts("GIF89a"):
		return format{name: "GIF", config: gifConfig, decode: decodeGIF}, nil
	case starts("BM"):
		return format{name: "BMP",
			config: func(b []byte) (image.Config, error) { return bmp.DecodeConfig(bytes.NewReader(b)) },
			decode: func(b []byte) (image.Image, error) { return bmp.Decode(bytes.NewReader(b)) }}, nil
	case starts("RIFF") && len(b) >= 12 && string(b[8:12]) == "WEBP":
		return format{name: "WebP", config: webpConfig, decode: decodeWebP}, nil
	case tiff.IsTIFF(b):
		return format{name: "TIFF", config: tiff.DecodeConfig, decode: tiff.Decode}, nil
	}
	switch foreign(b) {
	case formatAVIF:
		return format{name: formatAVIF, config: avifConfig, boxed: decodeAVIF}, nil
	case formatJPEGXL:
		return format{name: formatJPEGXL, config: jxlConfig, boxed: decodeJXL}, nil
	case formatHEIC:
		return format{name: formatHEIC, config: heicConfig, boxed: decodeHEIC}, nil
	}
	if what := instead(b); what != "" {
		return format{}, errors.New(what)
	}
	if name := foreign(b); name != "" {
		return format{}, fmt.Errorf("no decoder for %s: convert the file to JPEG or PNG", name)
	}
	return format{}, fmt.Errorf("not an image of a known format: it starts with %q", b[:min(len(b), 8)])
}

// instead recognises what servers and programs leave in place of an image, and says what to do.
func instead(b []byte) string {
	head := b[:min(len(b), 512)]
	starts := func(s string) bool { return bytes.HasPrefix(head, []byte(s)) }
	text := bytes.ToLower(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))))
	const anew = " in place of an image: fetch the file again"
	switch {
	case starts("version https://git-lfs.github.com/"):
		return "a pointer of Git LFS in place of an image: git lfs pull fetches the file"
	case bytes.HasPrefix(text, []byte("<!doctype html")), bytes.HasPrefix(text, []byte("<html")):
		return "a web page" + anew
	case bytes.HasPrefix(text, []byte("<?xml")) && !bytes.Contains(text, []byte("<svg")):
		return "XML, such as a server's error," + anew
	case bytes.HasPrefix(text, []byte(`{"`)):
		return "JSON, such as a server's error," + anew
	case len(head) > 0 && len(bytes.Trim(b, "\x00")) == 0:
		return "nothing but zeros" + anew
	case starts("PK\x03\x04"), starts("\x1f\x8b"), starts("7z\xbc\xaf"), starts("Rar!"):
		return "an archive in place of an image: unpack it"
	}
	return ""
}

// foreign names the formats that phones and cameras write, often under another extension. Most are not supported.
func foreign(b []byte) string {
	head := b[:min(len(b), 512)]
	if len(b) >= 12 && string(b[4:8]) == "ftyp" {
		switch string(b[8:12]) {
		case "avif", "avis":
			return formatAVIF
		case "jxl ":
			return formatJPEGXL
		case "jp2 ", "jpx ", "jpm ":
			return "JPEG 2000"
		case "heic", "heix", "hevc", "hevx", "heim", "heis", "hevm", "hevs", "mif1", "mif2", "msf1":
			if bytes.Contains(head[:min(len(head), 64)], []byte("avif")) {
				return formatAVIF
			}
			return formatHEIC
		case "crx ":
			return "Canon raw files"
		}
		return "videos"
	}
	for _, f := range []struct{ start, name string }{
		{"\xff\x0a", formatJPEGXL}, {"\x00\x00\x00\x0cJXL ", formatJPEGXL}, {"\x00\x00\x00\x0cjP  ", "JPEG 2000"},
		{"\xff\x4f\xff\x51", "JPEG 2000"}, {"II\xbc", "JPEG XR"}, {"FUJIFILMCCD-RAW", "a camera's raw files"},
		{"IIRO", "a camera's raw files"}, {"IIU\x00", "a camera's raw files"}, {"8BPS", "Photoshop files"},
		{"gimp xcf", "GIMP's files"}, {"%PDF", "PDF"}, {"%!PS", "PostScript"}, {"<svg", "SVG"},
		{"v/1\x01", "OpenEXR"}, {"#?RADIANCE", "Radiance HDR"}, {"qoif", "QOI"}, {"DDS ", "DDS"},
		{"\x00\x00\x01\x00", "icons (ICO)"}, {"P1\n", "PBM"}, {"P2\n", "PGM"}, {"P3\n", "PPM"}, {"P4\n", "PBM"},
		{"P5\n", "PGM"}, {"P6\n", "PPM"},
	} {
		if bytes.HasPrefix(head, []byte(f.start)) {
			return f.name
		}
	}
	if bytes.Contains(bytes.ToLower(head), []byte("<svg")) {
		return "SVG"
	}
	return ""
}

// Decode reads the image file b into dst, upright and in 8 bits. Grey images get one channel, all
// others three.
//
//   - The EXIF orientation of JPEG, PNG, WebP and TIFF is applied, and the crops and turns that AVIF, HEIC and
//     JPEG XL have of their own. Those formats run in a sandbox; HEIC needs a decoder that is not part of the
//     program, see package internal/format/heic.
//   - Transparency is composited over white. It is composited over black if less than a hundredth
//     of the visible pixels, weighted by opacity, have a channel below 224, because white drawings
//     would vanish on white. See Decoder.Background.
//   - CMYK is converted to RGB without a colour profile. The upper 8 of 16 bits are kept.
//   - The first frame of an animation is read.
//
// Errors say what is wrong with the file. A file with more than MaxPixels, more memory than the
// limit (GOMEMLIMIT) or more than 40 scans is refused before it is decoded. When ctx ends, Decode
// returns ctx's error. A decoder of another package may then still run in the background, within
// the limits, and its result is dropped.
func (d *Decoder) Decode(ctx context.Context, dst *Image, b []byte) error {
	d.Background = Opaque
	f, err := sniff(b)
	if err != nil {
		return err
	}
	limit := d.MaxPixels
	if limit <= 0 {
		limit = DefaultMaxPixels
	}
	if f.name == "JPEG" {
		orientation := f.orientation(b)
		d.fast.MaxPixels, d.fast.MaxBytes = limit, budget.Limit()
		if d.MaxBytes > 0 {
			d.fast.MaxBytes = min(d.MaxBytes, d.fast.MaxBytes)
		}
		d.fast.Done, d.fast.Smooth, d.fast.Shrink = ctx.Done(), d.Smooth, d.Shrink
		if d.Shrink != nil && orientation >= 5 { // the stored picture lies on its side
			d.fast.Shrink = func(w, h int) int { return d.Shrink(h, w) }
		}
		if d.fast.Decode(b, func(w, h, c int) []uint8 { dst.Reset(w, h, c); return dst.Pix }) == nil {
			dst.orient(orientation)
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if kind, ok := fastjpeg.ReadKind(b); ok && kind.Rare() {
			return d.rareJPEG(ctx, dst, b, &f, kind)
		}
		// It is another kind of JPEG, or damaged: try the standard library.
	}
	cfg, err := f.config(b)
	if err != nil {
		return f.fault(err)
	}
	if err := f.refuse(cfg, b, limit, d.MaxBytes, d.Shrink); err != nil {
		if kind, ok := fastjpeg.ReadKind(b); f.name == "JPEG" && ok && kind.Usual() && d.MaxBytes > 0 {
			err = f.fault(errJPEG) // decoding took the memory of a sound file
		}
		return err
	}
	im, err := d.decode(ctx, &f, b, cfg)
	if err != nil {
		return err
	}
	if im, ok := im.(*boxed); ok { // upright
		*dst, d.Background = im.Image, im.background
		return nil
	}
	if chroma, ok := im.(*image.YCbCr); d.Smooth && ok {
		dst.Reset(im.Bounds().Dx(), im.Bounds().Dy(), 3)
		if !d.fast.ToRGB(dst.Pix, chroma) {
			fromImage(dst, im)
		}
	} else {
		d.Background = fromImage(dst, im)
	}
	dst.orient(f.orientation(b))
	return nil
}

var errJPEG = errors.New("the data are not valid JPEG, or end early")

// rareJPEG reads a kind of JPEG that the standard library does not support.
func (d *Decoder) rareJPEG(ctx context.Context, dst *Image, b []byte, f *format, kind fastjpeg.Kind) error {
	// It needs as much memory as a progressive JPEG of four colours.
	cfg := image.Config{Width: kind.W, Height: kind.H, ColorModel: color.CMYKModel}
	if err := f.refuse(cfg, b, d.fast.MaxPixels, d.MaxBytes, nil); err != nil {
		return err
	}
	if d.fast.DecodeAny(b, func(w, h, c int) []uint8 { dst.Reset(w, h, c); return dst.Pix }) != nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		return f.fault(errJPEG)
	}
	dst.orient(f.orientation(b))
	return nil
}

// jpegConfig reads the size of a JPEG file. For an unsupported kind the error names the kind.
func jpegConfig(b []byte) (image.Config, error) {
	kind, ok := fastjpeg.ReadKind(b)
	if !ok {
		return jpeg.DecodeConfig(bytes.NewReader(b))
	}
	if name := kind.Unread(); name != "" {
		return image.Config{}, jpeg.UnsupportedError(name)
	}
	if kind.W > 0 && kind.H == 0 {
		return image.Config{}, jpeg.UnsupportedError("a height after the picture (DNL)")
	}
	if kind.Rare() {
		return image.Config{Width: kind.W, Height: kind.H, ColorModel: color.CMYKModel}, nil
	}
	return jpeg.DecodeConfig(bytes.NewReader(b))
}

// decode runs the decoder of a format until it or ctx ends.
func (d *Decoder) decode(ctx context.Context, f *format, b []byte, cfg image.Config) (image.Image, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	type result struct {
		im  image.Image
		err error
	}
	shrink, smooth := d.Shrink, d.Smooth
	run := func() (r result) {
		if f.boxed != nil {
			var im boxed
			r.im = &im
			im.Image, im.background, r.err = f.boxed(b, cfg, shrink, smooth)
		} else {
			r.im, r.err = f.safely(b)
		}
		if r.err != nil {
			r.err = f.fault(f.reached(r.err, cfg, b))
		}
		return r
	}
	if ctx.Done() == nil {
		r := run()
		return r.im, r.err
	}
	ready := make(chan result, 1)
	go func() { ready <- run() }()
	select {
	case r := <-ready:
		return r.im, r.err
	case <-ctx.Done():
		d.Buffer = nil // the decoder in the background may still read it
		return nil, ctx.Err()
	}
}
