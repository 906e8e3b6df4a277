package imaging

import (
	"bytes"
	"context"
	"encoding/binary"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
)

// The header of a GIF file ends with the description of its canvas. The first four bytes of that
// are the sides.
const gifCanvas, gifHeader = 6, 13

// fitted returns b with the canvas enlarged to its first frame if the frame reaches beyond it.
// Browsers and Pillow read such files in this way, but image/gif refuses them.
func fitted(b []byte) []byte {
	at := firstGIFFrame(b)
	if at < 0 {
		return b
	}
	fits, out := true, bytes.Clone(b[:gifHeader])
	for side := range 2 {
		ends := int(binary.LittleEndian.Uint16(b[at+2*side:])) + int(binary.LittleEndian.Uint16(b[at+4+2*side:]))
		if c := out[gifCanvas+2*side:]; ends > int(binary.LittleEndian.Uint16(c)) && ends <= 0xffff {
			binary.LittleEndian.PutUint16(c, uint16(ends))
			fits = false
		}
	}
	if fits {
		return b
	}
	return append(out, b[gifHeader:]...)
}

// firstGIFFrame returns the offset of the place and size of the first frame, or -1 if b ends
// before it.
func firstGIFFrame(b []byte) int {
	const extension, frame = 0x21, 0x2c
	// The flags contain whether a table of colours follows, and its size.
	table := func(flags byte) int {
		const sized = 1 << 7
		if flags&sized == 0 {
			return 0
		}
		return 3 << (flags&7 + 1)
	}
	if len(b) < gifHeader {
		return -1
	}
	for at := gifHeader + table(b[10]); at+9 < len(b); {
		switch b[at] {
		case frame:
			return at + 1
		case extension:
			for at += 2; at < len(b) && b[at] != 0; {
				at += 1 + int(b[at])
			}
			at++
		default:
			return -1
		}
	}
	return -1
}

// gifConfig returns the size of a GIF file's canvas.
func gifConfig(b []byte) (image.Config, error) {
	cfg, err := gif.DecodeConfig(bytes.NewReader(fitted(b)))
	if at := firstGIFFrame(b); err == nil && at >= 0 && (cfg.Width != int(binary.LittleEndian.Uint16(b[at+4:])) ||
		cfg.Height != int(binary.LittleEndian.Uint16(b[at+6:]))) {
		cfg.ColorModel = color.NRGBAModel // the model of decodeGIF
	}
	return cfg, err
}

// decodeGIF decodes b. Of an animation it decodes the first frame, on a transparent canvas.
func decodeGIF(ctx context.Context, b []byte) (image.Image, error) {
	b = fitted(b)
	im, err := gif.Decode(newReader(ctx, b))
	if err != nil {
		return nil, err
	}
	cfg, err := gif.DecodeConfig(bytes.NewReader(b))
	if size := image.Rect(0, 0, cfg.Width, cfg.Height); err != nil || im.Bounds() == size {
		return im, err
	}
	canvas := image.NewNRGBA(image.Rect(0, 0, cfg.Width, cfg.Height))
	draw.Draw(canvas, im.Bounds(), im, im.Bounds().Min, draw.Src)
	return canvas, nil
}
