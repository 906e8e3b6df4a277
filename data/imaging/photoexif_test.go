package imaging

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"time"
)

// value is one of a directory of tags.
type value struct {
	tag, kind uint16
	count     uint32
	data      []byte
}

func text(tag uint16, s string) value {
	return value{tag, 2, uint32(len(s) + 1), append([]byte(s), 0)}
}

// fractions are numbers as EXIF has them.
func fractions(order binary.AppendByteOrder, tag uint16, parts ...uint32) value {
	v := value{tag, 5, uint32(len(parts) / 2), nil}
	for _, p := range parts {
		v.data = order.AppendUint32(v.data, p)
	}
	return v
}

// directories is a block of EXIF: its first directory, and those that tags of it point to.
func directories(order binary.AppendByteOrder, first []value, more map[uint16][]value) []byte {
	b := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		b = []byte("MM\x00*")
	}
	b = order.AppendUint32(b, 8)
	var tags []uint16
	for tag := range more {
		tags = append(tags, tag)
	}
	slices.Sort(tags)
	whole := slices.Clone(first)
	size := func(list []value) int {
		n := 2 + 12*len(list) + 4
		for _, v := range list {
			if len(v.data) > 4 {
				n += len(v.data)
			}
		}
		return n
	}
	for _, tag := range tags {
		whole = append(whole, value{tag, 4, 1, make([]byte, 4)})
	}
	at := 8 + size(whole)
	for k, tag := range tags {
		binary.ByteOrder(order.(binary.ByteOrder)).PutUint32(whole[len(first)+k].data, uint32(at))
		at += size(more[tag])
	}
	write := func(list []value) {
		data := len(b) + 2 + 12*len(list) + 4
		var rest []byte
		b = order.AppendUint16(b, uint16(len(list)))
		for _, v := range list {
			b = order.AppendUint32(order.AppendUint16(order.AppendUint16(b, v.tag), v.kind), v.count)
			if len(v.data) <= 4 {
				b = append(b, append(slices.Clone(v.data), make([]byte, 4-len(v.data))...)...)
				continue
			}
			b = order.AppendUint32(b, uint32(data+len(rest)))
			rest = append(rest, v.data...)
		}
		b = append(order.AppendUint32(b, 0), rest...)
	}
	write(whole)
	for _, tag := range tags {
		write(more[tag])
	}
	return b
}

// jpegWith is a JPEG file, up to its data, with a block of EXIF.
func jpegWith(block []byte) []byte {
	block = append([]byte("Exif\x00\x00"), block...)
	out := binary.BigEndian.AppendUint16([]byte{0xff, 0xd8, 0xff, 0xe1}, uint16(len(block)+2))
	return append(append(out, block...), 0xff, 0xda)
}

const (
	makeTag, modelTag = 0x010f, 0x0110
	exifTag, gpsTag   = 0x8769, 0x8825
)

// located is where a photo was taken, in the given order of bytes.
func located(order binary.AppendByteOrder, north, east string, latitude, longitude []uint32) []value {
	return []value{text(1, north), fractions(order, 2, latitude...), text(3, east), fractions(order, 4, longitude...)}
}

func TestPhotograph(t *testing.T) {
	at := time.Date(2024, 5, 1, 12, 30, 5, 0, time.UTC)
	taken := []value{text(0x9003, "2024:05:01 12:30:05")}
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		zurich := located(order, "N", "E", []uint32{47, 1, 22, 1, 3700, 100}, []uint32{8, 1, 32, 1, 30, 1})
		all := directories(order, []value{text(makeTag, "NIKON CORPORATION"), text(modelTag, "NIKON D90 ")},
			map[uint16][]value{exifTag: taken, gpsTag: zurich})
		want := EXIF{Taken: at, Camera: "NIKON D90", Latitude: 47 + 22/60.0 + 37/3600.0,
			Longitude: 8 + 32/60.0 + 30/3600.0, Located: true}
		for name, file := range map[string][]byte{"JPEG": jpegWith(all), "TIFF": all,
			"PNG":  withPNG(t, formatFile(t, "png-grey.png"), "eXIf", all, true),
			"WebP": withWebP(t, "webp.webp", all)} {
			got := ReadEXIF(file)
			if got.Taken != want.Taken || got.Camera != want.Camera || !got.Located ||
				math.Abs(got.Latitude-want.Latitude) > 1e-6 || math.Abs(got.Longitude-want.Longitude) > 1e-6 {
				t.Errorf("%v, %s: %+v", order, name, got)
			}
		}
		whole := jpegWith(all)
		for n := range whole {
			ReadEXIF(whole[:n])
		}
		for name, c := range map[string]struct {
			block []byte
			want  EXIF
		}{
			"make apart": {directories(order, []value{text(makeTag, "Apple"), text(modelTag, "iPhone 15")}, nil),
				EXIF{Camera: "Apple iPhone 15"}},
			"make alone":  {directories(order, []value{text(makeTag, "Acme")}, nil), EXIF{Camera: "Acme"}},
			"model alone": {directories(order, []value{text(modelTag, "X1")}, nil), EXIF{Camera: "X1"}},
			"no text": {directories(order, []value{text(makeTag, "a\x01b"), text(modelTag, "\xff\xfe")}, nil),
				EXIF{}},
			"south west": {directories(order, nil, map[uint16][]value{gpsTag: located(order, "S", "W",
				[]uint32{33, 1, 30, 1, 0, 0}, []uint32{70, 1, 45, 1, 0, 1})}),
				EXIF{Latitude: -33.5, Longitude: -70.75, Located: true}},
			"nowhere": {directories(order, nil, map[uint16][]value{gpsTag: located(order, "N", "E",
				[]uint32{0, 1, 0, 1, 0, 1}, []uint32{0, 1, 0, 1, 0, 1})}), EXIF{}},
			"no direction": {directories(order, nil, map[uint16][]value{gpsTag: located(order, "", "E",
				[]uint32{33, 1, 30, 1, 0, 1}, []uint32{70, 1, 45, 1, 0, 1})}), EXIF{}},
			"divided by zero": {directories(order, nil, map[uint16][]value{gpsTag: located(order, "N", "E",
				[]uint32{33, 0, 30, 1, 0, 1}, []uint32{70, 1, 45, 1, 0, 1})}), EXIF{}},
			"beyond the pole": {directories(order, nil, map[uint16][]value{gpsTag: located(order, "N", "E",
				[]uint32{91, 1, 0, 1, 0, 1}, []uint32{70, 1, 45, 1, 0, 1})}), EXIF{}},
			"beyond the date line": {directories(order, nil, map[uint16][]value{gpsTag: located(order, "N", "E",
				[]uint32{9, 1, 0, 1, 0, 1}, []uint32{180, 1, 0, 1, 1, 1})}), EXIF{}},
		} {
			if got := ReadEXIF(jpegWith(c.block)); got != c.want {
				t.Errorf("%v, %s: %+v, want %+v", order, name, got, c.want)
			}
		}
	}
	for _, b := range [][]byte{nil, []byte("\xff\xd8"), []byte("no picture"), formatFile(t, "jpeg-exif6.jpg")} {
		if got := ReadEXIF(b); got != (EXIF{}) {
			t.Errorf("%.8q: %+v", b, got)
		}
	}
}

// FuzzPhotograph reads damaged files: what comes of them can be written into any table.
func FuzzPhotograph(f *testing.F) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		f.Add(jpegWith(directories(order, []value{text(makeTag, "Apple"), text(modelTag, "iPhone")}, map[uint16][]value{
			exifTag: {text(0x9003, "2024:05:01 12:30:05")}, gpsTag: located(order, "N", "W",
				[]uint32{47, 1, 22, 1, 37, 1}, []uint32{8, 1, 32, 1, 30, 1})})))
	}
	f.Add(formatFile(f, "jpeg-exif6.jpg"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := ReadEXIF(b)
		switch {
		case len(p.Camera) > 201:
			t.Errorf("a camera of %d bytes", len(p.Camera))
		case !(math.Abs(p.Latitude) <= 90 && math.Abs(p.Longitude) <= 180):
			t.Errorf("%g, %g", p.Latitude, p.Longitude)
		case !p.Located && (p.Latitude != 0 || p.Longitude != 0):
			t.Errorf("%+v", p)
		}
	})
}
