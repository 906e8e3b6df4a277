package tiff

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// directory is the first directory of a file: its tags and their values.
type directory struct {
	b     []byte
	order binary.ByteOrder
	tags  map[uint16]field
}

// field is the value of a tag: count values of a type.
type field struct {
	kind  uint16
	count uint64
	data  []byte
}

// Types of values.
const (
	typeByte     = 1
	typeShort    = 3
	typeLong     = 4
	typeRational = 5
	typeIFD      = 13
	typeLong8    = 16
	typeIFD8     = 18
)

// sizes are the bytes of a value by its type.
var sizes = [...]uint64{0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8}

var errCut = errors.New("the file is cut off")

// IsTIFF reports whether a file begins as TIFF or BigTIFF does.
func IsTIFF(b []byte) bool {
	if len(b) < 4 {
		return false
	}
	switch string(b[:4]) {
	case "II*\x00", "MM\x00*", "II+\x00", "MM\x00+":
		return true
	}
	return false
}

// readDirectory reads the first directory of a file. In BigTIFF counts and offsets have 64
// bits.
func readDirectory(b []byte) (*directory, error) {
	if !IsTIFF(b) || len(b) < 8 {
		return nil, errCut
	}
	d := &directory{b: b, order: binary.ByteOrder(binary.LittleEndian), tags: make(map[uint16]field)}
	if b[0] == 'M' {
		d.order = binary.BigEndian
	}
	const classic, big = 42, 43
	at, head, entry, inline := uint64(d.order.Uint32(b[4:])), uint64(2), uint64(12), uint64(4)
	if d.order.Uint16(b[2:]) == big {
		if len(b) < 16 || d.order.Uint16(b[4:]) != 8 {
			return nil, errCut
		}
		at, head, entry, inline = d.order.Uint64(b[8:]), 8, 20, 8
	}
	table, ok := d.part(at, head)
	if !ok {
		return nil, errCut
	}
	n := d.uint(table)
	if n > uint64(len(b))/entry {
		return nil, errCut
	}
	if table, ok = d.part(at+head, n*entry); !ok {
		return nil, errCut
	}
	for ; len(table) > 0; table = table[entry:] {
		e := table[:entry]
		f := field{kind: d.order.Uint16(e[2:]), count: d.uint(e[4 : 4+inline])}
		if int(f.kind) >= len(sizes) || f.count > uint64(len(b)) {
			continue // a tag of somebody's own
		}
		size := f.count * sizes[f.kind]
		if f.data = e[4+inline:]; size <= inline {
			f.data = f.data[:size]
		} else if f.data, ok = d.part(d.uint(f.data), size); !ok {
			continue
		}
		d.tags[d.order.Uint16(e)] = f
	}
	return d, nil
}

// part is n bytes of the file.
func (d *directory) part(at, n uint64) ([]byte, bool) {
	if all := uint64(len(d.b)); at > all || n > all-at {
		return nil, false
	}
	return d.b[at : at+n], true
}

// uint reads an integer of 2, 4 or 8 bytes.
func (d *directory) uint(b []byte) uint64 {
	switch len(b) {
	case 2:
		return uint64(d.order.Uint16(b))
	case 4:
		return uint64(d.order.Uint32(b))
	}
	return d.order.Uint64(b)
}

// mostNumbers is more than the numbers of any tag that is read, except the tags of blocks.
const mostNumbers = 1 << 16

// ofBlocks reports whether a tag has a number for each strip or tile.
func ofBlocks(tag uint16) bool {
	switch tag {
	case tagStripOffsets, tagStripBytes, tagTileOffsets, tagTileBytes:
		return true
	}
	return false
}

// checkBlocks refuses lists of blocks that need more than the limit on memory: each number of one
// byte becomes one of eight.
func (d *directory) checkBlocks() error {
	need := int64(len(d.b))
	for tag, f := range d.tags {
		if ofBlocks(tag) {
			need = budget.Sum(need, 8*int64(uint64(len(f.data))/max(1, sizes[f.kind])))
		}
	}
	return budget.Check("the strips or tiles of a TIFF", need)
}

// numbers are the integers of a tag, none if it is missing.
func (d *directory) numbers(tag uint16) []uint64 {
	f := d.tags[tag]
	switch f.kind {
	case typeByte, typeShort, typeLong, typeIFD, typeLong8, typeIFD8:
	default:
		return nil
	}
	size := sizes[f.kind]
	data := f.data
	if !ofBlocks(tag) {
		data = data[:min(uint64(len(data)), mostNumbers*size)]
	}
	out := make([]uint64, 0, uint64(len(data))/size)
	for b := data; len(b) > 0; b = b[size:] {
		if size == 1 {
			out = append(out, uint64(b[0]))
		} else {
			out = append(out, d.uint(b[:size]))
		}
	}
	return out
}

// number is the first integer of a tag.
func (d *directory) number(tag uint16, missing int) int {
	if v := d.numbers(tag); len(v) > 0 {
		return int(min(v[0], math.MaxInt32))
	}
	return missing
}

// rationals are the fractions of a tag, none if it is missing.
func (d *directory) rationals(tag uint16) []float64 {
	f := d.tags[tag]
	if f.kind != typeRational {
		return nil
	}
	var out []float64
	for b := f.data; len(b) >= 8; b = b[8:] {
		out = append(out, float64(d.order.Uint32(b))/float64(d.order.Uint32(b[4:])))
	}
	return out
}
