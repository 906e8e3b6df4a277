package imaging

import (
	"context"
	"image"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/isobmff"
	fastjpeg "github.com/kindred-ml/kindred/internal/format/jpeg"
	"github.com/kindred-ml/kindred/internal/format/jxl"
	"github.com/kindred-ml/kindred/internal/format/wasm"
)

// Picture is an image file whose structure has been read, once, and whose pixels have not been decoded. It refers to
// the file, which must not change.
type Picture struct {
	Header

	format *format
	file   []byte
	source *source
}

// StructureBytes returns more than the memory that Open takes for a file of size bytes which begins with b, besides
// the file itself.
func StructureBytes(b []byte, size int64) int64 {
	n := int64(1 << 20)
	switch foreign(b) {
	case formatHEIC:
		return budget.Sum(n, isobmff.StructureBytes(b, size))
	case formatAVIF:
		return budget.Sum(n, isobmff.StructureBytes(b, size), wasm.HeaderLimits(size).Memory)
	case formatJPEGXL:
		return budget.Sum(n, size, wasm.HeaderLimits(jxl.HeaderBytes).Memory)
	}
	return n
}

// Sandboxed reports whether the file that begins with b is decoded in a sandbox.
func Sandboxed(b []byte) bool {
	switch foreign(b) {
	case formatAVIF, formatHEIC, formatJPEGXL:
		return true
	}
	return false
}

// Open reads the structure of an image file. For a file that is not a readable image, it returns the error of
// Decoder.Decode.
func Open(ctx context.Context, file []byte) (*Picture, error) {
	f, err := sniff(file)
	if err != nil {
		return nil, err
	}
	return open(ctx, &f, file, int64(len(file)))
}

// open reads the structure of a file of size bytes that begins with b.
func open(ctx context.Context, f *format, b []byte, size int64) (*Picture, error) {
	s, err := f.open(ctx, b, size)
	if err != nil {
		return nil, f.fault(err)
	}
	if err := f.sized(s.cfg); err != nil {
		return nil, err
	}
	p := &Picture{format: f, file: b, source: s, Header: Header{W: s.cfg.Width, H: s.cfg.Height, Format: f.name}}
	if f.name == "JPEG" {
		kind, ok := fastjpeg.ReadKind(b)
		p.jpeg, p.small = kind, ok && kind.Usual()
	}
	if s.inBox == nil {
		p.bytes = p.memory()
	} else {
		_, p.bytes = s.inBox.memory(nil)
		if s.inBox.tiles != nil {
			p.tiles = p.bytes - reduced(p.W, p.H, 1)
		}
	}
	return p, nil
}

// File returns the file.
func (p *Picture) File() []byte { return p.file }

// Decode decodes the picture as Decoder.Decode does, by the settings of d.
func (p *Picture) Decode(ctx context.Context, d *Decoder, dst *Image) error {
	if p.format.name == "JPEG" {
		return d.Decode(ctx, dst, p.file)
	}
	d.begin(dst)
	return p.decode(ctx, d, dst)
}

func (p *Picture) decode(ctx context.Context, d *Decoder, dst *Image) error {
	f, s := p.format, p.source
	if err := p.refuse(d, d.Shrink); err != nil {
		if p.small && d.MaxBytes > 0 {
			err = f.fault(errJPEG) // decoding took the memory of a sound file
		}
		return err
	}
	need := p.memory()
	if s.inBox != nil {
		need, _ = s.inBox.memory(d.Shrink)
	}
	leave, err := d.enter(ctx, need, p.file)
	if err != nil {
		return err
	}
	defer leave()
	if s.inBox != nil {
		err := safely(func() (err error) { // the picture is upright
			*dst, d.Background, err = s.inBox.decode(ctx, d.Shrink, d.Smooth)
			return err
		})
		if err != nil {
			return f.fault(err)
		}
		return nil
	}
	var im image.Image
	err = safely(func() (err error) {
		im, err = s.decode(ctx)
		return err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return f.fault(err)
	}
	if chroma, ok := im.(*image.YCbCr); d.Smooth && ok {
		dst.Reset(im.Bounds().Dx(), im.Bounds().Dy(), 3)
		if !d.fast.ToRGB(dst.Pix, chroma) {
			fromImage(dst, im)
		}
	} else {
		d.Background = fromImage(dst, im)
	}
	dst.orient(s.orientation)
	return nil
}
