package wasm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// fuel is the export that holds the number of loop iterations left.
const fuel = "kindred_fuel"

// The sections of a module that Meter changes.
const (
	customSection = 0
	importSection = 2
	globalSection = 6
	exportSection = 7
	codeSection   = 10
)

var errModule = errors.New("not a WebAssembly module")

// Meter returns the module with a count of loop iterations. A new global, exported as kindred_fuel, holds how many
// are left. Each loop begins by subtracting one, and traps when the global is negative:
//
//	global.get fuel, i64.const 1, i64.sub, global.set fuel
//	global.get fuel, i64.const 0, i64.lt_s, if, unreachable, end
//
// The binary format is that of the WebAssembly core specification 2.0, section 5, with the atomic instructions of
// the threads proposal. The module must have globals and exports of its own, as those of C and Rust have. An
// instruction that Meter does not know is an error.
func Meter(module []byte) ([]byte, error) {
	const header = "\x00asm\x01\x00\x00\x00"
	body, ok := bytes.CutPrefix(module, []byte(header))
	if !ok {
		return nil, errModule
	}
	out := append(make([]byte, 0, len(module)+len(module)/8), header...)
	m := meter{}
	for r := (reader{b: body}); len(r.b) > 0; {
		id := r.byte()
		section := r.bytes(r.u32())
		if r.bad {
			return nil, errModule
		}
		if id == customSection { // names and debugging data refer to the old code
			continue
		}
		section, err := m.section(id, section)
		if err != nil {
			return nil, err
		}
		out = append(binary.AppendUvarint(append(out, id), uint64(len(section))), section...)
	}
	if !m.global || !m.export {
		return nil, errors.New("a WebAssembly module without globals or exports")
	}
	return out, nil
}

// meter is a module being metered.
type meter struct {
	globals        uint32 // globals before the new one
	global, export bool   // the new global, and its export, are there
}

// section returns a section of the metered module.
func (m *meter) section(id byte, b []byte) ([]byte, error) {
	r := reader{b: b}
	switch id {
	case importSection:
		for range r.u32() {
			m.imported(&r)
		}
		if r.bad {
			return nil, errModule
		}
	case globalSection:
		n := r.u32()
		m.globals += n
		m.global = true
		b = append(binary.AppendUvarint(nil, uint64(n)+1), r.b...)
		b = append(b, 0x7e, 1, 0x42, 0, 0x0b) // i64, mutable, i64.const 0, end
	case exportSection:
		m.export = true
		b = append(binary.AppendUvarint(nil, uint64(r.u32())+1), r.b...)
		b = append(append(append(b, byte(len(fuel))), fuel...), 3)
		b = binary.AppendUvarint(b, uint64(m.globals))
	case codeSection:
		return m.code(&r)
	}
	return b, nil
}

// imported reads an import, and counts it if it is a global.
func (m *meter) imported(r *reader) {
	r.bytes(r.u32())
	r.bytes(r.u32())
	limits := func() {
		const bounded = 1
		flags := r.byte()
		if r.u32(); flags&bounded != 0 {
			r.u32()
		}
	}
	switch r.byte() {
	case 0: // function
		r.u32()
	case 1: // table
		r.byte()
		limits()
	case 2: // memory
		limits()
	case 3: // global
		r.byte()
		r.byte()
		m.globals++
	default:
		r.bad = true
	}
}

// code returns the section of the functions' bodies.
func (m *meter) code(r *reader) ([]byte, error) {
	n := r.u32()
	out := binary.AppendUvarint(nil, uint64(n))
	get := binary.AppendUvarint([]byte{0x23}, uint64(m.globals))
	set := binary.AppendUvarint([]byte{0x24}, uint64(m.globals))
	// The last seven: i64.const 0, i64.lt_s, if without a result, unreachable, end.
	spend := slices.Concat(get, []byte{0x42, 1, 0x7d}, set, get, []byte{0x42, 0, 0x53, 0x04, 0x40, 0x00, 0x0b})
	var body []byte
	for range n {
		f := reader{b: r.bytes(r.u32())}
		body = body[:0]
		from := f.b
		for range f.u32() { // groups of local variables
			f.u32()
			f.byte()
		}
		for len(f.b) > 0 && !f.bad {
			if f.instruction() == loop {
				body = append(append(body, from[:len(from)-len(f.b)]...), spend...)
				from = f.b
			}
		}
		if r.bad || f.bad {
			return nil, errModule
		}
		if f.unknown != 0 {
			return nil, fmt.Errorf("a WebAssembly module with an unknown instruction %#x", f.unknown)
		}
		body = append(body, from...)
		out = append(binary.AppendUvarint(out, uint64(len(body))), body...)
	}
	if r.bad {
		return nil, errModule
	}
	return out, nil
}
