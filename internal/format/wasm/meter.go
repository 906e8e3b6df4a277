package wasm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// fuel is the export that holds the number of loop iterations left, until the next stop.
const fuel = "kindred_fuel"

// The sections of a module that Meter reads or changes.
const (
	customSection   = 0
	typeSection     = 1
	importSection   = 2
	functionSection = 3
	globalSection   = 6
	exportSection   = 7
	codeSection     = 10
)

// The functions that Meter adds, by their place behind those of the module.
const (
	stopFunction = iota // no arguments
	fillFunction        // the arguments of memory.fill
	copyFunction        // the arguments of memory.copy
	addedFunctions
)

var errModule = errors.New("not a WebAssembly module")

// Meter returns the module with a count of its work. A new global, exported as kindred_fuel, holds how many loop
// iterations are left. Each loop begins by subtracting one. If the global is negative it calls a function, which
// stops the code for a moment and traps if the global is still negative afterwards:
//
//	loop:  fuel -= 1; if fuel < 0 { stop() }
//	stop:  memory.grow(1); if fuel < 0 { trap }
//
// The allocator of the memory takes that memory.grow for what it is, since no other one happens while the global is
// negative: it refuels or does not, and never grows the memory (see Run). A function of the host would be the usual
// way, but an import would renumber all functions of the module.
//
// memory.fill and memory.copy become calls of functions that first subtract one for every 32 bytes. memory.init is
// not counted, as it copies parts of the module.
//
// The binary format is that of the WebAssembly core specification 2.0, section 5, with the atomic instructions of
// the threads proposal. The module must have functions, globals and exports of its own, as those of C and Rust have.
// An instruction that Meter does not know is an error.
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
	if !m.hasTypes || !m.hasFunctions || !m.hasGlobal || !m.hasExport {
		return nil, errors.New("a WebAssembly module without functions, globals or exports")
	}
	return out, nil
}

// meter is a module being metered.
type meter struct {
	types     uint32 // types before the new ones
	functions uint32 // functions before the new ones, with those that are imported
	globals   uint32 // globals before the new one
	// What has been added so far.
	hasTypes, hasFunctions, hasGlobal, hasExport bool
}

// section returns a section of the metered module.
func (m *meter) section(id byte, b []byte) ([]byte, error) {
	r := reader{b: b}
	switch id {
	case typeSection:
		m.types, m.hasTypes = r.u32(), true
		b = append(binary.AppendUvarint(nil, uint64(m.types)+2), r.b...)
		b = append(b, 0x60, 0, 0)                      // no arguments
		b = append(b, 0x60, 3, 0x7f, 0x7f, 0x7f, 0x00) // three of i32
	case importSection:
		for range r.u32() {
			if m.countImport(&r); r.bad {
				return nil, errModule
			}
		}
	case functionSection:
		n := r.u32()
		m.functions += n
		m.hasFunctions = true
		b = append(binary.AppendUvarint(nil, uint64(n)+addedFunctions), r.b...)
		b = binary.AppendUvarint(b, uint64(m.types))
		b = binary.AppendUvarint(b, uint64(m.types)+1)
		b = binary.AppendUvarint(b, uint64(m.types)+1)
	case globalSection:
		n := r.u32()
		m.globals += n
		m.hasGlobal = true
		b = append(binary.AppendUvarint(nil, uint64(n)+1), r.b...)
		b = append(b, 0x7e, 1, 0x42, 0, 0x0b) // i64, mutable, i64.const 0, end
	case exportSection:
		m.hasExport = true
		b = append(binary.AppendUvarint(nil, uint64(r.u32())+1), r.b...)
		b = append(append(append(b, byte(len(fuel))), fuel...), 3)
		b = binary.AppendUvarint(b, uint64(m.globals))
	case codeSection:
		return m.code(&r)
	}
	return b, nil
}

// countImport reads an import, and counts it if it is a global.
func (m *meter) countImport(r *reader) {
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
		m.functions++
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
	out := binary.AppendUvarint(nil, uint64(n)+addedFunctions)
	one := m.spend(0x42, 1) // i64.const 1
	var body []byte
	for range n {
		f := reader{b: r.bytes(r.u32())}
		body = body[:0]
		from := f.b
		for range f.u32() { // groups of local variables
			f.u32()
			if f.byte(); f.bad {
				break
			}
		}
		for len(f.b) > 0 && !f.bad {
			before := len(from) - len(f.b)
			switch op := f.instruction(); {
			case op == loop:
				body = append(append(body, from[:len(from)-len(f.b)]...), one...)
				from = f.b
			case op == prefixed && f.second == memoryFill:
				body = append(append(body, from[:before]...), m.call(fillFunction)...)
				from = f.b
			case op == prefixed && f.second == memoryCopy:
				body = append(append(body, from[:before]...), m.call(copyFunction)...)
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
		out = appendBody(out, body)
	}
	if r.bad {
		return nil, errModule
	}
	// i32.const 1, memory.grow, drop; then the test of the fuel; if, unreachable, end.
	trap := []byte{0x04, 0x40, 0x00, 0x0b, 0x0b}
	out = appendBody(out, slices.Concat([]byte{0, 0x41, 1, 0x40, 0, 0x1a}, m.isSpent(), trap))
	// local.get 2, i64.extend_i32_u, i64.const 5, i64.shr_u; then the instruction itself with its three arguments.
	bytes := m.spend(0x20, 2, 0xad, 0x42, 5, 0x88)
	arguments := []byte{0x20, 0, 0x20, 1, 0x20, 2}
	out = appendBody(out, slices.Concat([]byte{0}, bytes, arguments, []byte{prefixed, memoryFill, 0, 0x0b}))
	out = appendBody(out, slices.Concat([]byte{0}, bytes, arguments, []byte{prefixed, memoryCopy, 0, 0, 0x0b}))
	return out, nil
}

// appendBody appends the body of a function with its length.
func appendBody(b, body []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(body))), body...)
}

// call returns the call of one of the functions that Meter adds.
func (m *meter) call(function uint64) []byte {
	return binary.AppendUvarint([]byte{0x10}, uint64(m.functions)+function)
}

// isSpent returns the code of: fuel < 0.
func (m *meter) isSpent() []byte {
	return append(binary.AppendUvarint([]byte{0x23}, uint64(m.globals)), 0x42, 0, 0x53) // i64.const 0, i64.lt_s
}

// spend returns the code that subtracts an amount from the fuel, and stops if it is negative then.
func (m *meter) spend(amount ...byte) []byte {
	get := binary.AppendUvarint([]byte{0x23}, uint64(m.globals))
	set := binary.AppendUvarint([]byte{0x24}, uint64(m.globals))
	return slices.Concat(get, amount, []byte{0x7d}, set, m.isSpent(), []byte{0x04, 0x40}, m.call(stopFunction),
		[]byte{0x0b})
}
