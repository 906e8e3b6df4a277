package imaging

import (
	"image"
	"io"

	"github.com/kindred-ml/kindred/internal/base/budget"
	fastjpeg "github.com/kindred-ml/kindred/internal/format/jpeg"
)

// Header describes a picture before it is decoded.
type Header struct {
	// W and H are the size in pixels, before the picture is turned upright.
	W, H int
	// Format is the name of the format: JPEG, PNG, GIF, BMP, WebP, TIFF.
	Format string

	bytes int64         // memory for decoding the picture
	jpeg  fastjpeg.Kind // the kind of a JPEG file that can be reduced while it is decoded
	small bool          // jpeg is set
}

// ReadHeader reads the header of the image file of size bytes in r. For a file that is not a
// readable image, it returns the error of Decoder.Decode.
func ReadHeader(r io.ReaderAt, size int64) (*Header, error) {
	// Most headers are at the beginning, but the header of a TIFF may be anywhere.
	const usual = 1 << 20
	var h *Header
	for n := min(size, usual); ; n = size {
		b, err := budget.ReadN("the picture", io.NewSectionReader(r, 0, n), n)
		if err != nil {
			return nil, err
		}
		if h, err = readHeader(b); err == nil {
			return h, nil
		}
		if n == size {
			return nil, err
		}
	}
}

func readHeader(b []byte) (*Header, error) {
	f, err := sniff(b)
	if err != nil {
		return nil, err
	}
	var cfg image.Config
	var kind fastjpeg.Kind
	isJPEG := false
	if f.name == "JPEG" {
		kind, isJPEG = fastjpeg.ReadKind(b)
	}
	if cfg, err = f.config(b); err != nil {
		return nil, f.fault(err)
	}
	if err := f.sized(cfg); err != nil {
		return nil, err
	}
	perPixel := f.perPixel(cfg, isJPEG && kind.Progressive())
	return &Header{W: cfg.Width, H: cfg.Height, Format: f.name, jpeg: kind, small: isJPEG && kind.Usual(),
		bytes: budget.Product(int64(cfg.Width), int64(cfg.Height), perPixel)}, nil
}

// Bytes returns an upper bound of the memory for decoding the picture when its sides are divided
// by shrink; see Decoder.Shrink. Only the usual kinds of JPEG need less memory then.
func (h *Header) Bytes(shrink int) int64 {
	if shrink > 1 && h.small {
		return h.jpeg.Bytes(shrink)
	}
	if h.small {
		return max(h.bytes, h.jpeg.Bytes(1))
	}
	return h.bytes
}
