package isobmff

import (
	"encoding/binary"
	"errors"
)

var (
	errPictures = errors.New("an item has several coded pictures: want one")
	errHVCC     = errors.New("its box hvcC is damaged")
)

// CheckCoded refuses an item of HEVC with more than one coded picture, all of which a decoder would decode to show one.
// It may have another layer of that picture. Items of other types are not looked at.
func (f *File) CheckCoded(it *Item) error {
	if it.Type != "hvc1" {
		return nil
	}
	var config []byte
	for _, a := range it.associations {
		if p, ok := f.propertyOf(int(a &^ essential)); ok && p.name == "hvcC" {
			config = p.b
			break
		}
	}
	if config == nil {
		return nil // no decoder takes it
	}
	// ISO/IEC 14496-15, 8.3.3.1: 22 bytes, of which the last has the size of lengths, and arrays of units.
	const head = 23
	if len(config) < head {
		return errHVCC
	}
	size, pictures := int(config[21]&3)+1, 0
	rest := config[head:]
	for range config[22] {
		if len(rest) < 3 {
			return errHVCC
		}
		n := binary.BigEndian.Uint16(rest[1:])
		rest = rest[3:]
		for range n {
			unit, after, ok := cutUnit(rest, 2)
			if !ok {
				return errHVCC
			}
			if beginsPicture(unit) {
				pictures++
			}
			rest = after
		}
	}
	for b := f.Content(it); ; {
		unit, after, ok := cutUnit(b, size)
		if !ok {
			return nil // the decoder says what it makes of a rest
		}
		if b = after; beginsPicture(unit) {
			pictures++
		}
		if pictures > 1 {
			return errPictures
		}
	}
}

// cutUnit cuts a unit off, whose length stands before it in so many bytes.
func cutUnit(b []byte, size int) (unit, rest []byte, ok bool) {
	if len(b) < size {
		return nil, nil, false
	}
	n := 0
	for _, c := range b[:size] {
		n = n<<8 | int(c)
	}
	if b = b[size:]; n > len(b) {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}

// beginsPicture reports whether a unit is the first slice of a picture in the base layer (ITU-T H.265, 7.3.1.2 and
// 7.3.6.1).
func beginsPicture(unit []byte) bool {
	const coded = 32 // types below are slices
	return len(unit) > 2 && unit[0]>>1&0x3f < coded && unit[0]&1 == 0 && unit[1]>>3 == 0 && unit[2]&0x80 != 0
}
