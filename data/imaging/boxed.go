package imaging

import (
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

// boxed is an upright picture from a sandbox.
type boxed struct {
	Image
	background Background
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

// boxedMemory returns the memory for a picture: that of the decoder, and the three channels of the result. shrink is
// Decoder.Shrink, or nil.
func boxedMemory(name string, cfg image.Config, b []byte, shrink func(w, h int) int) (usual, most int64) {
	pixels, by := budget.Product(int64(cfg.Width), int64(cfg.Height)), 1
	if name == formatHEIC {
		if f, g, ok := heicTiles(b); ok {
			tile := f.Item(f.Primary.Parts[0])
			by = tileShrink(f, g, shrink)
			pixels = min(pixels, budget.Product(int64(tile.W), int64(tile.H)))
		}
	}
	usual, most = boxedPixel(name, cfg.ColorModel)
	result := reduced(cfg.Width, cfg.Height, by)
	return budget.Sum(wasm.Memory(usual, pixels, int64(len(b))), result),
		budget.Sum(wasm.Memory(most, pixels, int64(len(b))), result)
}

// configLimits bound the reading of a header.
func configLimits(b []byte) wasm.Limits {
	return wasm.Limits{Memory: wasm.Memory(0, 0, int64(len(b))), Loops: wasm.Work(0, int64(len(b)))}
}

// avifConfig reads the size of an AVIF file as it is stored, before it is turned.
func avifConfig(b []byte) (image.Config, error) {
	cfg := image.Config{ColorModel: color.RGBAModel}
	bits := 0
	if f, err := isobmff.Parse(b); err == nil && f.Primary.W > 0 {
		cfg.Width, cfg.Height, bits = f.Primary.W, f.Primary.H, f.Primary.Bits
		for _, id := range f.Primary.Parts {
			if it := f.Item(id); it != nil {
				bits = max(bits, it.Bits)
			}
		}
	} else { // such as a film without a still picture
		c, err := avif.Decoder().Config(b, configLimits(b))
		if err != nil {
			return cfg, err
		}
		cfg.Width, cfg.Height, bits = c.W, c.H, c.Bits
	}
	if bits > 8 {
		cfg.ColorModel = color.RGBA64Model
	}
	return cfg, nil
}

// jxlConfig reads the size of a JPEG XL file, turned upright.
func jxlConfig(b []byte) (image.Config, error) {
	c, err := jxl.Decoder().Config(b, configLimits(b))
	cfg := image.Config{Width: c.W, Height: c.H, ColorModel: color.NRGBAModel}
	if c.Bits == 16 {
		cfg.ColorModel = color.NRGBA64Model
	}
	return cfg, err
}

func decodeAVIF(b []byte, cfg image.Config, _ func(w, h int) int, _ bool) (im Image, over Background,
	err error) {
	channel := int(bytesPerPixel(cfg.ColorModel) / 4)
	limits := pictureLimits(formatAVIF, b, cfg, nil)
	err = avif.Decoder().Decode(b, cfg.Width, cfg.Height, channel, limits, func(pix []byte) {
		if channel == 2 { // to big-endian
			for i := 0; i < len(pix); i += 2 {
				pix[i], pix[i+1] = pix[i+1], pix[i]
			}
		}
		over = fromRGBA(&im, pix, 4*channel*cfg.Width, cfg.Width, cfg.Height, 4*channel, true)
	})
	if err != nil {
		return Image{}, Opaque, err
	}
	if f, e := isobmff.Parse(b); e == nil {
		err = im.turn(f.Primary.Turns, 1)
	}
	return im, over, err
}

func decodeJXL(b []byte, cfg image.Config, _ func(w, h int) int, _ bool) (im Image, over Background, err error) {
	channel := int(bytesPerPixel(cfg.ColorModel) / 4)
	limits := pictureLimits(formatJPEGXL, b, cfg, nil)
	err = jxl.Decoder().Decode(b, cfg.Width, cfg.Height, channel, limits, func(pix []byte) {
		over = fromRGBA(&im, pix, 4*channel*cfg.Width, cfg.Width, cfg.Height, 4*channel, false)
	})
	return im, over, err
}

// sandboxShare returns the part of the limit of the process that a decoder may take.
func sandboxShare() int64 { return budget.Limit() / 4 * 3 }

// pictureLimits bound the decoding of a picture: by what no picture of its size exceeds, and by the limit of the
// process.
func pictureLimits(name string, b []byte, cfg image.Config, shrink func(w, h int) int) wasm.Limits {
	_, most := boxedMemory(name, cfg, b, shrink)
	return wasm.Limits{Memory: min(most, sandboxShare()),
		Loops: wasm.Work(int64(cfg.Width)*int64(cfg.Height), int64(len(b)))}
}

// reached names the limit of the process, if a decoder in a sandbox needed more than that.
func (f *format) reached(err error, cfg image.Config, b []byte) error {
	if !errors.Is(err, wasm.ErrMemory) {
		return err
	}
	_, most := boxedMemory(f.name, cfg, b, nil)
	if most <= sandboxShare() {
		return err
	}
	what := fmt.Sprintf("a decoder for %d x %d pixels", cfg.Width, cfg.Height)
	return &budget.Error{What: what, Need: most, Limit: sandboxShare()}
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
