package tiff

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"

	"github.com/kindred-ml/kindred/internal/base/budget"
	fast "github.com/kindred-ml/kindred/internal/format/jpeg"
)

// jpeg decodes a block that is a JPEG file without the tables, which the tag JPEGTables has
// once for all blocks. A segment of Adobe's is added: it says which colours these are.
func (p *picture) jpeg(data []byte, w, rows, plane int, at image.Point, out *canvas) error {
	b, err := p.wholeJPEG(data)
	if err != nil {
		return err
	}
	pix, width, height, samples, err := decodeJPEG(b)
	if err != nil {
		return err
	}
	want := p.samples
	if p.planes {
		want = 1
	}
	if p.planes && p.photometric == ycbcr {
		return Unsupported("JPEG of YCbCr with its samples in planes of their own")
	}
	if width != w || height < rows || samples != want {
		return fmt.Errorf("a JPEG of %d x %d pixels of %d samples in a block of %d x %d of %d", width, height, samples,
			w, rows, want)
	}
	return out.samples(p, pix, at, w, rows, plane, samples)
}

// wholeJPEG joins the tables and a block.
func (p *picture) wholeJPEG(data []byte) ([]byte, error) {
	const soi, eoi = "\xff\xd8", "\xff\xd9"
	rest, ok := bytes.CutPrefix(data, []byte(soi))
	if !ok {
		return nil, fmt.Errorf("no JPEG: it starts with %q", data[:min(len(data), 8)])
	}
	transform := "\x00"
	if p.photometric == ycbcr {
		transform = "\x01"
	}
	out := []byte(soi + "\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00" + transform)
	if f, ok := p.tags[tagJPEGTables]; ok {
		out = append(out, bytes.TrimSuffix(bytes.TrimPrefix(f.data, []byte(soi)), []byte(eoi))...)
	}
	return append(out, rest...), nil
}

// decodeJPEG returns interleaved samples; YCbCr as RGB, with smooth chroma as libjpeg makes
// it.
func decodeJPEG(b []byte) (pix []byte, w, h, samples int, err error) {
	d := fast.Decoder{MaxBytes: budget.Limit(), Smooth: true}
	if d.Decode(b, func(width, height, c int) []uint8 {
		pix, w, h, samples = make([]byte, width*height*c), width, height, c
		return pix
	}) == nil {
		return pix, w, h, samples, nil
	}
	cfg, err := jpeg.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		return nil, 0, 0, 0, err
	}
	if err := budget.Check("a JPEG in a TIFF", budget.Product(int64(cfg.Width), int64(cfg.Height), 16)); err != nil {
		return nil, 0, 0, 0, err
	}
	im, err := jpeg.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, 0, 0, 0, err
	}
	w, h = im.Bounds().Dx(), im.Bounds().Dy()
	switch im := im.(type) {
	case *image.Gray:
		return tight(im.Pix, im.Stride, w, h), w, h, 1, nil
	case *image.CMYK: // image/jpeg inverts it, as Adobe's programs want it; TIFF has it as it is
		pix = tight(im.Pix, im.Stride, 4*w, h)
		for i, v := range pix {
			pix[i] = 255 - v
		}
		return pix, w, h, 4, nil
	case *image.YCbCr:
		pix = make([]byte, 3*w*h)
		if d.ToRGB(pix, im) {
			return pix, w, h, 3, nil
		}
	}
	pix = make([]byte, 0, 3*w*h)
	for y := range h {
		for x := range w {
			r, g, b, _ := im.At(x, y).RGBA()
			pix = append(pix, byte(r>>8), byte(g>>8), byte(b>>8))
		}
	}
	return pix, w, h, 3, nil
}

// tight drops what stands between the rows.
func tight(pix []byte, stride, w, h int) []byte {
	out := make([]byte, 0, w*h)
	for y := range h {
		out = append(out, pix[y*stride:][:w]...)
	}
	return out
}
