package imaging

import (
	"bytes"
	"encoding/binary"
)

// trimEXIFPrefix returns an EXIF block without the prefix of JPEG files, which some programs write in
// other files too.
func trimEXIFPrefix(b []byte) []byte { return bytes.TrimPrefix(b, []byte("Exif\x00\x00")) }

// exifBlock returns the EXIF block of a file, or nil without one.
func (f *format) exifBlock(b []byte) []byte {
	if f.exif == nil {
		return nil
	}
	return f.exif(b)
}

// tiffOrientation reads tag 0x0112 of the first directory of a TIFF block.
func tiffOrientation(b []byte) int {
	const orientation = 0x0112
	t, first := readTags(b)
	o := t.number(first, orientation, 1)
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

// directory returns the entries of the directory at a place, or as many as the file has. Each has 12 bytes: the tag,
// its type, the number of its values, and the values or their place.
func (t tags) directory(at uint64) []byte {
	if at+2 > uint64(len(t.b)) {
		return nil
	}
	entries := t.b[at+2:]
	return entries[:min(len(entries)/12, int(t.order.Uint16(t.b[at:])))*12]
}

// entry returns the entry of a tag in the directory at a place, or nil without one.
func (t tags) entry(directory uint64, tag uint16) []byte {
	for d := t.directory(directory); len(d) > 0; d = d[12:] {
		if t.order.Uint16(d) == tag {
			return d[:12]
		}
	}
	return nil
}

// value returns the type, the count and the bytes of a tag's values, which are in the entry itself if they are four
// bytes or fewer. It returns no bytes if the directory lacks the tag, or if the file ends before they do.
func (t tags) value(directory uint64, tag uint16) (kind uint16, count uint64, b []byte) {
	sizes := [...]uint64{0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8} // of the types of TIFF 6.0
	e := t.entry(directory, tag)
	if e == nil {
		return 0, 0, nil
	}
	if kind, count = t.order.Uint16(e[2:]), uint64(t.order.Uint32(e[4:])); int(kind) >= len(sizes) {
		return 0, 0, nil
	}
	n := sizes[kind] * count
	if n <= 4 {
		return kind, count, e[8 : 8+n]
	}
	at := uint64(t.order.Uint32(e[8:]))
	if at+n > uint64(len(t.b)) {
		return 0, 0, nil
	}
	return kind, count, t.b[at : at+n]
}

// The types of tags that are read.
const (
	tagByte, tagText, tagShort, tagLong, tagRational = 1, 2, 3, 4, 5
)

// numbers returns the first of the integers of a tag, most of them at most.
func (t tags) numbers(directory uint64, tag uint16, most int) (all []uint32) {
	kind, count, b := t.value(directory, tag)
	for i := range int(min(count, uint64(most))) {
		switch {
		case len(b) == 0:
			return nil
		case kind == tagByte:
			all = append(all, uint32(b[i]))
		case kind == tagShort:
			all = append(all, uint32(t.order.Uint16(b[2*i:])))
		case kind == tagLong:
			all = append(all, t.order.Uint32(b[4*i:]))
		}
	}
	return all
}

// number returns the first integer of a tag.
func (t tags) number(directory uint64, tag uint16, missing int) int {
	if v := t.numbers(directory, tag, 1); len(v) > 0 {
		return int(v[0])
	}
	return missing
}

// subdirectory returns the place of the directory that a tag points to.
func (t tags) subdirectory(directory uint64, tag uint16) (at uint64, ok bool) {
	v := t.number(directory, tag, 0)
	return uint64(v), v > 0
}

// text returns the ASCII text of a tag, or "" if it has no text.
func (t tags) text(directory uint64, tag uint16) string {
	kind, _, b := t.value(directory, tag)
	if kind != tagText {
		return ""
	}
	return string(b)
}
