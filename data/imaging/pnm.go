package imaging

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

var pnmFormat = format{name: "PNM", extensions: []string{".pnm", ".ppm", ".pgm", ".pbm"},
	mediaType: "image/x-portable-anymap", matches: isPNM, open: openPNM}

func isPNM(b []byte) bool {
	return len(b) > 2 && b[0] == 'P' && '1' <= b[1] && b[1] <= '6' && (isBlank(b[2]) || b[2] == '#')
}

func isBlank(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// pnm is a file of Netpbm: bits (P1, P4), grey (P2, P5) or colours (P3, P6), as text (P1 to P3) or as bytes. Of a
// file of several pictures it is the first.
type pnm struct {
	w, h     int
	channels int
	max      int // the value of white; black is 0, but of bits, of which 1 is black
	bits     bool
	text     bool
	raster   []byte
}

var errPNMHeader = errors.New("its header ends early, or has no number where one is due")

// readPNM reads the header of a file. A comment goes from # to the end of its line.
func readPNM(b []byte) (*pnm, error) {
	kind := b[1] - '0'
	p := &pnm{max: 1, channels: 1, bits: kind == 1 || kind == 4, text: kind <= 3, raster: b[2:]}
	numbers := []*int{&p.w, &p.h, &p.max}
	if p.bits {
		numbers = numbers[:2]
	}
	if kind == 3 || kind == 6 {
		p.channels = 3
	}
	for _, n := range numbers {
		var ok bool
		if *n, ok = p.number(); !ok {
			return nil, errPNMHeader
		}
	}
	if p.max < 1 || p.max > 0xffff {
		return nil, fmt.Errorf("its largest value is %d, which must be 1 to 65535", p.max)
	}
	if !p.text {
		if len(p.raster) == 0 || !isBlank(p.raster[0]) {
			return nil, errPNMHeader
		}
		p.raster = p.raster[1:]
	}
	return p, nil
}

// number reads a number of the text, which ends it.
func (p *pnm) number() (n int, ok bool) {
	b := p.raster
	for len(b) > 0 && (isBlank(b[0]) || b[0] == '#') {
		if b[0] == '#' {
			if _, b, ok = bytes.Cut(b, []byte("\n")); !ok {
				break
			}
			continue
		}
		b = b[1:]
	}
	digits := 0
	for ; digits < len(b) && '0' <= b[digits] && b[digits] <= '9'; digits++ {
		if n = 10*n + int(b[digits]-'0'); n > 1<<30 {
			return 0, false
		}
		if p.bits && p.w > 0 && p.h > 0 { // the bits of a raster need no blanks between them
			digits++
			break
		}
	}
	p.raster = b[digits:]
	return n, digits > 0
}

// size returns the least number of bytes of the raster.
func (p *pnm) size() int64 {
	samples := budget.Product(int64(p.w), int64(p.h), int64(p.channels))
	switch {
	case p.text && p.bits:
		return samples
	case p.text: // a blank between two
		return budget.Product(2, samples) - 1
	case p.bits:
		return budget.Product((int64(p.w)+7)/8, int64(p.h))
	case p.max > 0xff:
		return budget.Product(2, samples)
	}
	return samples
}

// openPNM reads the header of a file. It refuses a file that is too short for its picture, so that a small file takes
// little memory.
func openPNM(_ context.Context, b []byte, size int64) (*source, error) {
	p, err := readPNM(b)
	if err != nil {
		return nil, err
	}
	if has := size - int64(len(b)-len(p.raster)); p.w > 0 && p.h > 0 && has < p.size() {
		return nil, tooShortError(has, p.size())
	}
	s := &source{cfg: image.Config{Width: p.w, Height: p.h, ColorModel: color.RGBAModel}, decode: p.decode,
		bytes: budget.Product(int64(p.w), int64(p.h), int64(p.channels+3))}
	return s, nil
}

func tooShortError(has, want int64) error {
	return fmt.Errorf("it has %d bytes for its pixels and needs %d", has, want)
}

// decode reads the raster.
func (p *pnm) decode(ctx context.Context) (image.Image, error) {
	im := NewImage(p.w, p.h, p.channels)
	const often = 1 << 16 // samples between two looks at the context
	for i := range im.Pix {
		if i%often == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		v, ok := p.sample(i)
		if !ok {
			return nil, errors.New("its pixels end early, or hold something other than numbers")
		}
		if v = min(v, p.max); p.bits {
			v = 1 - v
		}
		im.Pix[i] = uint8((v*255 + p.max/2) / p.max)
	}
	return im, nil
}

// sample returns sample i. Those of a text are read one after another.
func (p *pnm) sample(i int) (int, bool) {
	switch at := 2 * i; {
	case p.text:
		return p.number()
	case p.bits:
		at = i/p.w*((p.w+7)/8) + i%p.w/8
		return int(p.raster[at]>>(7-i%p.w%8)) & 1, true
	case p.max > 0xff:
		return int(p.raster[at])<<8 | int(p.raster[at+1]), true
	}
	return int(p.raster[i]), true
}
