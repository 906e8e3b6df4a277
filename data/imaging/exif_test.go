package imaging

import (
	"encoding/binary"
	"testing"
)

// jpegOrientation is that of a JPEG file.
func jpegOrientation(b []byte) int { return tiffOrientation(jpegExif(b)) }

// directory is a TIFF block whose first directory, at offset, has the entries
// (tag, type, value).
func directory(order binary.AppendByteOrder, offset int, entries ...[3]uint16) []byte {
	b := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		b = []byte("MM\x00*")
	}
	b = order.AppendUint32(b, uint32(offset))
	b = append(b, make([]byte, offset-8)...)
	b = order.AppendUint16(b, uint16(len(entries)))
	for _, e := range entries {
		b = order.AppendUint16(b, e[0])
		b = order.AppendUint16(b, e[1])
		b = order.AppendUint32(b, 1)
		b = order.AppendUint16(b, e[2])
		b = order.AppendUint16(b, 0)
	}
	return b
}

// TestTIFFOrientation: tag 0x0112 of type short or long, wherever it stands in the first
// directory; upright where it is missing, of another type, cut off, or none of
// 1 to 8.
func TestTIFFOrientation(t *testing.T) {
	const tag, short, long = 0x0112, 3, 4
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for o := range uint16(11) {
			want := int(o)
			if o < 1 || o > 8 {
				want = 1
			}
			for _, offset := range []int{8, 9, 20} {
				first := directory(order, offset, [3]uint16{tag, short, o})
				third := directory(order, offset, [3]uint16{0x010f, short, 7}, [3]uint16{0x0110, long, 5},
					[3]uint16{tag, short, o})
				for _, b := range [][]byte{first, third, append(append([]byte(nil), third...), 0, 0, 0, 0)} {
					if got := tiffOrientation(b); got != want {
						t.Errorf("%v, at %d: %d, want %d", order, offset, got, want)
					}
				}
				for n := range third {
					if got := tiffOrientation(third[:n]); got != 1 {
						t.Errorf("%v, cut to %d of %d bytes: %d", order, n, len(third), got)
					}
				}
			}
		}
		if got := tiffOrientation(directory(order, 8, [3]uint16{tag, 2, 6})); got != 1 {
			t.Errorf("of another type: %d", got)
		}
		if got := tiffOrientation(directory(order, 8, [3]uint16{tag, long, 6})); got != 6 && order.String()[0] == 'L' {
			t.Errorf("of type LONG, as some programs write it: %d", got)
		}
		if got := tiffOrientation(directory(order, 8, [3]uint16{tag + 1, short, 6})); got != 1 {
			t.Errorf("of another tag: %d", got)
		}
		// The segment of a JPEG: markers before it, padding, and other segments.
		block := append([]byte("Exif\x00\x00"), directory(order, 8, [3]uint16{tag, short, 6})...)
		segment := func(marker byte, body []byte) []byte {
			return append(binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(2+len(body))), body...)
		}
		start := []byte{0xff, 0xd8}
		join := func(parts ...[]byte) (b []byte) {
			for _, p := range parts {
				b = append(b, p...)
			}
			return b
		}
		for name, tc := range map[string]struct {
			b    []byte
			want int
		}{
			"first": {join(start, segment(0xe1, block)), 6},
			"after others": {join(start, segment(0xe0, []byte("JFIF")), segment(0xdb, nil), segment(0xe1, block)),
				6},
			"after stray bytes": {join(start, []byte{0, 0, 7}, segment(0xe1, block)), 6},
			"after padding":     {join(start, []byte{0xff, 0xff}, segment(0xe1, block)), 6},
			"after a comment":   {join(start, segment(0xe1, []byte("http://")), segment(0xe1, block)), 6},
			"in another marker": {join(start, segment(0xe2, block)), 1},
			"after the image":   {join(start, segment(0xda, nil), segment(0xe1, block)), 1},
			"after the end":     {join(start, segment(0xd9, nil), segment(0xe1, block)), 1},
			"of no length":      {join(start, []byte{0xff, 0xe0, 0, 1}, segment(0xe1, block)), 1},
			"longer than all":   {join(start, []byte{0xff, 0xe1, 0, byte(3 + len(block))}, block), 1},
		} {
			if got := jpegOrientation(tc.b); got != tc.want {
				t.Errorf("%v, %s: %d, want %d", order, name, got, tc.want)
			}
		}
	}
}
