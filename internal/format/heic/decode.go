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

// Decode decodes a picture of f, which may be the opacity of another one: an item of HEVC, or a grid of such items. It
// calls put with each tile as it is stored, and the place of its corner. A tile is *image.Gray, or *image.NRGBA with
// Cr as red, Y as green and Cb as blue; put must not keep it. Chroma of fewer pixels is repeated. The Turns of the item
// are to be applied to the whole.
func Decode(ctx context.Context, f *isobmff.File, of *isobmff.Item, limits wasm.Limits,
	put func(im image.Image, at image.Point) error) error {
	g, err := Tiles(f, of)
	if err != nil {
		return err
	}
	m, err := load()
	if err != nil {
		return err
	}
	d := decoder{ctx: ctx, module: m, limits: limits}
	defer d.close()
	if err := d.start(); err != nil {
		return err
	}
	size := g.Tiles[0].Size()
	bytes := int64(0)
	for _, it := range g.Tiles {
		bytes += f.Size(it)
	}
	if most := wasm.MaxBytes(int64(g.W) * int64(g.H)); bytes > most {
		return fmt.Errorf("tiles of %d bytes, more than the %d of any picture of %d x %d", bytes, most, g.W, g.H)
	}
	for k, it := range g.Tiles {
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

// Grid is a picture of tiles, row by row, which are cut off at the right and at the bottom. An item of HEVC is a grid
// of one tile.
type Grid struct {
	Columns, W, H int
	Tiles         []*isobmff.Item
}

// Tiles returns the tiles of an item. A grid of another size than its item says is refused, so that who checks the size
// of the item has checked that of the grid.
func Tiles(f *isobmff.File, of *isobmff.Item) (Grid, error) {
	out := Grid{1, of.W, of.H, []*isobmff.Item{of}}
	switch of.Type {
	case "hvc1":
		return out, nil
	case "grid":
	default:
		return out, Unsupported(fmt.Sprintf("a picture of type %q", of.Type))
	}
	g, ok := f.Grid(of)
	if !ok || g.W != of.W || g.H != of.H {
		return out, errGrid
	}
	out.Columns, out.Tiles = g.Columns, nil
	for _, id := range of.Parts {
		it := f.Item(id)
		if it == nil || it.Type != "hvc1" || len(it.Turns) > 0 {
			return out, Unsupported("a grid of something other than plain pictures of HEVC")
		}
		out.Tiles = append(out.Tiles, it)
	}
	return out, f.CheckGrid(of)
}

var errGrid = errors.New("the description of a grid is missing or damaged, or is of another size")

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

// copyIn brings a file, in pieces, into the memory of the run. The room for it at least doubles when it grows, so that
// all of it together is less than twice the last.
func (d *decoder) copyIn(pieces ...[]byte) (err error) {
	if d.size = wasm.TotalLen(pieces...); d.size > d.inBytes {
		n := max(d.size, 2*d.inBytes)
		if d.in, err = d.run.Alloc(n); err != nil {
			return err
		}
		d.inBytes = n
	}
	return d.run.Write(d.in, pieces...)
}

// Unsupported is the error of a valid file that the decoder cannot read.
type Unsupported string

func (u Unsupported) Error() string { return string(u) + " is not supported" }

// resultBytes are width, height, colour space, chroma, and whether colours are multiplied by alpha.
const resultBytes = 20

// Numbers of libheif's heif_colorspace.
const (
	rgb, monochrome = 1, 2
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
		return v, d.run.FailureError(errData)
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
// The rows of planes are padded to 16 bytes. Asked for planes of chroma, libheif 1.18.2 averages them after it has
// enlarged them, wrongly at the borders. Asked for green, blue and red in their place it does not touch them.
func (d *decoder) decode(pieces ...[]byte) (image.Image, error) {
	if err := d.copyIn(pieces...); err != nil {
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
	size := image.Rect(0, 0, w, h)
	padded := func(n int) int { return (n + 15) / 16 * 16 }
	var im image.Image
	var n int64
	var fill func(b []byte)
	switch v[2] {
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
