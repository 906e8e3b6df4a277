package imaging

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/avif"
	"github.com/kindred-ml/kindred/internal/format/isobmff"
	"github.com/kindred-ml/kindred/internal/format/jxl"
	"github.com/kindred-ml/kindred/internal/format/wasm"
)

// The formats whose decoders run in a sandbox.
const (
	formatAVIF   = "AVIF"
	formatHEIC   = "HEIC"
	formatJPEGXL = "JPEG XL"
)

// boxed is a file whose decoder runs in a sandbox.
type boxed struct {
	name  string
	cfg   image.Config
	bytes int64 // what the decoder gets
	grid  int64 // the pixels of all tiles together, some of which may lie outside of the picture; 0 without tiles
	// tiles is set for a HEIC file in tiles, which is reduced while it is decoded.
	tiles *tiles
	// run decodes the file, and turns the picture upright.
	run func(ctx context.Context, o boxedOptions) (Image, Background, error)
}

// boxedOptions are the settings of a Decoder that concern a sandbox.
type boxedOptions struct {
	limits wasm.Limits
	shrink func(w, h int) int
	smooth bool
}

// boxedPixel returns the memory of a decoder for a pixel: what most files need, and what none exceeds. Measured were,
// for AVIF, 14 bytes with alpha and 24 with more than 8 bits; for JPEG XL 8, and 36 where it is lossless and
// progressive; for HEIC 9.
func boxedPixel(name string, model color.Model) (usual, most int64) {
	deep := bytesPerPixel(model) == 8
	switch {
	case name == formatAVIF && deep:
		return 26, 32
	case name == formatAVIF:
		return 16, 20
	case name == formatJPEGXL && deep:
		return 24, 56
	case name == formatJPEGXL:
		return 12, 44
	}
	return 12, 16
}

// memory returns the memory for a picture: that of the decoder, and the three channels of the result. shrink is
// Decoder.Shrink, or nil.
func (x *boxed) memory(shrink func(w, h int) int) (usual, most int64) {
	pixels, by := budget.Product(int64(x.cfg.Width), int64(x.cfg.Height)), 1
	if x.tiles != nil {
		by = x.tiles.shrink(shrink)
		pixels = min(pixels, x.tiles.pixels())
	}
	usual, most = boxedPixel(x.name, x.cfg.ColorModel)
	result := reduced(x.cfg.Width, x.cfg.Height, by)
	return budget.Sum(wasm.Memory(usual, pixels, x.bytes), result),
		budget.Sum(wasm.Memory(most, pixels, x.bytes), result)
}

// sandboxShare returns the part of the limit of the process that a decoder may take.
func sandboxShare() int64 { return budget.Limit() / 4 * 3 }

// decode decodes the picture within what no picture of its size exceeds, and within the limit of the process.
func (x *boxed) decode(ctx context.Context, shrink func(w, h int) int, smooth bool) (Image, Background, error) {
	_, most := x.memory(shrink)
	pixels := int64(x.cfg.Width) * int64(x.cfg.Height)
	// Tiles end beyond the picture on two sides.
	limits := wasm.Limits{Memory: min(most, sandboxShare()),
		Loops: wasm.Work(max(pixels, min(x.grid, 4*pixels)), x.bytes)}
	im, over, err := x.run(ctx, boxedOptions{limits, shrink, smooth})
	if errors.Is(err, wasm.ErrMemory) && most > sandboxShare() { // name the limit of the process
		what := fmt.Sprintf("a decoder for %d x %d pixels", x.cfg.Width, x.cfg.Height)
		err = &budget.Error{What: what, Need: most, Limit: sandboxShare()}
	}
	return im, over, err
}

// openAVIF reads the structure of an AVIF file. Its size is that before it is turned.
func openAVIF(ctx context.Context, b []byte, size int64) (*source, error) {
	cfg, bits := image.Config{ColorModel: color.RGBAModel}, 0
	pieces, cut := [][]byte{b}, error(nil)
	f, err := isobmff.Parse(b)
	switch {
	case errors.Is(err, isobmff.ErrFile): // such as a film without a still picture
		f = nil
	case err != nil:
		return nil, err
	default:
		var head, data []byte
		head, data, cut = f.Picture()
		pieces = [][]byte{head, data}
		cfg.Width, cfg.Height, bits = f.Primary.W, f.Primary.H, f.Primary.Bits
		for _, id := range f.Primary.Parts {
			if it := f.Item(id); it != nil {
				bits = max(bits, it.Bits)
			}
		}
	}
	x := &boxed{name: formatAVIF, bytes: size}
	if cut == nil && int64(len(b)) == size {
		x.bytes = wasm.Length(pieces...)
	}
	if f != nil {
		x.grid = partPixels(f)
	}
	if cfg.Width == 0 {
		if cut != nil {
			return nil, cut
		}
		c, err := avif.Decoder().Config(ctx, wasm.HeaderLimits(x.bytes), pieces...)
		if err != nil {
			return nil, err
		}
		cfg.Width, cfg.Height, bits = c.W, c.H, c.Bits
	}
	if bits > 8 {
		cfg.ColorModel = color.RGBA64Model
	}
	x.cfg = cfg
	x.run = func(ctx context.Context, o boxedOptions) (im Image, over Background, err error) {
		if cut != nil {
			return Image{}, Opaque, cut
		}
		channel := int(bytesPerPixel(cfg.ColorModel) / 4)
		err = avif.Decoder().Decode(ctx, o.limits, cfg.Width, cfg.Height, channel, func(pix []byte) {
			if channel == 2 { // to big-endian
				for i := 0; i < len(pix); i += 2 {
					pix[i], pix[i+1] = pix[i+1], pix[i]
				}
			}
			over = fromRGBA(&im, pix, 4*channel*cfg.Width, cfg.Width, cfg.Height, 4*channel, true)
		}, pieces...)
		if err == nil && f != nil {
			err = im.turn(f.Primary.Turns, 1)
		}
		return im, over, err
	}
	return &source{cfg: cfg, inBox: x}, nil
}

// partPixels returns the pixels of the pictures that the picture of a file is made of.
func partPixels(f *isobmff.File) (n int64) {
	for _, id := range f.Primary.Parts {
		if it := f.Item(id); it != nil {
			n = budget.Sum(n, budget.Product(int64(it.W), int64(it.H)))
		}
	}
	return n
}

// openJXL reads the size of a JPEG XL file, turned upright.
func openJXL(ctx context.Context, b []byte, size int64) (*source, error) {
	stream, err := jxl.Codestream(b)
	if err != nil {
		return nil, err
	}
	header := stream[:min(len(stream), jxl.HeaderBytes)]
	c, err := jxl.Decoder().Config(ctx, wasm.HeaderLimits(int64(len(header))), header)
	if err != nil {
		return nil, err
	}
	cfg := image.Config{Width: c.W, Height: c.H, ColorModel: color.NRGBAModel}
	if c.Bits == 16 {
		cfg.ColorModel = color.NRGBA64Model
	}
	x := &boxed{name: formatJPEGXL, cfg: cfg, bytes: size}
	if int64(len(b)) == size {
		x.bytes = int64(len(stream))
	}
	x.run = func(ctx context.Context, o boxedOptions) (im Image, over Background, err error) {
		channel := int(bytesPerPixel(cfg.ColorModel) / 4)
		err = jxl.Decoder().Decode(ctx, o.limits, cfg.Width, cfg.Height, channel, func(pix []byte) {
			over = fromRGBA(&im, pix, 4*channel*cfg.Width, cfg.Width, cfg.Height, 4*channel, false)
		}, stream)
		return im, over, err
	}
	return &source{cfg: cfg, inBox: x}, nil
}

var errTurn = errors.New("it crops the picture to no part of it")

// turn applies the crops and turns of a file to the picture, whose sides were divided by shrink.
func (im *Image) turn(turns []isobmff.Turn, shrink int) error {
	for _, t := range turns {
		if t.Orientation > 0 {
			im.orient(t.Orientation)
			continue
		}
		r, ok := t.Crop.Rect(im.W*shrink, im.H*shrink)
		r = image.Rect(r.Min.X/shrink, r.Min.Y/shrink, (r.Max.X+shrink-1)/shrink, (r.Max.Y+shrink-1)/shrink)
		if r = r.Intersect(im.Bounds()); !ok || r.Empty() {
			return errTurn
		}
		im.Crop(r)
	}
	return nil
}
