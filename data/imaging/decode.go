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

	"github.com/kindred-ml/kindred/internal/budget"
	fastjpeg "github.com/kindred-ml/kindred/internal/layout/jpeg"
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
	// Context, if not nil, ends a decoding with its error. One that a decoder
	// of another package is busy with is left to itself: it ends in its own
	// time, within the limits, and is forgotten.
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
			decodeWebP}, nil
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
// Errors say what is wrong with the file; one that announces more than MaxPixels,
// more memory than internal/budget allows or more than 40 scans is refused before
// it is decoded.
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
		d.fast.MaxPixels = int(min(int64(limit), budget.Limit()/fastBytesPerPixel))
		d.fast.Done = d.done()
		if d.fast.Decode(b, func(w, h, c int) []uint8 { dst.Reset(w, h, c); return dst.Pix }) == nil {
			dst.orient(exifOrientation(b))
			return nil
		}
		if err := d.stopped(); err != nil {
			return err
		}
		// Another kind of JPEG, or a damaged one: the standard library knows.
	}
	cfg, err := f.config(b)
	if err != nil {
		return fmt.Errorf("damaged %s: %w", f.name, err)
	}
	if err := f.refuse(cfg, b, limit); err != nil {
		return err
	}
	im, err := d.decode(&f, b)
	if err != nil {
		return err
	}
	fromImage(dst, im)
	if f.name == "JPEG" {
		dst.orient(exifOrientation(b))
	}
	return nil
}

// fastBytesPerPixel is the memory of the fast JPEG decoder: its planes and the
// result.
const fastBytesPerPixel = 6

func (d *Decoder) done() <-chan struct{} {
	if d.Context == nil {
		return nil
	}
	return d.Context.Done()
}

// stopped returns the error of a context that ended.
func (d *Decoder) stopped() error {
	if d.Context == nil {
		return nil
	}
	return d.Context.Err()
}

// decode runs the decoder of a format until it or d.Context ends.
func (d *Decoder) decode(f *format, b []byte) (image.Image, error) {
	if err := d.stopped(); err != nil {
		return nil, err
	}
	type result struct {
		im  image.Image
		err error
	}
	run := func() (r result) {
		if r.im, r.err = f.safely(b); r.err != nil {
			r.err = fmt.Errorf("damaged %s: %w", f.name, r.err)
		}
		return r
	}
	if d.done() == nil {
		r := run()
		return r.im, r.err
	}
	ready := make(chan result, 1)
	go func() { ready <- run() }()
	select {
	case r := <-ready:
		return r.im, r.err
	case <-d.done():
		d.Buffer = nil // the decoder left behind may still read it
		return nil, d.Context.Err()
	}
}
