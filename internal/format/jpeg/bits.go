package jpeg

import "encoding/binary"

// bitReader reads entropy-coded data. Where the data end, or a marker comes, zeros
// follow; n then becomes negative once they are used.
type bitReader struct {
	data []byte
	pos  int
	acc  uint64 // the next bits, from the top
	n    int    // how many of them are from the data
	end  bool   // nothing more to read before the next marker
}

// fill makes at least 48 bits available, enough for a code and its value.
func (b *bitReader) fill() {
	if b.n >= 48 || b.end {
		return
	}
	if b.pos+8 <= len(b.data) {
		v := binary.BigEndian.Uint64(b.data[b.pos:])
		// No byte of v is 0xff: none of its complement is zero.
		if c := ^v; (c-0x0101010101010101)&^c&0x8080808080808080 == 0 {
			b.acc |= v >> uint(b.n)
			b.pos += (63 - b.n) >> 3
			b.n |= 56
			return
		}
	}
	b.fillSlowly()
}

// fillSlowly takes single bytes, drops the zero that is stuffed after 0xff, and
// stops at a marker.
func (b *bitReader) fillSlowly() {
	// The fast way leaves bits of the byte at pos below the first n; they are
	// the same bits that come again here.
	b.acc &= ^uint64(0) << uint(64-b.n)
	for b.n <= 56 {
		if b.pos >= len(b.data) {
			b.end = true
			return
		}
		c := b.data[b.pos]
		if c == 0xff {
			if b.pos+1 >= len(b.data) || b.data[b.pos+1] != 0 {
				b.end = true
				return
			}
			b.pos++
		}
		b.pos++
		b.acc |= uint64(c) << uint(56-b.n)
		b.n += 8
	}
}

func (b *bitReader) skip(n uint) {
	b.acc <<= n
	b.n -= int(n)
}

// symbol decodes one code of h.
func (b *bitReader) symbol(h *huffman) (uint8, bool) {
	if e := h.look[b.acc>>(64-lookBits)]; e != 0 {
		b.skip(uint(e & 255))
		return uint8(e >> 8), b.n >= 0
	}
	top := uint32(b.acc >> 48)
	for length := lookBits + 1; length <= 16; length++ {
		if top < h.limit[length] {
			i := int32(top>>(16-length)) + h.offset[length]
			if i < 0 || int(i) >= h.n {
				return 0, false
			}
			b.skip(uint(length))
			return h.symbols[i], b.n >= 0
		}
	}
	return 0, false
}

// signed reads a value of size bits in JPEG's one's complement form.
func (b *bitReader) signed(size uint) int32 {
	if size == 0 {
		return 0
	}
	v := int32(b.acc >> (64 - size))
	b.skip(size)
	if v < 1<<(size-1) {
		v += -1<<size + 1
	}
	return v
}

// bit reads one bit.
func (b *bitReader) bit() bool {
	if b.n < 1 {
		b.fill()
	}
	one := b.acc>>63 != 0
	b.skip(1)
	return one
}

// run reads the length of a run of 1<<size blocks and more.
func (b *bitReader) run(size uint) int {
	v := 1<<size | int(b.acc>>1>>(63-size))
	b.skip(size)
	return v
}

// finish drops the padding at the end of a scan and returns the length of its data; a
// marker must follow.
func (b *bitReader) finish() (used int, ok bool) {
	if !b.end {
		b.fillSlowly()
	}
	return b.pos, b.end && b.n >= 0 && b.n < 8 && b.pos+1 < len(b.data)
}

// overrun reports that more bits were used than there are.
func (b *bitReader) overrun() bool { return b.n < 0 }

// restart drops the padding at the end of an interval and steps over the marker
// that must follow.
func (b *bitReader) restart(marker byte) bool {
	if !b.end {
		b.fillSlowly()
	}
	if !b.end || b.n < 0 || b.n >= 8 {
		return false
	}
	if b.pos+2 > len(b.data) || b.data[b.pos] != 0xff || b.data[b.pos+1] != marker {
		return false
	}
	*b = bitReader{data: b.data, pos: b.pos + 2}
	return true
}
