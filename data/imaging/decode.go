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
	"io"

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
	// Buffer is memory that callers may read each file into; see Release.
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
	name string
	// open reads the structure of a file of size bytes that begins with b.
	open func(ctx context.Context, b []byte, size int64) (*source, error)
}

// source is a file whose structure has been read.
type source struct {
	cfg image.Config
	// decode reads the picture as it is stored, and ends with its context. It is not set if inBox is.
	decode func(ctx context.Context) (image.Image, error)
	// orientation is how the picture of decode is turned.
	orientation int
	// inBox is set for the formats whose decoders run in a sandbox.
	inBox *boxed
	// bytes is the memory for decoding where the format knows it better than from cfg, or 0.
	bytes int64
}

// inGo returns a format that a Go package decodes.
func inGo(name string, config func(b []byte) (image.Config, error),
	decode func(ctx context.Context, b []byte) (image.Image, error), exif func(b []byte) []byte) format {
	return format{name: name, open: func(_ context.Context, b []byte, _ int64) (*source, error) {
		cfg, err := config(b)
		if err != nil {
			return nil, err
		}
		return &source{cfg: cfg, orientation: tiffOrientation(exif(b)),
			decode: func(ctx context.Context) (image.Image, error) { return decode(ctx, b) }}, nil
	}}
}

// config returns a function that reads the size from bytes in place of a reader.
func config(read func(r io.Reader) (image.Config, error)) func(b []byte) (image.Config, error) {
	return func(b []byte) (image.Config, error) { return read(bytes.NewReader(b)) }
}

// pixels returns a function that decodes bytes in place of a reader, until its context ends.
func pixels(read func(r io.Reader) (image.Image, error)) func(context.Context, []byte) (image.Image, error) {
	return func(ctx context.Context, b []byte) (image.Image, error) { return read(newReader(ctx, b)) }
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

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	const step = 256
	return r.Reader.Read(p[:min(len(p), step)])
}

// safely calls a decoder. It returns a panic, which a damaged file may cause, as an error.
func safely(decode func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the decoder failed: %v", r)
		}
	}()
	return decode()
}

// fault returns the error for an error of the decoder. The file may be damaged, or valid but of a
// kind that is not supported.
func (f *format) fault(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
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
		return inGo("JPEG", jpegConfig, pixels(jpeg.Decode), exifBlock), nil
	case starts("\x89PNG\r\n\x1a\n"):
		return inGo("PNG", pngConfig, pixels(png.Decode), pngExif), nil
	case starts("GIF87a"), starts("GIF89a"):
		return format{name: "GIF", open: openGIF}, nil
	case starts("BM"):
		return inGo("BMP", config(bmp.DecodeConfig), pixels(bmp.Decode), noExif), nil
	case starts("RIFF") && len(b) >= 12 && string(b[8:12]) == "WEBP":
		return format{name: "WebP", open: openWebP}, nil
	case tiff.IsTIFF(b):
		return format{name: "TIFF", open: openTIFF}, nil
	}
	switch foreign(b) {
	case formatAVIF:
		return format{name: formatAVIF, open: openAVIF}, nil
	case formatJPEGXL:
		return format{name: formatJPEGXL, open: openJXL}, nil
	case formatHEIC:
		return format{name: formatHEIC, open: openHEIC}, nil
	}
	if what := instead(b); what != "" {
		return format{}, errors.New(what)
	}
	if name := foreign(b); name != "" {
		return format{}, fmt.Errorf("no decoder for %s: convert the file to JPEG or PNG", name)
	}
	return format{}, fmt.Errorf("not an image of a known format: it starts with %q", b[:min(len(b), 8)])
}

func noExif([]byte) []byte { return nil }

// errBegin asks for the whole file where its beginning does not tell what decoding takes.
var errBegin = errors.New("the beginning of the file is not enough")

// openWebP reads the structure of a WebP file.
func openWebP(_ context.Context, b []byte, size int64) (*source, error) {
	if int64(len(b)) < size {
		return nil, errBegin
	}
	p, err := readWebP(b)
	if err != nil {
		return nil, err
	}
	return &source{cfg: image.Config{ColorModel: color.NRGBAModel, Width: p.canvas.X, Height: p.canvas.Y},
		orientation: tiffOrientation(webpExif(b)), decode: p.decode, bytes: p.memory()}, nil
}

func openTIFF(_ context.Context, b []byte, _ int64) (*source, error) {
	f, err := tiff.Open(b)
	if err != nil {
		return nil, err
	}
	s := &source{cfg: f.Config(), orientation: f.Orientation(), decode: f.Decode, bytes: f.Memory()}
	if !f.IsRGB() { // see fromImage
		s.bytes = budget.Sum(s.bytes, reduced(s.cfg.Width, s.cfg.Height, 1))
	}
	return s, nil
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
// limit (GOMEMLIMIT) or more scans than encoders write is refused before it is decoded. When ctx ends, decoding
// ends, and Decode returns ctx's error.
func (d *Decoder) Decode(ctx context.Context, dst *Image, b []byte) error {
	d.begin(dst)
	f, err := sniff(b)
	if err != nil {
		return err
	}
	if f.name == "JPEG" {
		if done, err := d.decodeJPEG(ctx, dst, b, &f); done {
			return err
		}
		// It is another kind of JPEG, or damaged: try the standard library.
	}
	p, err := open(ctx, &f, b, int64(len(b)))
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

// decodeJPEG reads the kinds of JPEG that package fastjpeg knows. It returns false for others.
func (d *Decoder) decodeJPEG(ctx context.Context, dst *Image, b []byte, f *format) (done bool, err error) {
	orientation := tiffOrientation(exifBlock(b))
	d.fast.MaxPixels, d.fast.MaxBytes = d.limit(), max(1, budget.Limit()-int64(len(b))) // see refuse
	if d.MaxBytes > 0 {
		d.fast.MaxBytes = min(d.MaxBytes, d.fast.MaxBytes)
	}
	d.fast.Done, d.fast.Smooth, d.fast.Shrink = ctx.Done(), d.Smooth, d.Shrink
	if d.Shrink != nil && orientation >= 5 { // the stored picture lies on its side
		d.fast.Shrink = func(w, h int) int { return d.Shrink(h, w) }
	}
	if d.decodeFast(ctx, dst, b, d.fast.Decode) == nil {
		dst.orient(orientation)
		return true, nil
	}
	if err := ctx.Err(); err != nil {
		return true, err
	}
	if kind, ok := fastjpeg.ReadKind(b); ok && kind.Rare() {
		return true, d.rareJPEG(ctx, dst, b, f, kind)
	}
	return false, nil
}

// decodeFast decodes by a method of d.fast, when there is memory for it.
func (d *Decoder) decodeFast(ctx context.Context, dst *Image, b []byte,
	by func(b []byte, room func(w, h, c int) []uint8) error) error {
	none := func() {}
	leave := none
	defer func() { leave() }()
	d.fast.Enter = func(bytes int64) bool {
		leave() // what a header before this one needs
		var err error
		if leave, err = d.enter(ctx, bytes, b); err != nil {
			leave = none
		}
		return err == nil
	}
	defer func() { d.fast.Enter = nil }()
	return by(b, func(w, h, c int) []uint8 { dst.Reset(w, h, c); return dst.Pix })
}

var errJPEG = errors.New("the data are not valid JPEG, or end early")

// rareJPEG reads a kind of JPEG that the standard library does not support.
func (d *Decoder) rareJPEG(ctx context.Context, dst *Image, b []byte, f *format, kind fastjpeg.Kind) error {
	// It needs as much memory as a progressive JPEG of four colours.
	p := &Picture{format: f, file: b, Header: Header{jpeg: kind}, source: &source{
		cfg: image.Config{Width: kind.W, Height: kind.H, ColorModel: color.CMYKModel}}}
	if err := p.refuse(d, nil); err != nil {
		return err
	}
	if d.decodeFast(ctx, dst, b, d.fast.DecodeAny) != nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		return f.fault(errJPEG)
	}
	dst.orient(tiffOrientation(exifBlock(b)))
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
