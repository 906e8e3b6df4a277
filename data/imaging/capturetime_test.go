package imaging

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"
)

// exifOf is a JPEG file, up to its data, whose EXIF block has a time in the directory of
// its own; order says in which order bytes come, tag is that of the time.
func exifOf(order binary.AppendByteOrder, head, taken string, tag uint16) []byte {
	b := []byte(head)
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, 1)
	b = order.AppendUint16(order.AppendUint16(b, 0x8769), 4)
	b = order.AppendUint32(order.AppendUint32(b, 1), 26)
	b = order.AppendUint32(b, 0) // no further directory
	b = order.AppendUint16(b, 1)
	b = order.AppendUint16(order.AppendUint16(b, tag), 2)
	b = order.AppendUint32(order.AppendUint32(b, uint32(len(taken)+1)), 44)
	b = append(order.AppendUint32(b, 0), taken+"\x00"...)
	b = slices.Concat([]byte("Exif\x00\x00"), b)
	out := binary.BigEndian.AppendUint16([]byte{0xff, 0xd8, 0xff, 0xe1}, uint16(len(b)+2))
	return append(append(out, b...), 0xff, 0xda)
}

func TestTaken(t *testing.T) {
	at := time.Date(2026, 5, 1, 10, 11, 12, 0, time.UTC)
	const text = "2026:05:01 10:11:12"
	little := exifOf(binary.LittleEndian, "II*\x00", text, 0x9003)
	for name, c := range map[string]struct {
		b    []byte
		want time.Time
	}{
		"little endian":  {little, at},
		"big endian":     {exifOf(binary.BigEndian, "MM\x00*", text, 0x9003), at},
		"another tag":    {exifOf(binary.BigEndian, "MM\x00*", text, 0x9004), time.Time{}},
		"not set":        {exifOf(binary.BigEndian, "MM\x00*", "0000:00:00 00:00:00", 0x9003), time.Time{}},
		"blank":          {exifOf(binary.BigEndian, "MM\x00*", "    :  :     :  :  ", 0x9003), time.Time{}},
		"no day":         {exifOf(binary.BigEndian, "MM\x00*", "2026:02:31 10:11:12", 0x9003), time.Time{}},
		"too short":      {exifOf(binary.BigEndian, "MM\x00*", "2026:05:01", 0x9003), time.Time{}},
		"no JPEG":        {append([]byte("xx"), little[2:]...), time.Time{}},
		"nothing":        {nil, time.Time{}},
		"no EXIF":        {[]byte("\xff\xd8\xff\xda"), time.Time{}},
		"file of a test": {formatFile(t, "jpeg-exif6.jpg"), time.Time{}},
	} {
		if got := CaptureTime(c.b); !got.Equal(c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	for n := range len(little) - 2 { // cut off before its data
		if got := CaptureTime(little[:n]); !got.IsZero() {
			t.Errorf("%d bytes: %v", n, got)
		}
	}
}

// FuzzTaken reads times of damaged files, and stays in bounds.
func FuzzTaken(f *testing.F) {
	f.Add(exifOf(binary.LittleEndian, "II*\x00", "2026:05:01 10:11:12", 0x9003))
	f.Add(exifOf(binary.BigEndian, "MM\x00*", "0000:00:00 00:00:00", 0x9003))
	f.Add(formatFile(f, "jpeg-exif6.jpg"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if at := CaptureTime(b); !at.IsZero() && (at.Location() != time.UTC || at.Year() > 9999 ||
			at.Nanosecond() != 0) {
			t.Fatalf("%v", at)
		}
		jpegOrientation(b)
	})
}
