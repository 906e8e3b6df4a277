package bombs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/test/heif"
)

// coded is a picture that an encoder made, as an item of a HEIF file.
type coded struct {
	brand, kind, name string
	content           []byte
	properties        [][]byte // without its size
	w, h              int
}

// AVIF is a picture of 96 x 64 pixels, and HEIC one of 128 x 128.
func avifPicture() coded {
	b := Picture("formats/avif.avif")
	properties := [][]byte{property(b, "pixi"), property(b, "av1C"), property(b, "colr")}
	return coded{"avif", "av01", "avif", mdat(b), properties, 96, 64}
}

func heicPicture() coded {
	b := Picture("formats/heic-tile0.heic")
	return coded{"heic", "hvc1", "heic", mdat(b), [][]byte{property(b, "hvcC"), property(b, "pixi")}, 128, 128}
}

func pictures() []coded { return []coded{avifPicture(), heicPicture()} }

// property returns a box of a name.
func property(file []byte, name string) []byte {
	at := bytes.Index(file, []byte(name)) - 4
	return file[at : at+int(binary.BigEndian.Uint32(file[at:]))]
}

// mdat returns the content of the last box, which holds the data.
func mdat(file []byte) []byte { return file[bytes.LastIndex(file, []byte("mdat"))+4:] }

// item returns the picture as an item that says it has a size.
func (c coded) item(id uint32, w, h int) heif.Item {
	return heif.Item{ID: id, Type: c.kind, Content: c.content, Properties: append([][]byte{heif.Size(w, h)},
		c.properties...)}
}

// file returns a file of the picture, and of other items.
func (c coded) file(others ...heif.Item) *heif.File {
	return &heif.File{Brand: c.brand, Primary: 1, Wide: true, Shared: true,
		Items: append([]heif.Item{c.item(1, c.w, c.h)}, others...)}
}

// with returns the file with the box of a name replaced.
func with(f *heif.File, name string, box func(old []byte, data int) []byte) []byte {
	f.Change = func(old []byte, data int) []byte {
		if heif.Name(old) == name {
			return box(old, data)
		}
		return old
	}
	return f.Bytes()
}

// numbers returns unsigned numbers, each of a number of bytes.
func numbers(of ...int64) []byte {
	var b []byte
	for i := 0; i < len(of); i += 2 {
		for k := of[i] - 1; k >= 0; k-- {
			b = append(b, byte(of[i+1]>>(8*k)))
		}
	}
	return b
}

// repeated returns n numbers or texts.
func repeated(n int, each func(i int) []byte) []byte {
	var b []byte
	for i := range n {
		b = append(b, each(i)...)
	}
	return b
}

// many returns items of the same content, with numbers from 2 on.
func many(n int, kind string, content []byte, properties ...[]byte) []heif.Item {
	items := make([]heif.Item, n)
	for i := range items {
		items[i] = heif.Item{ID: uint32(i + 2), Type: kind, Content: content, Properties: properties}
	}
	return items
}

// all is the largest number of four bytes.
const all = math.MaxUint32

// made makes files for each picture. It returns nil for a picture that has no such file.
func made(name string, file func(c coded) []byte) []File {
	var files []File
	for _, c := range pictures() {
		files = append(files, File{name + "." + c.name, func() []byte { return file(c) }})
	}
	return files
}

// lists returns files whose lists of items or of places are hostile.
func lists() []File {
	iloc := func(name string, version byte, body func(data int) []byte, others ...heif.Item) []File {
		return made("iloc-"+name, func(c coded) []byte {
			return with(c.file(others...), "iloc", func(_ []byte, data int) []byte {
				return heif.Full("iloc", version, 0, body(data))
			})
		})
	}
	iinf := func(name string, version byte, body []byte) []File {
		return made("iinf-"+name, func(c coded) []byte {
			return with(c.file(), "iinf", func(old []byte, _ int) []byte {
				return heif.Full("iinf", version, 0, numbers(4, all), old[16:], body)
			})
		})
	}
	empty := func(version byte) func(int) []byte { // entries of the picture, each of 65,535 extents without bytes
		return func(int) []byte {
			n, b := []int64{2, 65535}, []int64{2, 1, 2, 0, 2, 0, 2, 65535}
			switch version {
			case 0:
				b = []int64{2, 1, 2, 0, 2, 65535}
			case 2:
				n, b = []int64{4, 65535}, []int64{4, 1, 2, 0, 2, 0, 2, 65535}
			}
			entry := numbers(b...)
			return slices.Concat(numbers(2, 0), numbers(n...), repeated(65535, func(int) []byte { return entry }))
		}
	}
	files := slices.Concat(
		iloc("empty-0", 0, empty(0)), iloc("empty-1", 1, empty(1)), iloc("empty-2", 2, empty(2)),
		iloc("count", 2, func(int) []byte { return numbers(2, 0, 4, all) }),
		iloc("far", 1, func(int) []byte {
			return slices.Concat(numbers(2, 0x8800, 2, 1, 2, 1, 2, 0, 2, 0, 2, 1000),
				repeated(1000, func(i int) []byte { return numbers(8, 1<<62+int64(i), 8, 1<<62) }))
		}),
		iloc("whole", 1, func(int) []byte { // extents of the whole file, each of no bytes
			return numbers(2, 0, 2, 1, 2, 1, 2, 0, 2, 0, 2, 65535)
		}),
		iloc("whole-idat", 1, func(int) []byte { return numbers(2, 0, 2, 1, 2, 1, 2, 1, 2, 0, 2, 65535) }),
		iloc("itself", 1, func(int) []byte { // the picture is made of itself
			return numbers(2, 0x4401, 2, 1, 2, 1, 2, 2, 2, 0, 2, 1, 1, 1, 4, 0, 4, 0)
		}),
		iloc("single-bytes", 1, func(data int) []byte {
			return slices.Concat(numbers(2, 0x4400, 2, 1, 2, 1, 2, 0, 2, 0, 2, 65535),
				repeated(65535, func(int) []byte { return numbers(4, int64(data), 4, 1) }))
		}),
		made("iloc-exif", func(c coded) []byte { // each Exif item is the whole file
			f := c.file(many(65000, "Exif", nil)...)
			return with(f, "iloc", func(_ []byte, data int) []byte {
				return heif.Full("iloc", 2, 0, numbers(2, 0x4400, 4, 65001, 4, 1, 2, 0, 2, 0, 2, 1, 4, int64(data), 4,
					int64(len(c.content))),
					repeated(65000, func(i int) []byte { return numbers(4, int64(i+2), 2, 0, 2, 0, 2, 1, 4, 0, 4, 0) }))
			})
		}),
		iinf("count", 1, nil),
		iinf("free", 1, repeated(1_000_000, func(int) []byte { return heif.Box("free") })),
		iinf("short", 1, repeated(300_000, func(int) []byte { return heif.Full("infe", 2, 0) })),
		iinf("same", 1, repeated(100_000, func(int) []byte {
			return heif.Full("infe", 2, 0, numbers(2, 2, 2, 0), []byte("av01\x00"))
		})),
		iinf("items", 1, repeated(300_000, func(i int) []byte {
			return heif.Full("infe", 3, 0, numbers(4, int64(i+2), 2, 0), []byte("mime\x00"))
		})),
		iinf("items-most", 1, repeated(1_300_000, func(i int) []byte {
			return heif.Full("infe", 2, 0, numbers(2, int64(i), 2, 0), []byte("Exif\x00"))
		})),
		iinf("name", 1, heif.Full("infe", 2, 0, numbers(2, 2, 2, 0), []byte("mime"), bytes.Repeat([]byte{'x'}, 4<<20))),
	)
	return files
}

// properties returns files whose properties are hostile.
func properties() []File {
	iprp := func(name string, body func(c coded) [][]byte, others ...heif.Item) []File {
		return made("iprp-"+name, func(c coded) []byte {
			return with(c.file(others...), "iprp", func([]byte, int) []byte { return heif.Box("iprp", body(c)...) })
		})
	}
	// The picture's own properties come first, then a hostile one.
	ipco := func(c coded, more ...[]byte) []byte {
		return heif.Box("ipco", slices.Concat(c.item(1, c.w, c.h).Properties...), slices.Concat(more...))
	}
	own := func(c coded) []byte {
		n := len(c.properties) + 1
		return append([]byte{byte(n)}, repeated(n, func(i int) []byte { return []byte{byte(i + 1)} })...)
	}
	ipma := func(c coded, n int, id func(i int) int64) []byte {
		last := byte(len(c.properties) + 2)
		return heif.Full("ipma", 1, 0, numbers(4, int64(n+1), 4, 1), own(c), repeated(n, func(i int) []byte {
			return append(numbers(4, id(i), 1, 255), bytes.Repeat([]byte{last}, 255)...)
		}))
	}
	first := func(int) int64 { return 1 }
	channels := heif.Full("pixi", 0, 0, []byte{255}, bytes.Repeat([]byte{8}, 255))
	profile := heif.Box("colr", []byte("prof"), make([]byte, 1<<20))
	return slices.Concat(
		iprp("many", func(c coded) [][]byte {
			return [][]byte{ipco(c, repeated(500_000, func(int) []byte { return heif.Box("free") })), ipma(c, 0, nil)}
		}),
		iprp("pixi-one", func(c coded) [][]byte { return [][]byte{ipco(c, channels), ipma(c, 20_000, first)} }),
		iprp("pixi", func(c coded) [][]byte {
			return [][]byte{ipco(c, channels), ipma(c, 20_000, func(i int) int64 { return int64(i + 2) })}
		}, many(20_000, "av01", nil)...),
		iprp("profile-one", func(c coded) [][]byte { return [][]byte{ipco(c, profile), ipma(c, 4000, first)} }),
		iprp("profile", func(c coded) [][]byte {
			return [][]byte{ipco(c, profile), ipma(c, 4000, func(i int) int64 { return int64(i + 2) })}
		}, many(4000, "av01", nil)...),
		iprp("turns", func(c coded) [][]byte {
			return [][]byte{ipco(c, heif.Box("irot", []byte{1})), ipma(c, 20_000, first)}
		}),
		iprp("count", func(c coded) [][]byte {
			return [][]byte{ipco(c), heif.Full("ipma", 1, 0, numbers(4, all, 4, 1), own(c))}
		}),
		iprp("ipma", func(c coded) [][]byte { // 100,000 boxes
			return [][]byte{ipco(c), ipma(c, 0, nil), repeated(100_000, func(int) []byte {
				return heif.Full("ipma", 0, 0, numbers(4, 1, 2, 1, 1, 1, 1, 1))
			})}
		}),
		iprp("ipco", func(c coded) [][]byte {
			return append(slices.Repeat([][]byte{ipco(c)}, 1000), ipma(c, 0, nil))
		}),
		made("iprp-twice", func(c coded) []byte {
			return with(c.file(), "iprp", func(old []byte, _ int) []byte { return bytes.Repeat(old, 5000) })
		}),
		made("pixi-short", func(c coded) []byte {
			f := c.file()
			f.Items[0].Properties = append(f.Items[0].Properties, heif.Full("pixi", 0, 0, []byte{255}))
			return f.Bytes()
		}),
		sizes(),
	)
}

// sizes returns files that say other sizes than that of the coded picture.
func sizes() []File {
	var files []File
	for _, size := range [][2]int{{60_000, 60_000}, {13_400, 13_400}, {4096, 4096}, {2048, 2048}, {1, 1}, {0, 0},
		{1 << 31, 1}, {65, 1}, {1, 100_000_000}} {
		files = append(files, made(fmt.Sprintf("ispe-%dx%d", size[0], size[1]), func(c coded) []byte {
			f := c.file()
			f.Items[0] = c.item(1, size[0], size[1])
			return f.Bytes()
		})...)
	}
	return files
}

// pictureAgain returns files whose item has its coded picture many times.
func pictureAgain() []File {
	return made("again", func(c coded) []byte {
		c.content = bytes.Repeat(c.content, 3000)
		return c.file().Bytes()
	})
}

// references returns files whose items refer to each other.
func references() []File {
	iref := func(name string, body func(c coded) []byte, others ...heif.Item) []File {
		return made("iref-"+name, func(c coded) []byte {
			return with(c.file(others...), "iref", func([]byte, int) []byte {
				return heif.Full("iref", 1, 0, body(c))
			})
		})
	}
	same := func(n int, id int64) []byte { return repeated(n, func(int) []byte { return numbers(4, id) }) }
	one := func(kind string, from int64, n int, to int64) []byte {
		return heif.Box(kind, numbers(4, from, 2, int64(n)), same(n, to))
	}
	files := slices.Concat(
		iref("dimg", func(coded) []byte { return bytes.Repeat(one("dimg", 1, 65535, 1), 20) }),
		iref("dimg-most", func(coded) []byte {
			parts := repeated(65535, func(i int) []byte { return numbers(4, int64(i*7)) })
			return bytes.Repeat(heif.Box("dimg", numbers(4, 1, 2, 65535), parts), 110)
		}),
		iref("cdsc", func(coded) []byte {
			return repeated(200_000, func(i int) []byte { return one("cdsc", int64(i%60_000+2), 1, 1) })
		}, many(60_000, "Exif", nil)...),
		iref("cdsc-one", func(coded) []byte { return bytes.Repeat(one("cdsc", 2, 65535, 3), 20) },
			many(1, "Exif", nil)...),
		iref("count", func(coded) []byte { return heif.Box("dimg", numbers(4, 1, 2, 65535)) }),
		iref("free", func(coded) []byte { return bytes.Repeat(heif.Box("dimg"), 1_000_000) }),
		iref("auxl", func(coded) []byte { return bytes.Repeat(one("auxl", 1, 65535, 1), 10) }),
		iref("thumbnails", func(coded) []byte {
			return repeated(60_000, func(i int) []byte { return one("thmb", int64(i+2), 1, 1) })
		}, many(60_000, "av01", nil)...),
	)
	// Pictures derived from themselves, or from each other in a circle or a long chain.
	for _, kind := range []string{"grid", "iden", "iovl", "tmap"} {
		content := map[string][]byte{"grid": heif.Grid(1, 1, 96, 64), "iovl": append(numbers(2, 0, 8, 0, 2, 96, 2, 64),
			make([]byte, 4*65535)...), "tmap": make([]byte, 64)}[kind]
		item := func(c coded, id uint32, parts ...uint32) heif.Item {
			return heif.Item{ID: id, Type: kind, Content: content, Parts: parts,
				Properties: append([][]byte{heif.Size(96, 64)}, c.properties[:1]...)}
		}
		files = append(files, slices.Concat(
			made(kind+"-itself", func(c coded) []byte {
				f := c.file()
				f.Items[0] = item(c, 1, 1)
				return f.Bytes()
			}),
			made(kind+"-circle", func(c coded) []byte {
				f := c.file(item(c, 2, 3), item(c, 3, 2))
				f.Primary = 2
				return f.Bytes()
			}),
			made(kind+"-chain", func(c coded) []byte {
				f := c.file()
				for id := range uint32(20_000) {
					f.Items = append(f.Items, item(c, id+2, id+1))
				}
				f.Primary = 20_001
				return f.Bytes()
			}),
			made(kind+"-doubling", func(c coded) []byte { // each refers to the next one twice
				f := c.file()
				for id := range uint32(40) {
					f.Items = append(f.Items, item(c, id+2, id+1, id+1))
					if kind == "grid" {
						f.Items[id+1].Content = heif.Grid(1, 2, 96, 64)
					}
				}
				f.Primary = 41
				return f.Bytes()
			}),
			made(kind+"-parts", func(c coded) []byte {
				f := c.file(item(c, 2, slices.Repeat([]uint32{1}, 65535)...))
				f.Primary = 2
				return f.Bytes()
			}),
		)...)
	}
	return files
}

// boxes returns files whose boxes are hostile.
func boxes() []File {
	beside := func(name string, box func() []byte) []File { // in the box meta
		return made("meta-"+name, func(c coded) []byte {
			return with(c.file(), "idat", func(old []byte, _ int) []byte { return append(old, box()...) })
		})
	}
	before := func(name string, box func() []byte) []File { // before the box meta
		return made("top-"+name, func(c coded) []byte {
			b := with(c.file(), "hdlr", func(old []byte, _ int) []byte { return old })
			n := binary.BigEndian.Uint32(b)
			return slices.Concat(b[:n], box(), b[n:])
		})
	}
	nested := func(n int, name string, head []byte) []byte {
		var b []byte
		for k := n; k > 0; k-- {
			b = append(append(append(b, numbers(4, int64(k*(8+len(head))))...), name...), head...)
		}
		return b
	}
	return slices.Concat(
		beside("free", func() []byte { return bytes.Repeat(heif.Box("free"), 1_000_000) }),
		beside("nested", func() []byte { return nested(100_000, "meta", make([]byte, 4)) }),
		beside("groups", func() []byte {
			return heif.Box("grpl", repeated(100_000, func(i int) []byte {
				return heif.Full("altr", 0, 0, numbers(4, int64(i), 4, all))
			}))
		}),
		beside("group", func() []byte {
			return heif.Box("grpl", heif.Full("altr", 0, 0, numbers(4, 1, 4, 1_000_000), make([]byte, 4_000_000)))
		}),
		beside("metas", func() []byte { return bytes.Repeat(heif.Full("meta", 0, 0), 300_000) }),
		before("free", func() []byte { return bytes.Repeat(heif.Box("free"), 1_000_000) }),
		before("nested", func() []byte { return nested(100_000, "moov", nil) }),
		before("brands", func() []byte { return heif.Box("ftyp", bytes.Repeat([]byte("mif1"), 1<<18)) }),
		before("zero", func() []byte { return []byte("\x00\x00\x00\x00free") }),
		before("large", func() []byte { return append([]byte("\x00\x00\x00\x01free"), numbers(8, math.MaxInt64)...) }),
		before("largest", func() []byte { return append([]byte("\x00\x00\x00\x01free"), numbers(8, -1)...) }),
		before("short", func() []byte { return []byte("\x00\x00\x00\x07free") }),
		made("brands", func(c coded) []byte {
			b := c.file().Bytes()
			n := binary.BigEndian.Uint32(b)
			return slices.Concat(heif.Box("ftyp", b[8:n], bytes.Repeat([]byte("mif1"), 1<<18)), b[n:])
		}),
		made("metas", func(c coded) []byte {
			b := c.file().Bytes()
			n := binary.BigEndian.Uint32(b)
			m := binary.BigEndian.Uint32(b[n:])
			return slices.Concat(b[:n], bytes.Repeat(b[n:n+m], 2000), b[n+m:])
		}),
		made("twice", func(c coded) []byte { // each list inside of meta 300 times
			f := c.file()
			f.Change = func(box []byte, _ int) []byte { return bytes.Repeat(box, 300) }
			return f.Bytes()
		}),
	)
}

// gridOf returns a grid of tiles that are all the same picture.
func gridOf(c coded, rows, columns, w, h int) *heif.File {
	f := &heif.File{Brand: c.brand, Primary: 1, Wide: true, Shared: true, Items: []heif.Item{{ID: 1, Type: "grid",
		Inside: true, Content: heif.Grid(rows, columns, w, h), Properties: append([][]byte{heif.Size(w, h)},
			c.properties[:1]...)}}}
	if c.kind == "av01" {
		f.Items[0].Properties = [][]byte{heif.Size(w, h), c.properties[0]}
	}
	for id := range uint32(rows * columns) {
		it := c.item(id+2, c.w, c.h)
		it.Hidden = true
		f.Items = append(f.Items, it)
		f.Items[0].Parts = append(f.Items[0].Parts, id+2)
	}
	if n := len(f.Items[0].Parts); n > 0xffff { // a count of two bytes
		f.Items[0].Parts = f.Items[0].Parts[:0xffff]
	}
	return f
}

// padded returns a grid of n x n tiles, each of which has padding for a decoder to pass over.
func padded(c coded, n, bytes int) *heif.File {
	padding := make([]byte, bytes)
	if c.kind == "av01" {
		const obu = 15<<3 | 2 // of type padding, with its size
		size := binary.AppendUvarint(nil, uint64(bytes))
		c.content = slices.Concat(c.content, []byte{obu}, size, padding)
	} else {
		for i := range padding {
			padding[i] = 0xff
		}
		const filler = 38
		c.content = slices.Concat(c.content, numbers(4, int64(bytes+2), 1, filler<<1, 1, 1), padding)
	}
	return gridOf(c, n, n, n*c.w, n*c.h)
}

// grids returns grids, sound and hostile.
func grids() []File {
	var files []File
	for _, n := range [][2]int{{1, 1}, {2, 2}, {10, 10}, {16, 16}, {60, 60}, {120, 120}, {256, 256}, {1, 256},
		{256, 1}} {
		files = append(files, made(fmt.Sprintf("grid-%dx%d", n[0], n[1]), func(c coded) []byte {
			return gridOf(c, n[0], n[1], n[1]*c.w, n[0]*c.h).Bytes()
		})...)
	}
	return slices.Concat(files, derived(),
		made("grid-tiny-tiles", func(c coded) []byte { return gridOf(c, 100, 100, 100, 100).Bytes() }),
		made("grid-tiny-picture", func(c coded) []byte { // many tiles for few pixels
			return gridOf(c, 255, 255, c.w+1, c.h+1).Bytes()
		}),
		made("grid-large-picture", func(c coded) []byte { return gridOf(c, 2, 2, 13_000, 13_000).Bytes() }),
		made("grid-same-tile", func(c coded) []byte {
			f := gridOf(c, 1, 1, 100*c.w, 100*c.h)
			f.Items[0].Content = heif.Grid(100, 100, 100*c.w, 100*c.h)
			f.Items[0].Parts = slices.Repeat([]uint32{2}, 10_000)
			return f.Bytes()
		}),
		made("grid-tile-sizes", func(c coded) []byte { // the tiles say other sizes
			f := gridOf(c, 8, 8, 8*c.w, 8*c.h)
			for i := range f.Items[1:] {
				f.Items[i+1].Properties[0] = heif.Size(c.w+i, c.h+64*i)
			}
			return f.Bytes()
		}),
		made("grid-tile-huge", func(c coded) []byte { // the first tile says more than all together
			f := gridOf(c, 8, 8, 8*c.w, 8*c.h)
			for i := range f.Items[1:] {
				f.Items[i+1].Properties[0] = heif.Size(8000, 8000)
			}
			return f.Bytes()
		}),
		made("grid-tile-none", func(c coded) []byte { // the tiles say nothing
			f := gridOf(c, 20, 20, 20*c.w, 20*c.h)
			for i := range f.Items[1:] {
				f.Items[i+1].Properties = f.Items[i+1].Properties[1:]
			}
			return f.Bytes()
		}),
	)
}

// derived returns files whose picture is made of grids, or has opacity, in hostile ways.
func derived() []File {
	return slices.Concat(
		made("grid-of-grids", func(c coded) []byte {
			f := gridOf(c, 16, 16, 16*c.w, 16*c.h)
			f.Primary = 1000
			outer := f.Items[0]
			outer.ID, outer.Content = 1000, heif.Grid(16, 16, 256*c.w, 256*c.h)
			outer.Properties = [][]byte{heif.Size(256*c.w, 256*c.h)}
			outer.Parts = slices.Repeat([]uint32{1}, 256)
			f.Items = append(f.Items, outer)
			return f.Bytes()
		}),
		made("grid-padded", func(c coded) []byte { return padded(c, 20, 8<<20).Bytes() }),
		made("grid-padded-many", func(c coded) []byte { return padded(c, 60, 1<<20).Bytes() }),
		made("grid-parameters", func(c coded) []byte { // a large property, which all tiles share
			f := gridOf(c, 60, 60, 60*c.w, 60*c.h)
			large := heif.Box("colr", []byte("nclx\x00\x01\x00\x0d\x00\x06\x80"), make([]byte, 60<<10))
			for i := range f.Items[1:] {
				f.Items[i+1].Properties = append(f.Items[i+1].Properties, large)
			}
			return f.Bytes()
		}),
		made("alpha-grid", func(c coded) []byte { // the alpha of a small picture is a large grid
			f := gridOf(c, 100, 100, 100*c.w, 100*c.h)
			f.Primary = 60_000
			f.Items[0].Properties = append(f.Items[0].Properties, alphaOf())
			f.Items[0].References = []heif.Reference{{Type: "auxl", To: []uint32{60_000}}}
			f.Items = append(f.Items, c.item(60_000, c.w, c.h))
			return f.Bytes()
		}),
		made("alpha-many", func(c coded) []byte {
			f := c.file()
			for id := range uint32(5000) {
				it := c.item(id+2, c.w, c.h)
				it.Properties = append(it.Properties, alphaOf())
				it.References = []heif.Reference{{Type: "auxl", To: []uint32{1}}}
				f.Items = append(f.Items, it)
			}
			return f.Bytes()
		}),
		made("alpha-itself", func(c coded) []byte {
			f := c.file()
			f.Items[0].Properties = append(f.Items[0].Properties, alphaOf())
			f.Items[0].References = []heif.Reference{{Type: "auxl", To: []uint32{1}}}
			return f.Bytes()
		}),
	)
}

// alphaOf returns the property that makes a picture the opacity of another.
func alphaOf() []byte {
	return heif.Full("auxC", 0, 0, []byte("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\x00"))
}
