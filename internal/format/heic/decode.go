package heic

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"

	"github.com/kindred-ml/kindred/internal/format/isobmff"
	"github.com/kindred-ml/kindred/internal/format/wasm"
)

var errData = errors.New("the data are not valid, or end early")

// Decode decodes the picture of f, and calls put with it, or with each tile of a grid and the place of the tile's
// corner. A tile is as stored: the Turns of f.Primary are to be applied to the whole. Any other picture has been
// turned. Pictures are *image.YCbCr, *image.Gray or *image.NRGBA; put must not keep them.
func Decode(ctx context.Context, f *isobmff.File, limits wasm.Limits,
	put func(im image.Image, at image.Point) error) error {
	m, err := load()
	if err != nil {
		return err
	}
	d := decoder{ctx: ctx, module: m, limits: limits}
	defer d.close()
	if err := d.start(); err != nil {
		return err
	}
	g, ok := Tiles(f)
	if !ok {
		head, data, err := f.Picture()
		if err != nil {
			return err
		}
		im, err := d.decode(head, data)
		if err != nil {
			return err
		}
		return put(im, image.Point{})
	}
	if err := f.CheckGrid(f.Primary); err != nil {
		return err
	}
	size := image.Pt(f.Item(f.Primary.Parts[0]).W, f.Item(f.Primary.Parts[0]).H)
	bytes := int64(0)
	for _, id := range f.Primary.Parts {
		bytes += f.Size(f.Item(id))
	}
	if most := wasm.MostBytes(int64(g.W) * int64(g.H)); bytes > most {
		return fmt.Errorf("tiles of %d bytes, more than the %d of any picture of %d x %d", bytes, most, g.W, g.H)
	}
	for k, id := range f.Primary.Parts {
		it := f.Item(id)
		// The decoder loses some of its memory with each picture.
		if d.run.Used() > limits.Memory/2 {
			if err := d.start(); err != nil {
				return err
			}
		}
		if err := f.CheckCoded(it); err != nil {
			return err
		}
		data := f.Content(it)
		head, err := f.TileHead(it, len(data))
		if err != nil {
			return err
		}
		im, err := d.decode(head, data)
		if err != nil {
			return err
		}
		if is := im.Bounds().Size(); is != size {
			return fmt.Errorf("a tile of %v pixels among tiles of %v", is, size)
		}
		if err := put(im, image.Pt(k%g.Columns*size.X, k/g.Columns*size.Y)); err != nil {
			return err
		}
	}
	return nil
}

// Tiles returns the grid of a picture, if it is one whose tiles can be decoded one by one. A grid of another size than
// its item says is not, so that who checks the size of the item has checked that of the grid.
func Tiles(f *isobmff.File) (isobmff.Grid, bool) {
	if f.Primary.Type != "grid" {
		return isobmff.Grid{}, false
	}
	g, ok := f.Grid(f.Primary)
	ok = ok && g.W == f.Primary.W && g.H == f.Primary.H
	for _, id := range f.Primary.Parts {
		it := f.Item(id)
		ok = ok && it != nil && it.Type == "hvc1" && len(it.Turns) == 0
	}
	return g, ok
}

// decoder decodes files of one picture in the memory of a run.
type decoder struct {
	ctx      context.Context
	module   *wasm.Module
	limits   wasm.Limits // Loops are those left
	run      *wasm.Run
	in       uint64
	size     int64 // of the file
	inBytes  int64 // room for it
	results  uint64
	out      uint64
	outBytes int64
}

// start begins a run in place of the one so far, with the loops that it has left.
func (d *decoder) start() (err error) {
	if d.run != nil {
		d.limits.Loops = d.run.Loops()
	}
	d.close()
	if d.run, err = d.module.Start(d.ctx, d.limits); err != nil {
		return err
	}
	d.inBytes, d.outBytes = 0, 0
	d.results, err = d.run.Alloc(resultBytes)
	return err
}

func (d *decoder) close() {
	if d.run != nil {
		d.run.Close()
		d.run = nil
	}
}

// put brings a file, in pieces, into the memory of the run. The room for it at least doubles when it grows, so that
// all of it together is less than twice the last.
func (d *decoder) put(pieces ...[]byte) (err error) {
	if d.size = wasm.Length(pieces...); d.size > d.inBytes {
		n := max(d.size, 2*d.inBytes)
		if d.in, err = d.run.Alloc(n); err != nil {
			return err
		}
		d.inBytes = n
	}
	return d.run.Write(d.in, pieces...)
}

// narrow is the width of pictures that libde265 decodes wrongly in the sandbox: those of a single column of blocks.
const narrow = 64

// Unsupported is the error of a valid file that the decoder cannot read.
type Unsupported string

func (u Unsupported) Error() string { return string(u) + " is not supported" }

// resultBytes are width, height, colour space, chroma, and whether colours are multiplied by alpha.
const resultBytes = 20

// The numbers of libheif's heif_colorspace and heif_chroma.
const (
	ycbcr, rgb, monochrome     = 0, 1, 2
	chroma420, c422, chroma444 = 1, 2, 3
)

// call runs decode, which asks for the size of the primary item and the form of its pixels.
func (d *decoder) call(configOnly, out uint64) ([5]int, error) {
	var v [5]int
	ok, err := d.run.Call("decode", d.in, uint64(d.size), configOnly, d.results, d.results+4, d.results+8,
		d.results+12, d.results+16, out)
	if err != nil {
		return v, err
	}
	if ok == 0 {
		return v, d.run.Failed(errData)
	}
	b, err := d.run.View(d.results, resultBytes)
	if err != nil {
		return v, err
	}
	for i := range v {
		v[i] = int(int32(binary.LittleEndian.Uint32(b[4*i:])))
	}
	return v, nil
}

// decode decodes the primary item of a file in pieces:
//
//	int decode(uint8_t *in, int size, int config_only, uint32_t *width, uint32_t *height, uint32_t *colorspace,
//	    uint32_t *chroma, uint32_t *is_premultiplied, uint8_t *out)
//
// The rows of planes are padded to 16 bytes.
func (d *decoder) decode(pieces ...[]byte) (image.Image, error) {
	if err := d.put(pieces...); err != nil {
		return nil, err
	}
	v, err := d.call(1, 0)
	if err != nil {
		return nil, err
	}
	w, h := v[0], v[1]
	if most := 1 << 24; w <= 0 || h <= 0 || w > most || h > most {
		return nil, errData
	}
	if w <= narrow {
		return nil, Unsupported(fmt.Sprintf("a picture or tile of %d pixels in width", w))
	}
	size := image.Rect(0, 0, w, h)
	padded := func(n int) int { return (n + 15) / 16 * 16 }
	var im image.Image
	var n int64
	var fill func(b []byte)
	switch v[2] {
	case ycbcr:
		p := &image.YCbCr{Rect: size, YStride: padded(w), CStride: padded((w + 1) / 2)}
		ch := h
		switch v[3] {
		case chroma420:
			p.SubsampleRatio, ch = image.YCbCrSubsampleRatio420, (h+1)/2
		case c422:
			p.SubsampleRatio = image.YCbCrSubsampleRatio422
		case chroma444:
			p.SubsampleRatio, p.CStride = image.YCbCrSubsampleRatio444, p.YStride
		default:
			return nil, Unsupported(fmt.Sprintf("chroma of kind %d", v[3]))
		}
		luma, chroma := p.YStride*h, p.CStride*ch
		im, n = p, int64(luma)+2*int64(chroma)
		fill = func(b []byte) { p.Y, p.Cb, p.Cr = b[:luma], b[luma:luma+chroma], b[luma+chroma:] }
	case monochrome:
		p := &image.Gray{Rect: size, Stride: padded(w)}
		im, n = p, int64(p.Stride)*int64(h)
		fill = func(b []byte) { p.Pix = b }
	case rgb:
		p := &image.NRGBA{Rect: size, Stride: padded(4 * w)}
		im, n = p, int64(p.Stride)*int64(h)
		fill = func(b []byte) { p.Pix = b }
	default:
		return nil, Unsupported(fmt.Sprintf("a colour space of kind %d", v[2]))
	}
	if n > d.outBytes {
		if d.out, err = d.run.Alloc(n); err != nil {
			return nil, err
		}
		d.outBytes = n
	}
	if _, err := d.call(0, d.out); err != nil {
		return nil, err
	}
	b, err := d.run.View(d.out, n)
	if err == nil {
		fill(b)
	}
	return im, err
}
