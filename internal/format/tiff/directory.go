package tiff

import (
	"encoding/binary"
	"errors"
	"math"
)

// directory is the first directory of a file: the tags that are read, and their values.
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

// isRead reports whether a tag is read.
func isRead(tag uint16) bool {
	switch tag {
	case tagWidth, tagHeight, tagBits, tagCompression, tagPhotometric, tagFillOrder, tagStripOffsets, tagOrientation,
		tagSamples, tagRowsPerStrip, tagStripBytes, tagPlanar, tagG3Options, tagPredictor, tagColorMap, tagTileWidth,
		tagTileHeight, tagTileOffsets, tagTileBytes, tagInkSet, tagExtraSamples, tagSampleFormat, tagJPEGTables,
		tagCoefficients, tagSubsampling, tagReference:
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
		tag := d.order.Uint16(e)
		f := field{kind: d.order.Uint16(e[2:]), count: d.uint(e[4 : 4+inline])}
		if !isRead(tag) || int(f.kind) >= len(sizes) || f.count > uint64(len(b)) {
			continue
		}
		size := f.count * sizes[f.kind]
		if f.data = e[4+inline:]; size <= inline {
			f.data = f.data[:size]
		} else if f.data, ok = d.part(d.uint(f.data), size); !ok {
			continue
		}
		d.tags[tag] = f
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

// uint reads an integer of 1, 2, 4 or 8 bytes.
func (d *directory) uint(b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(d.order.Uint16(b))
	case 4:
		return uint64(d.order.Uint32(b))
	}
	return d.order.Uint64(b)
}

// list is the field of a tag of integers; it has no values if the tag is missing or of another type.
func (d *directory) list(tag uint16) field {
	switch f := d.tags[tag]; f.kind {
	case typeByte, typeShort, typeLong, typeIFD, typeLong8, typeIFD8:
		return f
	}
	return field{}
}

// value is integer i of a list.
func (d *directory) value(f field, i int) uint64 {
	size := int(sizes[f.kind])
	return d.uint(f.data[i*size:][:size])
}

// numbers are the first integers of a tag, most of them at most.
func (d *directory) numbers(tag uint16, most int) []uint64 {
	f := d.list(tag)
	out := make([]uint64, min(f.count, uint64(most)))
	for i := range out {
		out[i] = d.value(f, i)
	}
	return out
}

// number is the first integer of a tag.
func (d *directory) number(tag uint16, missing int) int {
	if v := d.numbers(tag, 1); len(v) > 0 {
		return int(min(v[0], math.MaxInt32))
	}
	return missing
}

// rationals are the first fractions of a tag, most of them at most.
func (d *directory) rationals(tag uint16, most int) []float64 {
	f := d.tags[tag]
	if f.kind != typeRational {
		return nil
	}
	var out []float64
	for b := f.data; len(b) >= 8 && len(out) < most; b = b[8:] {
		out = append(out, float64(d.order.Uint32(b))/float64(d.order.Uint32(b[4:])))
	}
	return out
}
