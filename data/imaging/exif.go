package imaging

import (
	"bytes"
	"encoding/binary"
)

// orientation returns the EXIF orientation of a file, 1 to 8; 1 (upright) where there
// is none or it is damaged, and of formats that have none.
func (f *format) orientation(b []byte) int {
	switch f.name {
	case "JPEG":
		return jpegOrientation(b)
	case "PNG":
		return pngOrientation(b)
	case "WebP":
		return webpOrientation(b)
	case "TIFF":
		return tiffOrientation(b)
	}
	return 1
}

// pngOrientation looks for the chunk eXIf, which may stand before the image data or
// after it (PNG, third edition, section 11.3.5.5). A chunk is its length, four
// letters, its content and a CRC, which the decoder compares.
func pngOrientation(b []byte) int {
	const signature, around = 8, 12
	for at := uint64(signature); at+around <= uint64(len(b)); {
		n := uint64(binary.BigEndian.Uint32(b[at:]))
		if at+around+n > uint64(len(b)) {
			return 1
		}
		switch string(b[at+4 : at+8]) {
		case "eXIf":
			return blockOrientation(b[at+8 : at+8+n])
		case "IEND":
			return 1
		}
		at += around + n
	}
	return 1
}

// webpOrientation looks for the chunk EXIF (RFC 9649, section 2.7.1.5).
func webpOrientation(b []byte) int {
	for name, c := range riffChunks(b[min(len(b), riffHeader):]) {
		if name == "EXIF" {
			return blockOrientation(c)
		}
	}
	return 1
}

// blockOrientation reads a block of EXIF, before which some programs write what stands
// before it in JPEG files.
func blockOrientation(b []byte) int {
	return tiffOrientation(bytes.TrimPrefix(b, []byte("Exif\x00\x00")))
}

// jpegOrientation returns the orientation tag of a JPEG file. Only the marker segments
// before the image data and the first directory of the EXIF block are read.
func jpegOrientation(b []byte) int {
	for at := 2; at+4 <= len(b) && b[at] == 0xff; {
		marker := b[at+1]
		if marker == 0xff { // padding
			at++
			continue
		}
		if marker == 0xda || marker == 0xd9 { // image data, end
			return 1
		}
		n := int(binary.BigEndian.Uint16(b[at+2:]))
		if n < 2 || at+2+n > len(b) {
			return 1
		}
		if body, ok := bytes.CutPrefix(b[at+4:at+2+n], []byte("Exif\x00\x00")); ok && marker == 0xe1 {
			return tiffOrientation(body)
		}
		at += 2 + n
	}
	return 1
}

// tiffOrientation reads tag 0x0112 of the first directory of a TIFF block.
func tiffOrientation(b []byte) int {
	if len(b) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch string(b[:4]) {
	case "II*\x00":
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return 1
	}
	at := uint64(order.Uint32(b[4:]))
	if at+2 > uint64(len(b)) {
		return 1
	}
	n := uint64(order.Uint16(b[at:]))
	for i := range n {
		e := at + 2 + 12*i
		if e+12 > uint64(len(b)) {
			return 1
		}
		if order.Uint16(b[e:]) == 0x0112 && order.Uint16(b[e+2:]) == 3 {
			if o := int(order.Uint16(b[e+8:])); 1 <= o && o <= 8 {
				return o
			}
			return 1
		}
	}
	return 1
}

// orient turns im upright given its EXIF orientation.
func (im *Image) orient(o int) {
	if o <= 1 || o > 8 {
		return
	}
	w, h, c := im.W, im.H, im.C
	ow, oh := w, h
	if o >= 5 {
		ow, oh = h, w
	}
	out := make([]uint8, len(im.Pix))
	for y := range oh {
		for x := range ow {
			// (sx, sy) is the stored pixel that belongs at (x, y).
			sx, sy := x, y
			if o >= 5 {
				sx, sy = y, x
			}
			switch o {
			case 2, 8:
				sx = w - 1 - sx
			case 4, 6:
				sy = h - 1 - sy
			case 3, 7:
				sx, sy = w-1-sx, h-1-sy
			}
			copy(out[(y*ow+x)*c:(y*ow+x+1)*c], im.Pix[(sy*w+sx)*c:])
		}
	}
	im.W, im.H, im.Pix = ow, oh, out
}
