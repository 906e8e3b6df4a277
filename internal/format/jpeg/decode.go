package jpeg

import (
	"encoding/binary"
	"errors"
)

// ErrUnsupported reports a file of another kind, or a damaged one.
var ErrUnsupported = errors.New("jpeg: not a YCbCr or grey file of a kind known here and without faults")

// Markers.
const (
	sof0 = 0xc0 // baseline
	sof1 = 0xc1 // extended sequential
	sof2 = 0xc2 // progressive
	dht  = 0xc4
	dac  = 0xcc
	rst0 = 0xd0
	rst7 = 0xd7
	soi  = 0xd8
	eoi  = 0xd9
	sos  = 0xda
	dqt  = 0xdb
	dri  = 0xdd
	app0 = 0xe0
	appE = 0xee
	com  = 0xfe
)

// component is one colour component.
type component struct {
	id     uint8
	h, v   int // sampling factors
	quant  uint8
	dc, ac *huffman
	size   int // side of what a block of 8 x 8 becomes
	plane  []uint8
	stride int
	lastDC int32
	coeffs []int16 // of a progressive file: blocks of 64 in zigzag order
}

// Decoder keeps tables and buffers between files. It serves one goroutine. The
// zero value is ready.
type Decoder struct {
	// MaxPixels, if not 0, bounds width times height, and MaxBytes the memory for
	// planes, coefficients and pixels.
	MaxPixels int
	MaxBytes  int64
	// Reserve, if not nil, is told these bytes before they are used, and may wait. False ends the decoding.
	Reserve func(bytes int64) bool
	// Shrink, if not nil, takes the size of a picture and returns by what its sides
	// shall be divided: 1, 2, 4 or 8.
	Shrink func(w, h int) int
	// Done, if not nil, ends a decoding with ErrUnsupported once it is closed.
	Done <-chan struct{}
	// Smooth enlarges chroma by interpolation instead of repetition.
	Smooth bool

	w, h          int // of the file
	shrink        int
	across        int // pixels of the result for a value of chroma
	down          int
	cols          int // units of the interleaved scan
	rows          int
	hmax          int // the largest sampling factors
	vmax          int
	comps         [3]component
	n             int // number of components
	quant         [4][64]int32
	hasQ          [4]bool
	huff          [2][4]huffman
	restart       int
	isProgressive bool // progressive: coefficients come in several scans
	part          scanPart
	passes        Passes // of the scans so far, where they are several
	in            bitReader
	block         [64]int32
	wide          []uint8 // two rows of chroma, enlarged
}

// Decode decodes b. grow is called once with the width, height and number of
// channels (1 or 3) and returns the memory for the interleaved pixels. The sides of a
// picture that shrinks are rounded to the nearest.
func (d *Decoder) Decode(b []byte, grow func(w, h, c int) []uint8) error {
	d.reset()
	if len(b) < 2 || b[0] != 0xff || b[1] != soi {
		return ErrUnsupported
	}
	at, end, err := d.headers(b, 2)
	if err != nil {
		return err
	}
	if end || !d.allocate(len(b)-at) {
		return ErrUnsupported
	}
	if d.isProgressive {
		err = d.scans(b, at)
	} else {
		err = d.scan(b[at:])
	}
	if err != nil {
		return err
	}
	w, h := d.reducedLen(d.w), d.reducedLen(d.h)
	pix := grow(w, h, d.n)
	if d.n == 1 {
		c := &d.comps[0]
		for y := range h {
			copy(pix[y*w:(y+1)*w], c.plane[y*c.stride:])
		}
		return nil
	}
	if !d.toRGB(pix, w, h) {
		return ErrUnsupported
	}
	return nil
}

// Trim frees the planes and the coefficients of a colour that exceed most bytes. Others are used for the next picture.
func (d *Decoder) Trim(most int64) {
	for i := range d.comps {
		if c := &d.comps[i]; int64(cap(c.plane)+2*cap(c.coeffs)) > most {
			c.plane, c.coeffs = nil, nil
		}
	}
}

// reducedLen is the length of a side in the result.
func (d *Decoder) reducedLen(n int) int { return max(1, (n+d.shrink/2)/d.shrink) }

func (d *Decoder) reset() {
	d.n, d.restart, d.w, d.h, d.isProgressive = 0, 0, 0, 0, false
	d.passes = Passes{}
	d.hasQ = [4]bool{}
	d.block = [64]int32{} // which a file that ended early left as it was
	for i := range d.huff {
		for j := range d.huff[i] {
			d.huff[i][j].ok = false
		}
	}
}

// headers reads all from at up to the next scan and returns where its data start, or
// end where none comes.
func (d *Decoder) headers(b []byte, at int) (scan int, end bool, err error) {
	for !d.isStopped() {
		for at+1 < len(b) && b[at] == 0xff && b[at+1] == 0xff {
			at++
		}
		if at+2 <= len(b) && b[at] == 0xff && b[at+1] == eoi {
			return at, true, nil
		}
		if at+4 > len(b) || b[at] != 0xff {
			return 0, false, ErrUnsupported
		}
		marker := b[at+1]
		n := int(binary.BigEndian.Uint16(b[at+2:]))
		if n < 2 || at+2+n > len(b) {
			return 0, false, ErrUnsupported
		}
		seg := b[at+4 : at+2+n]
		at += 2 + n
		ok := true
		switch {
		case marker == sof0 || marker == sof1 || marker == sof2:
			ok = d.frame(seg)
			d.isProgressive = marker == sof2
		case marker == dht:
			ok = d.huffmanTables(seg)
		case marker == dqt:
			ok = d.quantTables(seg)
		case marker == dri:
			ok = len(seg) == 2
			if ok {
				d.restart = int(binary.BigEndian.Uint16(seg))
			}
		case marker == sos:
			if !d.scanHeader(seg) {
				return 0, false, ErrUnsupported
			}
			return at, false, nil
		case marker == appE && len(seg) >= 12 && string(seg[:5]) == "Adobe":
			ok = seg[11] != 0 // YCbCr; else it is RGB or CMYK
		case marker >= app0 && marker <= 0xef, marker == com:
		default:
			ok = false
		}
		if !ok {
			return 0, false, ErrUnsupported
		}
	}
	return 0, false, ErrUnsupported
}

func (d *Decoder) frame(seg []byte) bool {
	if d.n != 0 || len(seg) < 6 || seg[0] != 8 {
		return false
	}
	d.h, d.w = int(binary.BigEndian.Uint16(seg[1:])), int(binary.BigEndian.Uint16(seg[3:]))
	n := int(seg[5])
	if d.w == 0 || d.h == 0 || d.MaxPixels > 0 && d.w > d.MaxPixels/d.h || n != 1 && n != 3 ||
		len(seg) != 6+3*n {
		return false
	}
	for i := range n {
		s := seg[6+3*i:]
		c := &d.comps[i]
		*c = component{id: s[0], h: int(s[1] >> 4), v: int(s[1] & 15), quant: s[2], plane: c.plane, coeffs: c.coeffs}
		if c.quant > 3 {
			return false
		}
	}
	if n == 1 {
		// The blocks of a single component are not interleaved: its factors
		// do not matter.
		d.comps[0].h, d.comps[0].v = 1, 1
		d.n, d.hmax, d.vmax = 1, 1, 1
		return true
	}
	y, cb, cr := &d.comps[0], &d.comps[1], &d.comps[2]
	if cb.h < 1 || cb.v < 1 || cr.h != cb.h || cr.v != cb.v || y.h > 4 || y.v > 4 || y.h < cb.h || y.v < cb.v ||
		y.h%cb.h != 0 || y.v%cb.v != 0 || y.h*y.v+2*cb.h*cb.v > 10 {
		return false
	}
	if y.id == 'R' && cb.id == 'G' && cr.id == 'B' {
		return false
	}
	d.n, d.hmax, d.vmax = 3, y.h, y.v
	return true
}

func (d *Decoder) quantTables(seg []byte) bool {
	for len(seg) > 0 {
		wide, id := seg[0]>>4, seg[0]&15
		size := 64
		if wide == 1 {
			size = 128
		}
		if id > 3 || wide > 1 || len(seg) < 1+size {
			return false
		}
		for i := range 64 {
			v := int32(seg[1+i])
			if wide == 1 {
				v = int32(binary.BigEndian.Uint16(seg[1+2*i:]))
			}
			d.quant[id][i] = v
		}
		d.hasQ[id] = true
		seg = seg[1+size:]
	}
	return true
}

func (d *Decoder) huffmanTables(seg []byte) bool {
	for len(seg) > 0 {
		class, id := seg[0]>>4, seg[0]&15
		if class > 1 || id > 3 || len(seg) < 17 {
			return false
		}
		n, ok := d.huff[class][id].build(seg[1:], class == 1)
		if !ok {
			return false
		}
		seg = seg[1+n:]
	}
	return true
}

// scanHeader requires the one scan of all components at full precision, or a layer
// of a progressive file.
func (d *Decoder) scanHeader(seg []byte) bool {
	if d.isProgressive {
		return d.progressiveHeader(seg)
	}
	if d.n == 0 || len(seg) != 4+2*d.n || int(seg[0]) != d.n {
		return false
	}
	for i := range d.n {
		c := &d.comps[i]
		s := seg[1+2*i:]
		dc, ac := s[1]>>4, s[1]&15
		if s[0] != c.id || dc > 3 || ac > 3 || !d.hasQ[c.quant] {
			return false
		}
		c.dc, c.ac = &d.huff[0][dc], &d.huff[1][ac]
		if !c.dc.ok || !c.ac.ok {
			return false
		}
	}
	tail := seg[1+2*d.n:]
	return tail[0] == 0 && tail[1] == 63 && tail[2] == 0
}

// allocate lays out the result and takes memory for it. data is the length of what is left
// of the file.
func (d *Decoder) allocate(data int) bool {
	d.shrink = 1
	if d.Shrink != nil {
		d.shrink = d.Shrink(d.w, d.h)
	}
	d.cols, d.rows = (d.w+8*d.hmax-1)/(8*d.hmax), (d.h+8*d.vmax-1)/(8*d.vmax)
	// A block takes at least two bits, one in a layer: a header that announces more
	// than the data can hold gets no memory.
	blocks := 4 * data
	if d.isProgressive {
		blocks = 8 * data
	}
	if d.cols*d.rows > blocks+64 {
		return false
	}
	d.across, d.down = 1, 1
	for i := range d.n {
		c := &d.comps[i]
		c.size = 8 / d.shrink
		h, v := d.hmax/c.h, d.vmax/c.v
		for h%2 == 0 && v%2 == 0 && c.size < 8 { // chroma that need not be enlarged
			h, v, c.size = h/2, v/2, 2*c.size
		}
		d.across, d.down = max(d.across, h), max(d.down, v)
	}
	need := int64(d.n) * int64(d.reducedLen(d.w)) * int64(d.reducedLen(d.h))
	for i := range d.n {
		c := &d.comps[i]
		blocks := int64(d.cols*c.h) * int64(d.rows*c.v)
		need += blocks * int64(c.size*c.size)
		if d.isProgressive {
			need += blocks * 128
		}
	}
	if d.MaxBytes > 0 && need > d.MaxBytes || d.Reserve != nil && !d.Reserve(need) {
		return false
	}
	for i := range d.n {
		c := &d.comps[i]
		c.stride = d.cols * c.h * c.size
		size := c.stride * d.rows * c.v * c.size
		if cap(c.plane) < size {
			c.plane = make([]uint8, size)
		}
		c.plane = c.plane[:size]
		c.lastDC = 0
	}
	return true
}

// isStopped reports that Done is closed.
func (d *Decoder) isStopped() bool { return isClosed(d.Done) }

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// scan decodes the coefficients and transforms them into the planes.
func (d *Decoder) scan(data []byte) error {
	d.in = bitReader{data: data}
	left := d.restart
	next := byte(rst0)
	for my := range d.rows {
		if d.isStopped() {
			return ErrUnsupported
		}
		for mx := range d.cols {
			if d.restart > 0 && left == 0 {
				if !d.in.restart(next) {
					return ErrUnsupported
				}
				next = rst0 | (next+1)&7
				left = d.restart
				for i := range d.n {
					d.comps[i].lastDC = 0
				}
			}
			left--
			for i := range d.n {
				c := &d.comps[i]
				for v := range c.v {
					for h := range c.h {
						last, ok := d.coefficients(c)
						if !ok {
							return ErrUnsupported
						}
						at := ((my*c.v+v)*c.stride + mx*c.h + h) * c.size
						d.transform(c.plane[at:], c.stride, last, c.size)
					}
				}
			}
		}
	}
	if d.in.overrun() {
		return ErrUnsupported
	}
	return nil
}

// coefficients reads one block, dequantised, into d.block, which is zero before.
// last is the zigzag index of its last coefficient that is not zero.
func (d *Decoder) coefficients(c *component) (last int, ok bool) {
	in := &d.in
	q := &d.quant[c.quant]
	in.fill()
	size, ok := in.symbol(c.dc)
	if !ok || size > 11 {
		return 0, false
	}
	c.lastDC += in.signed(uint(size))
	d.block[0] = c.lastDC * q[0]
	ac := c.ac
	for k := 1; k < 64; {
		in.fill()
		if e := ac.quick[in.acc>>(64-lookBits)]; e != 0 {
			// Code and value bits at once.
			k += int(e >> 4 & 15)
			if k > 63 {
				return 0, false
			}
			in.skip(uint(e & 15))
			d.block[zigzag[k]] = int32(e>>8) * q[k]
			last = k
			k++
			continue
		}
		s, ok := in.symbol(ac)
		if !ok {
			return 0, false
		}
		run, size := int(s>>4), uint(s&15)
		if size == 0 {
			if run != 15 {
				break // end of block
			}
			k += 16
			continue
		}
		k += run
		if k > 63 {
			return 0, false
		}
		d.block[zigzag[k]] = in.signed(size) * q[k]
		last = k
		k++
	}
	return last, true
}

// zigzag maps the order of coefficients in a file to rows.
var zigzag = [64]uint8{
	0, 1, 8, 16, 9, 2, 3, 10,
	17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34,
	27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36,
	29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46,
	53, 60, 61, 54, 47, 55, 62, 63,
}
