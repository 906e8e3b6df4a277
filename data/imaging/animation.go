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
	"iter"

	"golang.org/x/image/webp"
)

const (
	riffHeader  = 12 // bytes before the first chunk of a WebP file
	frameHeader = 16 // bytes before the first chunk of a frame
)

// riffChunks yields the chunks of b until one is cut short. A chunk is four letters, its length, and
// its content, padded to an even length.
func riffChunks(b []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for len(b) >= 8 {
			name, n := string(b[:4]), uint64(binary.LittleEndian.Uint32(b[4:]))
			if n > uint64(len(b)-8) || !yield(name, b[8:8+n]) {
				return
			}
			b = b[min(uint64(len(b)), 8+n+n&1):]
		}
	}
}

// appendChunk appends a chunk to b.
func appendChunk(b []byte, name string, content []byte) []byte {
	b = append(b, name...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(content)))
	b = append(b, content...)
	if len(content)%2 == 1 {
		b = append(b, 0)
	}
	return b
}

// riff returns a WebP file of the given chunks.
func riff(chunks []byte) []byte {
	b := append([]byte("RIFF"), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(b[4:], uint32(4+len(chunks)))
	return append(append(b, "WEBP"...), chunks...)
}

// uint24 returns the little-endian value of three bytes.
func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// firstFrame is the first frame of an animated WebP file.
type firstFrame struct {
	canvas image.Point     // the size of the animation
	at     image.Rectangle // the place of the frame in it
	still  []byte          // the frame as a separate file
}

// animated returns the first frame of b, or nil if b is not an animation.
//
// An animation begins with a chunk VP8X, which has a bit set for animations and the size of the
// canvas. Its frames are chunks ANMF. Each holds the frame's place, size and duration, and the
// chunks of a still image (RFC 9649, section 2.7).
func animated(b []byte) (*firstFrame, error) {
	const animation = 1 << 1
	var f *firstFrame
	for name, c := range riffChunks(b[min(len(b), riffHeader):]) {
		switch {
		case f == nil && (name != "VP8X" || len(c) < 10 || c[0]&animation == 0):
			return nil, nil
		case f == nil:
			f = &firstFrame{canvas: image.Pt(uint24(c[4:])+1, uint24(c[7:])+1)}
		case name == "ANMF" && len(c) < frameHeader:
			return nil, errors.New("a frame without its header")
		case name == "ANMF":
			x, y := 2*uint24(c), 2*uint24(c[3:])
			f.at = image.Rect(x, y, x+uint24(c[6:])+1, y+uint24(c[9:])+1)
			if !f.at.In(image.Rectangle{Max: f.canvas}) {
				return nil, fmt.Errorf("a frame at %v of an animation of %d x %d pixels", f.at, f.canvas.X, f.canvas.Y)
			}
			return f, f.take(c[frameHeader:])
		}
	}
	if f == nil {
		return nil, nil
	}
	return nil, errors.New("an animation without a frame")
}

// take makes the still file of the chunks of a frame.
func (f *firstFrame) take(chunks []byte) error {
	var alpha []byte
	for name, c := range riffChunks(chunks) {
		switch name {
		case "ALPH":
			alpha = c
		case "VP8 ", "VP8L":
			bare := riff(appendChunk(nil, name, c))
			cfg, err := webp.DecodeConfig(bytes.NewReader(bare))
			if err != nil {
				return err
			}
			if size := image.Pt(cfg.Width, cfg.Height); size != f.at.Size() {
				return fmt.Errorf("a frame of %v pixels that holds an image of %v", f.at.Size(), size)
			}
			if f.still = bare; alpha == nil || name == "VP8L" {
				return nil
			}
			const hasAlpha = 1 << 4
			w, h := cfg.Width-1, cfg.Height-1
			head := []byte{hasAlpha, 0, 0, 0, byte(w), byte(w >> 8), byte(w >> 16), byte(h), byte(h >> 8),
				byte(h >> 16)}
			f.still = riff(appendChunk(appendChunk(appendChunk(nil, "VP8X", head), "ALPH", alpha), name, c))
			return nil
		}
	}
	return errors.New("a frame without an image")
}

// webpConfig returns the size of a WebP file. For an animation it is the size of the canvas.
func webpConfig(b []byte) (image.Config, error) {
	switch f, err := animated(b); {
	case err != nil:
		return image.Config{}, err
	case f != nil:
		return image.Config{ColorModel: color.NRGBAModel, Width: f.canvas.X, Height: f.canvas.Y}, nil
	}
	return webp.DecodeConfig(bytes.NewReader(b))
}

// decodeWebP decodes b. Of an animation it decodes the first frame, on a transparent canvas.
func decodeWebP(ctx context.Context, b []byte) (image.Image, error) {
	f, err := animated(b)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return decodeStill(ctx, b)
	}
	im, err := decodeStill(ctx, f.still)
	if err != nil || f.at.Size() == f.canvas {
		return im, err
	}
	canvas := image.NewNRGBA(image.Rectangle{Max: f.canvas})
	draw.Draw(canvas, f.at, im, im.Bounds().Min, draw.Src)
	return canvas, nil
}
