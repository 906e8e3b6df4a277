package jxl

import (
	"errors"

	"github.com/kindred-ml/kindred/internal/format/colourspace"
)

// bits reads a codestream, the lowest bit of a byte first (ISO/IEC 18181-1, annex B).
type bits struct {
	b   []byte
	at  uint
	bad bool // the stream has ended
}

func (r *bits) u(n uint) (v uint32) {
	for i := range n {
		if r.at>>3 >= uint(len(r.b)) {
			r.bad = true
			return 0
		}
		v |= uint32(r.b[r.at>>3]>>(r.at&7)&1) << i
		r.at++
	}
	return v
}

func (r *bits) flag() bool { return r.u(1) == 1 }

// numberForm is one of four ways to write a number: so many bits, and what is added.
type numberForm struct {
	bits uint
	add  uint32
}

func (r *bits) number(of [4]numberForm) uint32 {
	f := of[r.u(2)]
	return f.add + r.u(f.bits)
}

func (r *bits) enum() uint32 { return r.number([4]numberForm{{0, 0}, {0, 1}, {4, 2}, {6, 18}}) }

// size passes over the size of a picture.
func (r *bits) size() {
	small := r.flag()
	side := func() {
		if small {
			r.u(5)
		} else {
			r.number([4]numberForm{{9, 1}, {13, 1}, {18, 1}, {30, 1}})
		}
	}
	side()
	if r.u(3) == 0 { // no ratio of the sides
		side()
	}
}

// preview passes over the size of a preview.
func (r *bits) preview() {
	eighths := r.flag()
	side := func() {
		if eighths {
			r.number([4]numberForm{{0, 16}, {0, 32}, {5, 1}, {9, 33}})
		} else {
			r.number([4]numberForm{{6, 1}, {8, 65}, {10, 321}, {12, 1345}})
		}
	}
	side()
	if r.u(3) == 0 {
		side()
	}
}

// depth passes over the depth of samples.
func (r *bits) depth() {
	if r.flag() { // floating point
		r.number([4]numberForm{{0, 32}, {0, 16}, {0, 24}, {6, 1}})
		r.u(4)
	} else {
		r.number([4]numberForm{{0, 8}, {0, 10}, {0, 12}, {6, 1}})
	}
}

// animation passes over ticks, loops and whether there are timecodes.
func (r *bits) animation() {
	r.number([4]numberForm{{0, 100}, {0, 1000}, {10, 1}, {30, 1}})
	r.number([4]numberForm{{0, 1}, {0, 1001}, {8, 1}, {10, 1}})
	r.number([4]numberForm{{0, 0}, {3, 0}, {16, 0}, {32, 0}})
	r.flag()
}

// channel passes over the description of an extra channel.
func (r *bits) channel() {
	if r.flag() { // alpha as usual
		return
	}
	const alpha, spot, cfa = 0, 2, 5
	kind := r.enum()
	r.depth()
	r.number([4]numberForm{{0, 0}, {0, 3}, {0, 4}, {3, 1}})
	for n := r.number([4]numberForm{{0, 0}, {4, 0}, {5, 16}, {10, 48}}); n > 0 && !r.bad; n-- {
		r.u(8)
	}
	switch kind {
	case alpha:
		r.flag()
	case spot:
		r.u(64)
	case cfa:
		r.number([4]numberForm{{0, 1}, {2, 0}, {4, 3}, {8, 19}})
	}
}

// Colours returns the colour space of a codestream, of which header is the beginning; nil for sRGB. A profile (ICC) is
// compressed in a way of its own, and is not read: its colours are Unsupported.
func Colours(header []byte) (*colourspace.Space, error) {
	r := &bits{b: header, at: 16} // after the signature
	r.size()
	if r.flag() { // all is as usual
		return nil, nil
	}
	if r.flag() {
		r.u(3) // orientation
		for _, part := range []func(){r.size, r.preview, r.animation} {
			if r.flag() {
				part()
			}
		}
	}
	r.depth()
	r.flag()
	for n := r.number([4]numberForm{{0, 0}, {0, 1}, {4, 2}, {12, 1}}); n > 0 && !r.bad; n-- {
		r.channel()
	}
	r.flag() // whether colours are stored as XYB
	return r.encoding()
}

var errHeader = errors.New("the header ends early")

// encoding reads the colour encoding (annex E).
func (r *bits) encoding() (*colourspace.Space, error) {
	if r.flag() {
		return nil, nil
	}
	profile, space := r.flag(), r.enum()
	const grey, xyb, unknown = 1, 2, 3
	switch {
	case r.bad:
		return nil, errHeader
	case profile:
		return nil, colourspace.Unsupported("of a profile in JPEG XL")
	case space >= xyb && space <= unknown:
		return nil, colourspace.Unsupported("of this JPEG XL file")
	}
	p, ok := r.primaries(space == grey)
	if !ok {
		return nil, colourspace.Unsupported("of this JPEG XL file")
	}
	curve, err := r.curve()
	if r.bad {
		return nil, errHeader
	}
	if err != nil {
		return nil, err
	}
	s, err := colourspace.New(p, curve)
	if err == nil && space == grey {
		s.Grey = true
	}
	return s, err
}

// primaries reads the white and, but for greys, the primaries.
func (r *bits) primaries(grey bool) (p colourspace.Primaries, ok bool) {
	const d65, custom, equal, dci = 1, 2, 10, 11
	p = colourspace.SRGBPrimaries()
	white := r.enum()
	if white == custom {
		p.White = r.xy()
	}
	switch white {
	case d65, custom:
	case equal:
		p.White = colourspace.XY{X: 1. / 3, Y: 1. / 3}
	case dci:
		p.White = colourspace.XY{X: 0.314, Y: 0.351}
	default:
		return p, false
	}
	if grey {
		return p, true
	}
	const srgb, rec2020, p3 = 1, 9, 11
	named := 0
	switch r.enum() {
	case srgb:
		return p, true
	case custom:
		p.Red, p.Green, p.Blue = r.xy(), r.xy(), r.xy()
		return p, true
	case rec2020:
		named = 9
	case p3:
		named = 12
	default:
		return p, false
	}
	of, ok := colourspace.PrimariesH273(named)
	of.White = p.White
	return of, ok
}

// xy reads a chromaticity.
func (r *bits) xy() colourspace.XY {
	one := func() float64 {
		v := r.number([4]numberForm{{19, 0}, {19, 524288}, {20, 1048576}, {21, 2097152}})
		n := int32(v >> 1) // the sign is in the lowest bit
		if v&1 == 1 {
			n = -n - 1
		}
		return float64(n) / 1e6
	}
	return colourspace.XY{X: one(), Y: one()}
}

// curve reads the transfer function.
func (r *bits) curve() (colourspace.Curve, error) {
	if r.flag() {
		gamma := float64(r.u(24)) / 1e7
		if gamma < 0.05 || gamma > 1 {
			return nil, colourspace.Unsupported("of this JPEG XL file")
		}
		return colourspace.Gamma(1 / gamma), nil
	}
	const dci = 17
	number := int(r.enum()) // as in ITU-T H.273
	if number == dci {
		return colourspace.Gamma(2.6), nil
	}
	return colourspace.CurveH273(number)
}
