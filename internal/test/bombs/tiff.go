package bombs

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// tag is an entry of a directory of TIFF. The values of other types are in data.
type tag struct {
	id, kind uint16
	count    uint32
	data     []byte
}

const shorts, longs, bytesType = 3, 4, 1

func short(id uint16, v int) tag {
	return tag{id, shorts, 1, binary.LittleEndian.AppendUint16(nil, uint16(v))}
}
func long(id uint16, v int) tag {
	return tag{id, longs, 1, binary.LittleEndian.AppendUint32(nil, uint32(v))}
}

// manyLongs returns an entry of n equal values.
func manyLongs(id uint16, n, v int) tag {
	return tag{id, longs, uint32(n), bytes.Repeat(binary.LittleEndian.AppendUint32(nil, uint32(v)), n)}
}

// tiff returns a file of one directory, and of data. tags get the place of the data.
func tiff(data []byte, tags func(at int) []tag) []byte {
	build := func(at int) []byte {
		list := tags(at)
		slices.SortFunc(list, func(a, b tag) int { return int(a.id) - int(b.id) })
		b := binary.LittleEndian.AppendUint16([]byte("II*\x00\x08\x00\x00\x00"), uint16(len(list)))
		extra := []byte{}
		from := len(b) + 12*len(list) + 4
		for _, t := range list {
			b = binary.LittleEndian.AppendUint16(b, t.id)
			b = binary.LittleEndian.AppendUint16(b, t.kind)
			b = binary.LittleEndian.AppendUint32(b, t.count)
			if len(t.data) <= 4 {
				b = append(append(b, t.data...), make([]byte, 4-len(t.data))...)
				continue
			}
			b = binary.LittleEndian.AppendUint32(b, uint32(from+len(extra)))
			extra = append(extra, t.data...)
			if len(extra)%2 == 1 {
				extra = append(extra, 0)
			}
		}
		return slices.Concat(b, make([]byte, 4), extra)
	}
	return append(build(len(build(0))), data...)
}

// grey returns the tags of a grey picture without its strips.
func grey(w, h, compression, rows int) []tag {
	return []tag{long(256, w), long(257, h), short(258, 8), short(259, compression), short(262, 1), short(277, 1),
		long(278, rows)}
}

// sameStrip is a picture whose strips, of a number of rows, are all the same data.
func sameStrip(w, h, rows, compression int, data []byte) []byte {
	return tiff(data, func(at int) []tag {
		n := (h + rows - 1) / rows
		return append(grey(w, h, compression, rows), manyLongs(273, n, at), manyLongs(279, n, len(data)))
	})
}

// tiffFiles returns hostile files of TIFF.
func tiffFiles() []File {
	return append(packedTIFFs(),
		File{"fill-order.tif", func() []byte { // two tags of many values, which each strip reads
			const n, values = 300_000, 65_536
			value := bytes.Repeat([]byte{1, 0, 0, 0}, values)
			return tiff(make([]byte, 8), func(at int) []tag {
				return append(grey(1, n, 1, 1), tag{266, longs, values, value}, tag{317, longs, values, value},
					manyLongs(273, n, at), tag{279, bytesType, n, bytes.Repeat([]byte{1}, n)})
			})
		}},
		File{"strips-count.tif", func() []byte {
			return tiff(make([]byte, 64), func(int) []tag {
				return append(grey(300, 300, 1, 1), tag{273, longs, maxUint32, []byte{8, 0, 0, 0}},
					tag{279, longs, maxUint32,
						[]byte{8, 0, 0, 0}})
			})
		}},
		File{"rows-none.tif", func() []byte {
			return tiff(make([]byte, 300*300), func(at int) []tag {
				return append(grey(300, 300, 1, 0), long(273, at), long(279, 90_000))
			})
		}},
		File{"tags.tif", func() []byte {
			return tiff(make([]byte, 300*300), func(at int) []tag {
				list := append(grey(300, 300, 1, 300), long(273, at), long(279, 90_000))
				for range 60_000 {
					list = append(list, tag{700, bytesType, 1 << 19, []byte{8, 0, 0, 0}})
				}
				return list
			})
		}},
		File{"large.tif", func() []byte { return sameStrip(13_400, 13_400, 1, 1, make([]byte, 13_400)) }},
		File{"large-4096.tif", func() []byte { return sameStrip(4096, 4096, 1, 1, make([]byte, 4096)) }},
		File{"tiles.tif", func() []byte { // tiles larger than the picture
			return tiff(make([]byte, 64), func(at int) []tag {
				return append(grey(64, 64, 8, 64), long(322, 60_000), long(323, 60_000), long(324, at), long(325, 64))
			})
		}},
		File{"tiles-narrow.tif", func() []byte {
			return tiff(make([]byte, 256), func(at int) []tag {
				return append(grey(16, 1_000_000, 1, 1), long(322, 16), long(323, 16), manyLongs(324, 62_500, at),
					manyLongs(325, 62_500, 256))
			})
		}},
	)
}

// clearCodes are codes of LZW that only clear its table, in bytes.
var clearCodes = []byte{0x80, 0x40, 0x20, 0x10, 0x08, 0x04, 0x02, 0x01, 0x00}

// packedTIFFs returns files whose compressed strips ask for much.
func packedTIFFs() []File {
	return []File{
		{"deflate-blocks.tif", func() []byte { // blocks of no bytes
			empty := bytes.Repeat([]byte{0, 0, 0, 0xff, 0xff}, 1<<20)
			return sameStrip(300, 300, 300, 8, append([]byte{0x78, 0x9c}, empty...))
		}},
		{"deflate-strips.tif", func() []byte { // tables and a window of 44 KB for each of many strips
			return sameStrip(16, 60_000, 1, 8, zlibZeros(1<<16))
		}},
		{"deflate-long.tif", func() []byte { // much more than the strip holds
			return sameStrip(3000, 3000, 3000, 8, zlibZeros(1<<28))
		}},
		{"lzw-clears.tif", func() []byte { // codes that only clear the table
			return sameStrip(300, 300, 300, 5, bytes.Repeat(clearCodes, 1<<19))
		}},
		{"lzw-strips.tif", func() []byte { // each strip is the same long data
			return sameStrip(16, 60_000, 1, 5, bytes.Repeat(clearCodes, 1<<13))
		}},
		{"packbits-nothing.tif", func() []byte { // codes of nothing
			return sameStrip(16, 60_000, 1, 32773, bytes.Repeat([]byte{0x80}, 1<<20))
		}},
		{"ccitt.tif", func() []byte { // lines of nothing
			b := sameStrip(65_000, 60_000, 60_000, 4, bytes.Repeat([]byte{0xff}, 1<<16))
			return b
		}},
	}
}
