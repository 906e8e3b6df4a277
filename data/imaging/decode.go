package imaging

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"

	fastjpeg "github.com/kindred-ml/kindred/data/imaging/jpeg"
	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// DefaultMaxPixels is the largest image that a Decoder accepts by default: more
// than any camera makes, and 540 MB when decoded to three channels.
const DefaultMaxPixels = 180_000_000

// Decoder reads image files. It keeps buffers between calls and serves one
// goroutine. The zero value is ready.
type Decoder struct {
	// MaxPixels bounds width times height as announced by the header, before
	// anything is decoded; 0 means DefaultMaxPixels.
	MaxPixels int
	// Buffer is room that callers may read files into.
	Buffer []byte
	// Context, if not nil, ends a decoding that takes long with its error.
	Context context.Context

	fast fastjpeg.Decoder
}

// format is one way to store an image.
type format struct {
	name   string
	config func([]byte) (image.Config, error)
	decode func([]byte) (image.Image, error)
}

// safely decodes b; a panic of the decoder over a damaged file is its error.
func (f *format) safely(b []byte) (im image.Image, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the decoder failed: %v", r)
		}
	}()
	return f.decode(b)
}

// sniff recognises a format by its first bytes.
func sniff(b []byte) (format, error) {
	starts := func(s string) bool { return bytes.HasPrefix(b, []byte(s)) }
	switch {
	case len(b) == 0:
		return format{}, errors.New("empty file")
	case starts("\xff\xd8"):
		return format{"JPEG",
			func(b []byte) (image.Config, error) { return jpeg.DecodeConfig(bytes.NewReader(b)) },
			func(b []byte) (image.Image, error) { return jpeg.Decode(bytes.NewReader(b)) }}, nil
	case starts("\x89PNG\r\n\x1a\n"):
		return format{"PNG",
			func(b []byte) (image.Config, error) { return png.DecodeConfig(bytes.NewReader(b)) },
			func(b []byte) (image.Image, error) { return png.Decode(bytes.NewReader(b)) }}, nil
	case starts("GIF87a"), starts("GIF89a"):
		return format{"GIF",
			func(b []byte) (image.Config, error) { return gif.DecodeConfig(bytes.NewReader(b)) },
			func(b []byte) (image.Image, error) { return gif.Decode(bytes.NewReader(b)) }}, nil
	case starts("BM"):
		return format{"BMP",
			func(b []byte) (image.Config, error) { return bmp.DecodeConfig(bytes.NewReader(b)) },
			func(b []byte) (image.Image, error) { return bmp.Decode(bytes.NewReader(b)) }}, nil
	case starts("RIFF") && len(b) >= 12 && string(b[8:12]) == "WEBP":
		return format{"WebP",
			func(b []byte) (image.Config, error) { return webp.DecodeConfig(bytes.NewReader(b)) },
			func(b []byte) (image.Image, error) { return webp.Decode(bytes.NewReader(b)) }}, nil
	case starts("II*\x00"), starts("MM\x00*"):
		return format{"TIFF",
			func(b []byte) (image.Config, error) { return tiff.DecodeConfig(bytes.NewReader(b)) },
			func(b []byte) (image.Image, error) { return tiff.Decode(bytes.NewReader(b)) }}, nil
	}
	return format{}, fmt.Errorf("not an image of a known format: it starts with %q", b[:min(len(b), 8)])
}

// Decode reads the image file b into dst, upright and in 8 bits: grey images
// become one channel, all others three.
//
//   - EXIF orientation is applied.
//   - Transparency is composited over white.
//   - CMYK becomes RGB without a colour profile; 16 bits keep the upper 8.
//   - Of an animation the first frame is read.
//
// Errors say what is wrong with the file; one that announces more than MaxPixels
// is refused before it is decoded.
func (d *Decoder) Decode(dst *Image, b []byte) error {
	f, err := sniff(b)
	if err != nil {
		return err
	}
	limit := d.MaxPixels
	if limit <= 0 {
		limit = DefaultMaxPixels
	}
	if f.name == "JPEG" {
		d.fast.MaxPixels = limit
		if d.fast.Decode(b, func(w, h, c int) []uint8 { dst.Reset(w, h, c); return dst.Pix }) == nil {
			dst.orient(exifOrientation(b))
			return nil
		}
		// Another kind of JPEG, or a damaged one: the standard library knows.
	}
	cfg, err := f.config(b)
	if err != nil {
		return fmt.Errorf("damaged %s: %w", f.name, err)
	}
	if cfg.Width <= 0 || cfg.Height <= 0 {
		return fmt.Errorf("%s of %d x %d pixels", f.name, cfg.Width, cfg.Height)
	}
	if cfg.Width > limit/cfg.Height {
		return fmt.Errorf("%s of %d x %d pixels: more than the %d allowed", f.name, cfg.Width, cfg.Height, limit)
	}
	im, err := f.safely(b)
	if err != nil {
		return fmt.Errorf("damaged %s: %w", f.name, err)
	}
	fromImage(dst, im)
	if f.name == "JPEG" {
		dst.orient(exifOrientation(b))
	}
	return nil
}
