package jpeg

// lookBits is the length of codes that one table look-up resolves.
const lookBits = 10

// huffman is a code table.
type huffman struct {
	ok bool
	// look has, for the next lookBits bits, the symbol in the upper and the
	// code's length in the lower byte; 0 for longer codes.
	look [1 << lookBits]uint16
	// quick, for AC tables, resolves a code together with its value where both
	// fit: value << 8 | run << 4 | bits; 0 where they do not.
	quick [1 << lookBits]int32
	// For longer codes: the largest code of each length, left-aligned to 16
	// bits and plus one, and what to add to a code to get its index.
	limit   [17]uint32
	offset  [17]int32
	symbols [256]uint8
	n       int
}

// build reads 16 counts and the symbols, and returns the bytes it used.
func (h *huffman) build(b []byte, ac bool) (used int, ok bool) {
	n := 0
	for _, c := range b[:16] {
		n += int(c)
	}
	if n == 0 || n > 256 || len(b) < 16+n {
		return 0, false
	}
	h.n = copy(h.symbols[:], b[16:16+n])
	clear(h.look[:])
	clear(h.quick[:])
	code, index := uint32(0), 0
	for length := 1; length <= 16; length++ {
		h.offset[length] = int32(index) - int32(code)
		for range b[length-1] {
			if code >= 1<<length {
				return 0, false // more codes than bits allow
			}
			if length <= lookBits {
				first := code << (lookBits - length)
				for i := range uint32(1) << (lookBits - length) {
					h.look[first+i] = uint16(h.symbols[index])<<8 | uint16(length)
				}
			}
			code++
			index++
		}
		h.limit[length] = code << (16 - length)
		code <<= 1
	}
	if ac {
		h.buildQuick()
	}
	h.ok = true
	return 16 + n, true
}

func (h *huffman) buildQuick() {
	for i, e := range h.look {
		length, run, size := int(e&255), int(e>>12), int(e>>8&15)
		if length == 0 || size == 0 || length+size > lookBits {
			continue
		}
		v := int32(i>>(lookBits-length-size)) & (1<<size - 1)
		if v < 1<<(size-1) {
			v += -1<<size + 1
		}
		h.quick[i] = v<<8 | int32(run)<<4 | int32(length+size)
	}
}
