package imaging

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"io"
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

// uint24 returns the little-endian value of three bytes.
func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// webpPicture is the picture of a WebP file: of an animation, the first frame. golang.org/x/image is given the
// chunks of this picture and no others, so it cannot decode another one.
type webpPicture struct {
	canvas   image.Point
	animated bool
	at       image.Rectangle // the place of the picture on the canvas
	alpha    []byte          // the chunk ALPH of a lossy picture, or nil
	name     string          // of the chunk with the picture: VP8 or VP8L
	coded    []byte          // its content
}

// readWebP reads the structure of a WebP file.
//
// A file of more than one chunk begins with a chunk VP8X, which has the size of the canvas and a bit set for
// animations. The frames of an animation are chunks ANMF. Each holds the frame's place, size and duration, and the
// chunks of a still image (RFC 9649, section 2.7).
func readWebP(b []byte) (*webpPicture, error) {
	const animation = 1 << 1
	p := new(webpPicture)
	chunks := b[min(len(b), riffHeader):]
	for name, c := range riffChunks(chunks) {
		if name == "VP8X" && len(c) >= 10 {
			p.canvas, p.animated = image.Pt(uint24(c[4:])+1, uint24(c[7:])+1), c[0]&animation != 0
		}
		break // VP8X is the first chunk
	}
	if !p.animated {
		p.at.Max = p.canvas
		err := p.findPicture(chunks)
		p.canvas = p.at.Size()
		return p, err
	}
	for name, c := range riffChunks(chunks) {
		switch {
		case name != "ANMF":
			continue
		case len(c) < frameHeader:
			return nil, errors.New("a frame without its header")
		}
		x, y := 2*uint24(c), 2*uint24(c[3:])
		p.at = image.Rect(x, y, x+uint24(c[6:])+1, y+uint24(c[9:])+1)
		if !p.at.In(image.Rectangle{Max: p.canvas}) {
			return nil, fmt.Errorf("a frame at %v of an animation of %d x %d pixels", p.at, p.canvas.X, p.canvas.Y)
		}
		return p, p.findPicture(c[frameHeader:])
	}
	return nil, errors.New("an animation without a frame")
}

// findPicture finds the picture in the chunks of a still image. Its size must be that of p.at, unless that is empty.
func (p *webpPicture) findPicture(chunks []byte) error {
	var alpha []byte
	for name, c := range riffChunks(chunks) {
		switch name {
		case "ALPH":
			alpha = c
		case "VP8 ", "VP8L":
			p.name, p.coded = name, c
			cfg, err := webp.DecodeConfig(p.reader(context.Background()))
			if err != nil {
				return err
			}
			size := image.Pt(cfg.Width, cfg.Height)
			if p.at.Empty() {
				p.at.Max = size
			}
			if size != p.at.Size() {
				return fmt.Errorf("a frame of %v pixels that holds an image of %v", p.at.Size(), size)
			}
			if name == "VP8 " { // a lossless picture has alpha of its own
				p.alpha = alpha
			}
			return nil
		}
	}
	return errors.New("a frame without an image, or with one that is cut off")
}

// reader reads a file of the picture alone.
func (p *webpPicture) reader(ctx context.Context) io.Reader {
	length := uint32(4)
	var parts []io.Reader
	add := func(name string, content []byte) {
		head, padding := binary.LittleEndian.AppendUint32([]byte(name), uint32(len(content))), len(content)%2
		length += uint32(len(head) + len(content) + padding)
		parts = append(parts, bytes.NewReader(head), newReader(ctx, content), bytes.NewReader(make([]byte, padding)))
	}
	if p.alpha != nil {
		const hasAlpha = 1 << 4
		w, h := p.at.Dx()-1, p.at.Dy()-1
		add("VP8X", []byte{hasAlpha, 0, 0, 0, byte(w), byte(w >> 8), byte(w >> 16), byte(h), byte(h >> 8),
			byte(h >> 16)})
		add("ALPH", p.alpha)
	}
	add(p.name, p.coded)
	head := append(binary.LittleEndian.AppendUint32([]byte("RIFF"), length), "WEBP"...)
	return io.MultiReader(append([]io.Reader{bytes.NewReader(head)}, parts...)...)
}

// decode decodes the picture, on a transparent canvas if it is smaller than that.
func (p *webpPicture) decode(ctx context.Context) (image.Image, error) {
	im, err := p.decodeStill(ctx)
	if err != nil || p.at.Size() == p.canvas {
		return im, err
	}
	canvas := image.NewNRGBA(image.Rectangle{Max: p.canvas})
	draw.Draw(canvas, p.at, im, im.Bounds().Min, draw.Src)
	return canvas, nil
}
