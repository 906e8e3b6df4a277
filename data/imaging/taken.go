package imaging

import (
	"bytes"
	"time"
)

// Taken returns when the photograph in a JPEG file was taken, by the camera's clock to
// the second: the EXIF tag DateTimeOriginal. The zone is unknown, so the time is given
// as UTC. It is the zero time if the file has no such tag, is damaged, or its clock was
// never set (0000:00:00).
//
// It does not read the tag DateTime: programs that edit a batch of pictures write their
// own time there. Only the marker segments before the image data are read.
func Taken(b []byte) time.Time {
	const (
		exifDirectory, long = 0x8769, 4
		original, ascii     = 0x9003, 2
		layout              = "2006:01:02 15:04:05"
	)
	if !bytes.HasPrefix(b, []byte("\xff\xd8")) {
		return time.Time{}
	}
	t, first := readTags(exifBlock(b))
	e := t.entry(first, exifDirectory)
	if e == nil || t.order.Uint16(e[2:]) != long {
		return time.Time{}
	}
	e = t.entry(uint64(t.order.Uint32(e[8:])), original)
	if e == nil || t.order.Uint16(e[2:]) != ascii || t.order.Uint32(e[4:]) < uint32(len(layout)) {
		return time.Time{}
	}
	at := uint64(t.order.Uint32(e[8:]))
	if at+uint64(len(layout)) > uint64(len(t.b)) {
		return time.Time{}
	}
	when, err := time.Parse(layout, string(t.b[at:at+uint64(len(layout))]))
	if err != nil {
		return time.Time{}
	}
	return when
}
