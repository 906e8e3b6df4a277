package imaging

import (
	"image"
	"math"

	"github.com/kindred-ml/kindred/internal/format/isobmff"
)

// lumaWeights returns the weights of red and blue in the luma, by the numbers of ITU-T H.273: 1 is ITU-R 709, 9 is
// ITU-R 2020, and all others are taken for ITU-R 601, as is a picture that does not say.
func lumaWeights(matrix int) (kr, kb float64) {
	const bt709, bt2020 = 1, 9
	switch matrix {
	case bt709:
		return 0.2126, 0.0722
	case bt2020:
		return 0.2627, 0.0593
	}
	return 0.299, 0.114
}

// isIdentity reports whether green, blue and red stand in place of luma and chroma.
func isIdentity(c isobmff.Colour) bool { return c.Known && c.Matrix == 0 }

// fromPlanes writes a picture to dst whose green is luma, blue Cb and red Cr. Without a colour it has values from 0 to
// 255, as in JPEG.
func fromPlanes(dst *Image, p *image.NRGBA, colour isobmff.Colour) {
	b := p.Bounds()
	dst.Reset(b.Dx(), b.Dy(), 3)
	kr, kb := lumaWeights(colour.Matrix)
	m, identity := newMatrix(kr, kb, colour.Full || !colour.Known), isIdentity(colour)
	for y := range dst.H {
		d, s := dst.Row(y), p.Pix[y*p.Stride:]
		for x := range dst.W {
			to, v := d[3*x:3*x+3], s[4*x:4*x+3]
			if identity {
				copy(to, v)
				continue
			}
			m.apply(to, v[1], v[2], v[0])
		}
	}
}

// matrix converts luma and chroma to colours, in fixed point with 16 binary places.
type matrix struct{ black, y, rCr, gCb, gCr, bCb int32 }

// newMatrix returns the matrix for the weights of red and blue in the luma.
func newMatrix(kr, kb float64, full bool) *matrix {
	luma, chroma := 1.0, 2.0 // of a step of the sample, the chroma for a difference of one
	black := int32(0)
	if !full {
		luma, chroma, black = 255.0/219, 2*255.0/224, 16
	}
	fixed := func(v float64) int32 { return int32(math.Round(v * (1 << 16))) }
	kg := 1 - kr - kb
	return &matrix{black: black, y: fixed(luma), rCr: fixed(chroma * (1 - kr)), bCb: fixed(chroma * (1 - kb)),
		gCb: fixed(chroma * (1 - kb) * kb / kg), gCr: fixed(chroma * (1 - kr) * kr / kg)}
}

func (m *matrix) apply(d []uint8, y, cb, cr uint8) {
	const half = 1 << 15
	l := (int32(y)-m.black)*m.y + half
	u, v := int32(cb)-128, int32(cr)-128
	clip := func(v int32) uint8 { return uint8(min(max(v>>16, 0), 255)) }
	d[0], d[1], d[2] = clip(l+v*m.rCr), clip(l-u*m.gCb-v*m.gCr), clip(l+u*m.bCb)
}

// samples are pixels of size bytes with red, green and blue first, in one or two big-endian bytes each.
type samples struct {
	pix        []uint8
	w, h, size int
	wide       bool
}

func (s *samples) get(pixel, channel int) int32 {
	if s.wide {
		p := s.pix[pixel*s.size+2*channel:]
		return int32(p[0])<<8 | int32(p[1])
	}
	return int32(s.pix[pixel*s.size+channel])
}

// set sets a channel of a pixel, to the nearest value that there is.
func (s *samples) set(pixel, channel int, v int32) {
	if s.wide {
		v = min(max(v, 0), math.MaxUint16)
		p := s.pix[pixel*s.size+2*channel:]
		p[0], p[1] = uint8(v>>8), uint8(v)
		return
	}
	s.pix[pixel*s.size+channel] = uint8(min(max(v, 0), math.MaxUint8))
}

// add adds to a channel of a pixel.
func (s *samples) add(pixel, channel int, v int32) {
	if v != 0 {
		s.set(pixel, channel, s.get(pixel, channel)+v)
	}
}

// smoothChroma enlarges the chroma of a picture again whose decoder repeated each value for across x down pixels, 1 or
// 2 each. It adds to each pixel by what the differences of red and blue from the luma change when they are weighted by
// distance, in place of being the same in all of a block. Values next to each other count 3/4 and 1/4. Only where
// colours were clipped is that not quite what a decoder does that has the chroma itself.
func (s *samples) smoothChroma(across, down int, kr, kb float64) {
	if across > 2 || down > 2 || across*down < 2 {
		return
	}
	const places = 8
	fixed := func(v float64) int32 { return int32(math.Round(v * (1 << places))) }
	red, blue := fixed(kr), fixed(kb)
	green := 1<<places - red - blue
	cols, rows := (s.w+across-1)/across, (s.h+down-1)/down
	blocks := make([][2]int32, cols*rows) // red and blue without the luma
	for i := range blocks {
		n := int32(0)
		for y := i / cols * down; y < min((i/cols+1)*down, s.h); y++ {
			for x := i % cols * across; x < min((i%cols+1)*across, s.w); x++ {
				r, g, b := s.get(y*s.w+x, 0), s.get(y*s.w+x, 1), s.get(y*s.w+x, 2)
				luma := red*r + green*g + blue*b
				blocks[i][0] += r<<places - luma
				blocks[i][1] += b<<places - luma
				n++
			}
		}
		blocks[i][0], blocks[i][1] = blocks[i][0]/n, blocks[i][1]/n
	}
	// next returns the block on the nearer side of a pixel, or its own at the border.
	next := func(at, in, n int) int {
		if in == 1 {
			return at
		}
		return min(max(at/2+2*(at&1)-1, 0), n-1)
	}
	mixed := make([][2]int32, cols) // of two rows of blocks
	for y := range s.h {
		near, far := blocks[y/down*cols:][:cols], blocks[next(y, down, rows)*cols:][:cols]
		for i, v := range near {
			mixed[i] = [2]int32{3*v[0] + far[i][0], 3*v[1] + far[i][1]}
		}
		for x := range s.w {
			own, beside := x/across, next(x, across, cols)
			toRed := (3*mixed[own][0]+mixed[beside][0])/16 - near[own][0]
			toBlue := (3*mixed[own][1]+mixed[beside][1])/16 - near[own][1]
			const half = 1 << (places - 1)
			i := y*s.w + x
			s.add(i, 0, (toRed+half)>>places)
			s.add(i, 1, (-(red*toRed+blue*toBlue)/green+half)>>places)
			s.add(i, 2, (toBlue+half)>>places)
		}
	}
}
