package imaging

import (
	"context"
	"io"

	"github.com/kindred-ml/kindred/internal/base/budget"
	fastjpeg "github.com/kindred-ml/kindred/internal/format/jpeg"
)

// Header describes a picture before it is decoded.
type Header struct {
	// W and H are the size in pixels as stored, before the picture is cropped and turned upright.
	W, H int
	// Format is the name of the format, as in FileFormat.
	Format string

	format *format
	bytes  int64           // memory for decoding the picture
	jpeg   fastjpeg.Header // the kind of a JPEG file that can be reduced while it is decoded
	small  bool            // jpeg is set
	tiles  int64           // for a picture in tiles, the memory beside that of the result
}

// ReadHeader reads the header of the image file of size bytes in r. For a file that is not a
// readable image, it returns the error of Decoder.Decode.
func ReadHeader(ctx context.Context, r io.ReaderAt, size int64) (*Header, error) {
	// Most headers are at the beginning, but the header of a TIFF may be anywhere.
	const usual = 1 << 20
	for n := min(size, usual); ; n = size {
		b, err := budget.ReadN("the picture", io.NewSectionReader(r, 0, n), n)
		if err != nil {
			return nil, err
		}
		f, err := sniff(b)
		var p *Picture
		if err == nil {
			p, err = open(ctx, f, b, size)
		}
		if err == nil {
			h := p.Header // without the file
			return &h, nil
		}
		if n == size || ctx.Err() != nil {
			return nil, err
		}
	}
}

// MediaType returns the type of the file in HTTP.
func (h *Header) MediaType() string { return h.format.mediaType }

// reduced returns the memory of a picture in three channels whose sides are divided by shrink.
func reduced(w, h, shrink int) int64 {
	return budget.Product(int64((w+shrink-1)/shrink), int64((h+shrink-1)/shrink), 3)
}

// Bytes returns an upper bound of the memory for decoding the picture when its sides are divided
// by shrink; see Decoder.Shrink. Only the usual kinds of JPEG and HEIC pictures in tiles need less memory then.
func (h *Header) Bytes(shrink int) int64 {
	if h.tiles > 0 {
		return budget.Sum(h.tiles, reduced(h.W, h.H, max(shrink, 1)))
	}
	if shrink > 1 && h.small {
		return h.jpeg.Bytes(shrink)
	}
	if h.small {
		return max(h.bytes, h.jpeg.Bytes(1))
	}
	return h.bytes
}
