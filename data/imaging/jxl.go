package imaging

import (
	"context"
	"image"
	"image/color"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/jxl"
	"github.com/kindred-ml/kindred/internal/format/wasm"
)

var jxlFormat = format{name: "JPEG XL", extensions: []string{".jxl"}, mediaType: "image/jxl",
	matches: func(b []byte) bool { return brand(b) == "jxl " || hasPrefix("\xff\x0a", "\x00\x00\x00\x0cJXL ")(b) },
	open:    openJXL, exif: jxl.Exif, sandboxed: true,
	structureBytes: func(_ []byte, size int64) int64 {
		return budget.Sum(size, wasm.HeaderLimits(jxl.HeaderBytes).Memory)
	}}

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
	// Measured were 8 bytes of a pixel, and 36 where it is lossless and progressive.
	x := &sandboxedFile{bytes: size}
	x.pixel.usual, x.pixel.most = 12, 44
	if c.Bits == 16 {
		x.pixel.usual, x.pixel.most = 24, 56
		cfg.ColorModel = color.NRGBA64Model
	}
	x.cfg = cfg
	if int64(len(b)) == size {
		x.bytes = int64(len(stream))
	}
	x.run = func(ctx context.Context, o sandboxOptions) (im Image, over Background, err error) {
		channel := int(bytesPerPixel(cfg.ColorModel) / 4)
		err = jxl.Decoder().Decode(ctx, o.limits, cfg.Width, cfg.Height, channel, func(pix []byte) {
			o.colours.applyToRGBA(pix, channel, false)
			over = fromRGBA(&im, pix, 4*channel*cfg.Width, cfg.Width, cfg.Height, 4*channel, false)
		}, stream)
		return im, over, err
	}
	return &source{cfg: cfg, sandbox: x, colours: func() (c colourSpace) { // the decoder leaves colours in their space
		c.other, c.err = jxl.Colours(header)
		return c
	}}, nil
}
