package wasm

// reader reads a part of a module.
type reader struct {
	b       []byte
	bad     bool   // the part ended early, or is not valid
	unknown uint32 // the first unknown instruction
	second  uint32 // the second code of the last prefixed instruction
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// u32 reads an unsigned number in LEB128.
func (r *reader) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			if v > 1<<32-1 {
				r.bad = true
			}
			return uint32(v)
		}
	}
	r.bad = true
	return 0
}

// leb passes over a number of any kind.
func (r *reader) leb() {
	for range 10 {
		if r.byte() < 0x80 {
			return
		}
	}
	r.bad = true
}

// loop is the instruction that begins a loop.
const loop = 0x03

// The first bytes of instructions with a second code.
const (
	prefixed = 0xfc // saturating conversions, bulk memory, tables
	vector   = 0xfd
	atomic   = 0xfe
)

// instruction passes over an instruction with its immediate values, and returns its first byte.
func (r *reader) instruction() byte {
	op := r.byte()
	switch {
	case op <= 0x01, op == 0x05, op == 0x0b, op == 0x0f, op == 0x1a, op == 0x1b, 0x45 <= op && op <= 0xc4, op == 0xd1:
		// no immediate value
	case 0x02 <= op && op <= 0x04: // block, loop, if: a type, negative or an index
		r.leb()
	case op == 0x0c, op == 0x0d, op == 0x10, 0x20 <= op && op <= 0x26, op == 0x3f, op == 0x40, op == 0xd0, op == 0xd2,
		op == 0x41, op == 0x42: // labels, functions, variables, tables, memory.size and grow, references, numbers
		r.leb()
	case op == 0x0e: // br_table
		for range r.u32() {
			if r.leb(); r.bad {
				break
			}
		}
		r.leb()
	case op == 0x11: // call_indirect
		r.leb()
		r.leb()
	case op == 0x1c: // select with types
		r.bytes(r.u32())
	case 0x28 <= op && op <= 0x3e: // loads and stores
		r.leb()
		r.leb()
	case op == 0x43:
		r.bytes(4)
	case op == 0x44:
		r.bytes(8)
	case op == prefixed:
		r.prefixed()
	case op == vector:
		r.vector()
	case op == atomic:
		r.atomic()
	default:
		r.setUnknown(uint32(op))
	}
	return op
}

// setUnknown ends the reading at an instruction that is not known.
func (r *reader) setUnknown(op uint32) {
	if r.unknown == 0 {
		r.unknown = op
	}
	r.b = nil
}

// The second codes of instructions whose work depends on an argument.
const (
	memoryCopy = 10
	memoryFill = 11
)

func (r *reader) prefixed() {
	r.second = r.u32()
	switch op := r.second; {
	case op <= 7: // saturating conversions
	case op == 9, op == 11, op == 13, 15 <= op && op <= 17: // one index
		r.leb()
	case op == 8, op == 10, op == 12, op == 14: // two indexes
		r.leb()
		r.leb()
	default:
		r.setUnknown(prefixed<<16 | op)
	}
}

func (r *reader) vector() {
	switch op := r.u32(); {
	case op <= 11, op == 92, op == 93: // loads and stores
		r.leb()
		r.leb()
	case op == 12, op == 13: // v128.const, shuffle
		r.bytes(16)
	case 21 <= op && op <= 34: // lanes
		r.byte()
	case 84 <= op && op <= 91: // lanes in memory
		r.leb()
		r.leb()
		r.byte()
	case op <= 255:
	default:
		r.setUnknown(vector<<16 | op)
	}
}

func (r *reader) atomic() {
	const fence = 3
	switch op := r.u32(); {
	case op == fence:
		r.byte()
	case op <= 2, 0x10 <= op && op <= 0x4e:
		r.leb()
		r.leb()
	default:
		r.setUnknown(atomic<<16 | op)
	}
}
