package imaging

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"io"
)

// The header of a GIF file ends with the description of its canvas. The first four bytes of that
// are the sides.
const gifCanvas, gifHeader = 6, 13

var gifFormat = format{name: "GIF", extensions: []string{".gif"}, mediaType: "image/gif",
	matches: hasPrefix("GIF87a", "GIF89a"), open: openGIF}

// gifFrame is the picture of a GIF file: its first frame, on the canvas of the file. image/gif is given head and
// frame, and so cannot take other bytes for the first frame.
type gifFrame struct {
	canvas, size image.Point
	head         []byte // the header, the colours of the file, and the graphic control of the frame
	frame        []byte // the file from the frame on
}

var errNoFrame = errors.New("it ends before its first frame")

// readGIF reads a GIF file up to its first frame.
func readGIF(b []byte) (*gifFrame, error) {
	const extension, frame, frameBytes = 0x21, 0x2c, 10
	const control, controlBytes = 0xf9, 8
	if len(b) < gifHeader {
		return nil, errNoFrame
	}
	at := gifHeader
	if flags := b[10]; flags&(1<<7) != 0 { // a table of colours
		at += 3 << (flags&7 + 1)
	}
	f := &gifFrame{head: bytes.Clone(b[:min(at, len(b))])}
	var last []byte // graphic control
	for at+frameBytes <= len(b) {
		switch b[at] {
		case frame:
			f.frame, f.head = b[at:], append(f.head, last...)
			f.readSizes()
			return f, nil
		case extension:
			start := at
			for at += 2; at < len(b) && b[at] != 0; {
				at += 1 + int(b[at])
			}
			if at++; b[start+1] == control && at-start == controlBytes {
				last = b[start:min(at, len(b))]
			}
		default:
			return nil, fmt.Errorf("a block of kind 0x%02x before its first frame", b[at])
		}
	}
	return nil, errNoFrame
}

// readSizes reads the sizes of the canvas and of the frame. It enlarges the canvas if the frame reaches beyond it.
// Browsers and Pillow read such files in this way, but image/gif refuses them.
func (f *gifFrame) readSizes() {
	number := func(b []byte) int { return int(binary.LittleEndian.Uint16(b)) }
	for side, length := range []*int{&f.canvas.X, &f.canvas.Y} {
		c := f.head[gifCanvas+2*side:]
		if ends := number(f.frame[1+2*side:]) + number(f.frame[5+2*side:]); ends > number(c) && ends <= 0xffff {
			binary.LittleEndian.PutUint16(c, uint16(ends))
		}
		*length = number(c)
	}
	f.size = image.Pt(number(f.frame[5:]), number(f.frame[7:]))
}

// openGIF reads the structure of a GIF file. The size of the picture is that of the canvas.
func openGIF(_ context.Context, b []byte, _ int64) (*source, error) {
	f, err := readGIF(b)
	if err != nil {
		return nil, err
	}
	cfg := image.Config{ColorModel: color.Palette{}, Width: f.canvas.X, Height: f.canvas.Y}
	if f.size != f.canvas {
		cfg.ColorModel = color.NRGBAModel // the model of decode
	}
	return &source{cfg: cfg, decode: f.decode}, nil
}

// decode decodes the first frame, on a transparent canvas if it is smaller than that.
func (f *gifFrame) decode(ctx context.Context) (image.Image, error) {
	im, err := gif.Decode(io.MultiReader(newReader(ctx, f.head), newReader(ctx, f.frame)))
	if err != nil || im.Bounds() == (image.Rectangle{Max: f.canvas}) {
		return im, err
	}
	canvas := image.NewNRGBA(image.Rectangle{Max: f.canvas})
	draw.Draw(canvas, im.Bounds(), im, im.Bounds().Min, draw.Src)
	return canvas, nil
}
