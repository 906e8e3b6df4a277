package imaging

import (
	"encoding/binary"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// treeMemory returns the memory for the code trees of a picture. A lossless picture, or alpha that is stored
// as one, may have thousands of groups of trees in a small file, each of tens of kilobytes.
func (p *webpPicture) treeMemory() int64 {
	const lossless = 1 // compression of alpha
	switch {
	case p.name == "VP8L" && len(p.coded) > 1:
		return losslessTrees(p.coded[1:])
	case len(p.alpha) > 1 && p.alpha[0]&3 == lossless: // without its sides
		w, h := p.at.Dx()-1, p.at.Dy()-1
		sides := binary.LittleEndian.AppendUint32(nil, uint32(w&0x3fff|h&0x3fff<<14))
		return losslessTrees(append(sides, p.alpha[1:]...))
	}
	return 0
}

const (
	// maxGroups is the largest number of groups of trees that golang.org/x/image/vp8l reads.
	maxGroups = 2600
	// maxScanned is the number of pixels of a picture up to which its groups are counted. The
	// memory of larger pictures exceeds that of any trees.
	maxScanned   = 1 << 24
	maxCacheBits = 11 // bits
)

// groupMemory is the memory for a group of five trees: a node of eight bytes for each symbol and
// each fork, the length and the code of each symbol, and tables of 2^7 entries.
func groupMemory(cacheBits int) int64 {
	symbols := int64(280 + 3*256 + 40)
	if cacheBits > 0 {
		symbols += 1 << cacheBits
	}
	return 24*symbols + 5*(4<<7+32)
}

// losslessTrees returns the memory for the trees of a lossless picture (RFC 9649, section 3). It
// reads what comes before the trees: the transforms, and the picture that has for each tile the
// number of its group.
func losslessTrees(b []byte) int64 {
	r := losslessReader{b: b}
	w, h := r.readBits(14)+1, r.readBits(14)+1
	r.readBits(4) // alpha, version
	tiles := func(n, bits int) int { return (n + 1<<bits - 1) >> bits }
	worst := budget.Product(groupMemory(maxCacheBits), int64(min(maxGroups, tiles(w, 2)*tiles(h, 2))))
	if w*h > maxScanned {
		return worst
	}
	for n := 0; r.readBits(1) == 1; n++ {
		const predictor, crossColour, indexing = 0, 1, 3
		switch r.readBits(2) {
		case predictor, crossColour:
			bits := r.readBits(3) + 2
			r.readImage(tiles(w, bits), tiles(h, bits))
		case indexing:
			colours := r.readBits(8) + 1
			r.readImage(colours, 1)
			switch {
			case colours <= 2:
				w = tiles(w, 3)
			case colours <= 4:
				w = tiles(w, 2)
			case colours <= 16:
				w = tiles(w, 1)
			}
		}
		if r.failed || n == 4 { // each transform is there once
			return worst
		}
	}
	cache := r.cacheBits()
	groups := 1
	if r.readBits(1) == 1 {
		bits := r.readBits(3) + 2
		across, down := tiles(w, bits), tiles(h, bits)
		for _, argb := range r.readImage(across, down) {
			groups = max(groups, int(argb>>8&0xffff)+1)
		}
		groups = min(groups, across*down, maxGroups) // others are dropped or refused
	}
	if r.failed {
		return worst
	}
	return int64(groups+1) * groupMemory(cache) // and one of a transform
}

// losslessReader reads the bits of a lossless picture. After the end, or in what is not valid, failed is set
// and all bits are 0.
type losslessReader struct {
	b      []byte
	at     int
	failed bool
}

func (r *losslessReader) readBits(n int) (v int) {
	if r.failed = r.failed || r.at+n > 8*len(r.b); r.failed {
		return 0
	}
	for i := range n {
		v |= int(r.b[r.at/8]>>(r.at%8)&1) << i
		r.at++
	}
	return v
}

func (r *losslessReader) cacheBits() int {
	if r.readBits(1) == 0 {
		return 0
	}
	n := r.readBits(4)
	r.failed = r.failed || n < 1 || n > maxCacheBits
	return min(n, maxCacheBits)
}

// prefixCode is a canonical code: the number of codes of each length, and the symbols in the order of
// their codes. A single symbol takes no bits.
type prefixCode struct {
	counts  [16]int
	symbols []int
}

func (r *losslessReader) readSymbol(c *prefixCode) int {
	if len(c.symbols) == 1 {
		return c.symbols[0]
	}
	code, first, index := 0, 0, 0
	for _, n := range c.counts[1:] {
		code |= r.readBits(1)
		if code-first < n {
			return c.symbols[index+code-first]
		}
		index, first, code = index+n, (first+n)<<1, code<<1
	}
	r.failed = true
	return 0
}

// newPrefixCode makes a code of the lengths of its codes by symbol.
func (r *losslessReader) newPrefixCode(lengths []int) *prefixCode {
	c := new(prefixCode)
	room := 1 << 15 // of the longest codes
	for length := 1; length < len(c.counts); length++ {
		for symbol, l := range lengths {
			if l == length {
				c.counts[length]++
				c.symbols = append(c.symbols, symbol)
				room -= 1 << (15 - length)
			}
		}
	}
	r.failed = r.failed || len(c.symbols) == 0 || len(c.symbols) > 1 && room < 0
	return c
}

// readCode reads a code of the symbols below n.
func (r *losslessReader) readCode(n int) *prefixCode {
	if r.readBits(1) == 1 {
		two := r.readBits(1)
		c := &prefixCode{symbols: []int{r.readBits(1 + 7*r.readBits(1))}}
		if two == 1 {
			c.symbols, c.counts[1] = append(c.symbols, r.readBits(8)), 2
		}
		return c
	}
	const order = "\x11\x12\x00\x01\x02\x03\x04\x05\x10\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
	var lengths [19]int
	for _, k := range order[:min(len(order), r.readBits(4)+4)] {
		lengths[k] = r.readBits(3)
	}
	code := r.newPrefixCode(lengths[:])
	out := make([]int, n)
	left := n
	if r.readBits(1) == 1 {
		left = r.readBits(2*r.readBits(3)+2) + 2
	}
	last := 8
	for at := 0; at < n && left > 0 && !r.failed; left-- {
		v, times := r.readSymbol(code), 1
		switch {
		case v == 16:
			v, times = last, 3+r.readBits(2)
		case v == 17:
			v, times = 0, 3+r.readBits(3)
		case v == 18:
			v, times = 0, 11+r.readBits(7)
		case v != 0:
			last = v
		}
		for ; times > 0 && at < n; times-- {
			out[at] = v
			at++
		}
	}
	return r.newPrefixCode(out)
}

// readImage reads a picture that has one group of trees, as pixels of alpha, red, green and blue.
func (r *losslessReader) readImage(w, h int) []uint32 {
	const literals, lengths = 256, 24
	cache := r.cacheBits()
	recent := make([]uint32, 1<<cache)
	var trees [5]*prefixCode
	for i, n := range [5]int{literals + lengths, literals, literals, literals, 40} {
		if i == 0 && cache > 0 {
			n += 1 << cache
		}
		if trees[i] = r.readCode(n); r.failed {
			return nil
		}
	}
	pix := make([]uint32, 0, w*h)
	add := func(argb uint32) {
		pix = append(pix, argb)
		recent[argb*0x1e35a7bd>>(32-cache)&(1<<cache-1)] = argb
	}
	for len(pix) < w*h && !r.failed {
		green := r.readSymbol(trees[0])
		switch {
		case green < literals:
			red, blue, alpha := r.readSymbol(trees[1]), r.readSymbol(trees[2]), r.readSymbol(trees[3])
			add(uint32(alpha<<24 | red<<16 | green<<8 | blue))
		case green < literals+lengths:
			length := r.readParameter(green - literals)
			from := len(pix) - pixelDistance(w, r.readParameter(r.readSymbol(trees[4])))
			if r.failed = r.failed || from < 0 || len(pix)+length > w*h; r.failed {
				return nil
			}
			for ; length > 0; length-- {
				add(pix[from])
				from++
			}
		case green-literals-lengths < len(recent) && cache > 0:
			add(recent[green-literals-lengths])
		default:
			r.failed = true
		}
	}
	return pix
}

// readParameter reads the length or the code of a distance of pixels that are repeated.
func (r *losslessReader) readParameter(symbol int) int {
	if symbol < 4 {
		return symbol + 1
	}
	extra := (symbol - 2) >> 1
	return (2+symbol&1)<<extra + r.readBits(extra) + 1
}

// pixelDistance is how far back the pixels with a code of distance are. The first codes are of pixels that
// are near in two dimensions: rows up, and 8 less columns to the left.
func pixelDistance(w, code int) int {
	const near = "" +
		"\x18\x07\x17\x19\x28\x06\x27\x29\x16\x1a\x26\x2a\x38\x05\x37\x39\x15\x1b\x36\x3a" +
		"\x25\x2b\x48\x04\x47\x49\x14\x1c\x35\x3b\x46\x4a\x24\x2c\x58\x45\x4b\x34\x3c\x03" +
		"\x57\x59\x13\x1d\x56\x5a\x23\x2d\x44\x4c\x55\x5b\x33\x3d\x68\x02\x67\x69\x12\x1e" +
		"\x66\x6a\x22\x2e\x54\x5c\x43\x4d\x65\x6b\x32\x3e\x78\x01\x77\x79\x53\x5d\x11\x1f" +
		"\x64\x6c\x42\x4e\x76\x7a\x21\x2f\x75\x7b\x31\x3f\x63\x6d\x52\x5e\x00\x74\x7c\x41" +
		"\x4f\x10\x20\x62\x6e\x30\x73\x7d\x51\x5f\x40\x72\x7e\x61\x6f\x50\x71\x7f\x60\x70"
	if code > len(near) {
		return code - len(near)
	}
	d := near[code-1]
	return max(1, int(d>>4)*w+8-int(d&15))
}
