package imaging

import (
	"bytes"
	"encoding/binary"
)

// bareBlock returns an EXIF block without the prefix of JPEG files, which some programs write in
// other files too.
func bareBlock(b []byte) []byte { return bytes.TrimPrefix(b, []byte("Exif\x00\x00")) }

// tiffOrientation reads tag 0x0112 of the first directory of a TIFF block.
func tiffOrientation(b []byte) int {
	const tag, short, long = 0x0112, 3, 4
	t, first := readTags(b)
	o := 1
	switch e := t.entry(first, tag); {
	case e != nil && t.order.Uint16(e[2:]) == short:
		o = int(t.order.Uint16(e[8:]))
	case e != nil && t.order.Uint16(e[2:]) == long:
		o = int(t.order.Uint32(e[8:]))
	}
	if 1 <= o && o <= 8 {
		return o
	}
	return 1
}

// tags is an EXIF block: tags in directories.
type tags struct {
	b     []byte
	order binary.ByteOrder
}

// readTags reads the header of a TIFF block, and returns the place of its first directory.
func readTags(b []byte) (t tags, first uint64) {
	if len(b) < 8 {
		return tags{}, 0
	}
	switch string(b[:4]) {
	case "II*\x00":
		t = tags{b, binary.LittleEndian}
	case "MM\x00*":
		t = tags{b, binary.BigEndian}
	default:
		return tags{}, 0
	}
	return t, uint64(t.order.Uint32(b[4:]))
}

// entry returns the 12 bytes of a tag in the directory at the given place: the tag, its type, the
// number of its values, and the values or their place. It returns nil if the directory lacks the
// tag or is damaged before it.
func (t tags) entry(directory uint64, tag uint16) []byte {
	if directory+2 > uint64(len(t.b)) {
		return nil
	}
	for i := range uint64(t.order.Uint16(t.b[directory:])) {
		at := directory + 2 + 12*i
		if at+12 > uint64(len(t.b)) {
			return nil
		}
		if e := t.b[at : at+12]; t.order.Uint16(e) == tag {
			return e
		}
	}
	return nil
}

// sub returns the place of the directory that a tag points to.
func (t tags) sub(directory uint64, tag uint16) (at uint64, ok bool) {
	const long = 4
	e := t.entry(directory, tag)
	if e == nil || t.order.Uint16(e[2:]) != long {
		return 0, false
	}
	return uint64(t.order.Uint32(e[8:])), true
}

// text returns the ASCII text of a tag, or "" if it has no text.
func (t tags) text(directory uint64, tag uint16) string {
	const ascii = 2
	return string(t.values(directory, tag, ascii))
}

// bytes returns the bytes of a tag of the type UNDEFINED, or nil.
func (t tags) bytes(directory uint64, tag uint16) []byte {
	const undefined = 7
	return t.values(directory, tag, undefined)
}

// values returns the values of a tag if they are bytes of the given type, or nil. Up to four are in the entry itself.
func (t tags) values(directory uint64, tag, kind uint16) []byte {
	e := t.entry(directory, tag)
	if e == nil || t.order.Uint16(e[2:]) != kind {
		return nil
	}
	n := uint64(t.order.Uint32(e[4:]))
	if n <= 4 {
		return e[8 : 8+n]
	}
	at := uint64(t.order.Uint32(e[8:]))
	if at+n > uint64(len(t.b)) {
		return nil
	}
	return t.b[at : at+n]
}
