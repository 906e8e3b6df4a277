package imaging

import (
	"context"
	"image"
	"io"

	"github.com/kindred-ml/kindred/internal/base/budget"
	fastjpeg "github.com/kindred-ml/kindred/internal/format/jpeg"
)

// Picture is an image file whose structure has been read, once, and whose pixels have not been decoded. It refers to
// the file, which must not change.
type Picture struct {
	Header

	file   []byte
	source *source
}

// Open reads the structure of an image file. For a file that is not a readable image, it returns the error of
// Decoder.Decode.
func Open(ctx context.Context, file []byte) (*Picture, error) {
	f, err := sniff(file)
	if err != nil {
		return nil, err
	}
	return open(ctx, f, file, int64(len(file)))
}

// open reads the structure of a file of size bytes that begins with b.
func open(ctx context.Context, f *format, b []byte, size int64) (*Picture, error) {
	s, err := f.open(ctx, b, size)
	if err != nil {
		return nil, f.decodeError(err)
	}
	if err := f.checkSize(s.cfg); err != nil {
		return nil, err
	}
	p := &Picture{file: b, source: s, Header: Header{W: s.cfg.Width, H: s.cfg.Height, Format: f.name, format: f,
		jpeg: s.jpeg, small: s.reducible}}
	if s.sandbox == nil {
		s.orientation = tiffOrientation(f.exifBlock(b))
		p.bytes = p.memory()
	} else {
		_, p.bytes = s.sandbox.memory(nil)
		if s.sandbox.tiles != nil {
			p.tiles = p.bytes - reduced(p.W, p.H, 1)
		}
	}
	return p, nil
}

// File returns the file.
func (p *Picture) File() []byte { return p.file }

// colours returns what the file says about its colours.
func (p *Picture) colours() colourSpace {
	switch {
	case p.source.colours != nil:
		return p.source.colours()
	case p.format.colours != nil:
		return p.format.colours(p.file)
	}
	return colourSpace{}
}

// Decode decodes the picture as Decoder.Decode does, by the settings of d.
func (p *Picture) Decode(ctx context.Context, d *Decoder, dst *Image) error {
	if p.format.fastDecode != nil {
		return d.Decode(ctx, dst, p.file)
	}
	d.begin(dst)
	return p.decode(ctx, d, dst)
}

func (p *Picture) decode(ctx context.Context, d *Decoder, dst *Image) error {
	f, s := p.format, p.source
	if err := p.checkLimits(d, d.Shrink); err != nil {
		if p.small && d.MaxBytes > 0 {
			err = f.decodeError(errJPEG) // decoding took the memory of a sound file
		}
		return err
	}
	need := p.memory()
	if s.sandbox != nil {
		need, _ = s.sandbox.memory(d.Shrink)
	}
	leave, err := d.reserve(ctx, need, p.file)
	if err != nil {
		return err
	}
	defer leave()
	colours := d.conversionFor(p.colours)
	defer func() { d.unconvertedReason = colours.reason }()
	if s.sandbox != nil {
		err := recoverPanic(func() (err error) { // the picture is upright
			colours = colours.forChannels(3)
			o := sandboxOptions{shrink: d.Shrink, smooth: d.Smooth, colours: colours}
			*dst, d.Background, err = s.sandbox.decode(ctx, o)
			return err
		})
		if err != nil {
			return f.decodeError(err)
		}
		return nil
	}
	var im image.Image
	err = recoverPanic(func() (err error) {
		im, err = s.decode(ctx)
		return err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return f.decodeError(err)
	}
	d.usedBits = scaleDepth(im, s.significant)
	colours, converted := colours.applyTo(im)
	if chroma, ok := im.(*image.YCbCr); d.Smooth && ok {
		dst.Reset(im.Bounds().Dx(), im.Bounds().Dy(), 3)
		if !d.fast.ToRGB(dst.Pix, chroma) {
			fromImage(dst, im)
		}
	} else {
		d.Background = fromImage(dst, im)
	}
	if !converted {
		colours = colours.apply(dst)
	}
	dst.orient(s.orientation)
	return nil
}

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
