package imaging

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/avif"
	"github.com/kindred-ml/kindred/internal/format/isobmff"
	"github.com/kindred-ml/kindred/internal/format/wasm"
)

var avifFormat = format{name: "AVIF", extensions: []string{".avif"}, mediaType: "image/avif", matches: isAVIF,
	open: openAVIF, exif: boxExif, sandboxed: true,
	structureBytes: func(b []byte, size int64) int64 {
		return budget.Sum(isobmff.StructureBytes(b, size), wasm.HeaderLimits(size).Memory)
	}}

func isAVIF(b []byte) bool {
	switch brand(b) {
	case "avif", "avis":
		return true
	}
	return isHEIF(b) && bytes.Contains(b[:min(len(b), 64)], []byte("avif"))
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
	x := &sandboxedFile{bytes: size}
	if cut == nil && int64(len(b)) == size {
		x.bytes = wasm.TotalLen(pieces...)
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
	// Measured were 14 bytes of a pixel with alpha, and 24 with more than 8 bits.
	x.pixel.usual, x.pixel.most = 16, 20
	if bits > 8 {
		x.pixel.usual, x.pixel.most = 26, 32
		cfg.ColorModel = color.RGBA64Model
	}
	x.cfg = cfg
	x.run = func(ctx context.Context, o sandboxOptions) (im Image, over Background, err error) {
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
			if o.smooth && f != nil && !isIdentity(f.Primary.Colour) && isOpaque(pix, len(pix), cfg.Width*cfg.Height, 1,
				4*channel) {
				kr, kb := lumaWeights(f.Primary.Colour.Matrix)
				across, down := f.Chroma()
				(&samples{pix, cfg.Width, cfg.Height, 4 * channel, channel == 2}).smoothChroma(across, down, kr, kb)
			}
			o.colours.applyToRGBA(pix, channel, true)
			over = fromRGBA(&im, pix, 4*channel*cfg.Width, cfg.Width, cfg.Height, 4*channel, true)
		}, pieces...)
		if err == nil && f != nil {
			err = im.turn(f.Primary.Turns, 1)
		}
		return im, over, err
	}
	s := &source{cfg: cfg, sandbox: x}
	if f != nil {
		s.colours = func() colourSpace { return boxColours(f) }
	}
	return s, nil
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
