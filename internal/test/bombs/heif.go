package bombs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/test/heif"
)

// codedPicture is a picture that an encoder made, as an item of a HEIF file.
type codedPicture struct {
	brand, kind, name string
	content           []byte
	properties        [][]byte // without its size
	w, h              int
}

// AVIF is a picture of 96 x 64 pixels, and HEIC one of 128 x 128.
func newAVIF() codedPicture {
	b := Picture("formats/avif.avif")
	properties := [][]byte{findProperty(b, "pixi"), findProperty(b, "av1C"), findProperty(b, "colr")}
	return codedPicture{"avif", "av01", "avif", mdat(b), properties, 96, 64}
}

func newHEIC() codedPicture {
	b := Picture("formats/heic-tile0.heic")
	return codedPicture{"heic", "hvc1", "heic", mdat(b), [][]byte{findProperty(b, "hvcC"), findProperty(b, "pixi")},
		128, 128}
}

func pictures() []codedPicture { return []codedPicture{newAVIF(), newHEIC()} }

// findProperty returns a box of a name.
func findProperty(file []byte, name string) []byte {
	at := bytes.Index(file, []byte(name)) - 4
	return file[at : at+int(binary.BigEndian.Uint32(file[at:]))]
}

// mdat returns the content of the last box, which holds the data.
func mdat(file []byte) []byte { return file[bytes.LastIndex(file, []byte("mdat"))+4:] }

// item returns the picture as an item that says it has a size.
func (c codedPicture) item(id uint32, w, h int) heif.Item {
	return heif.Item{ID: id, Type: c.kind, Content: c.content, Properties: append([][]byte{heif.Size(w, h)},
		c.properties...)}
}

// file returns a file of the picture, and of other items.
func (c codedPicture) file(others ...heif.Item) *heif.File {
	return &heif.File{Brand: c.brand, Primary: 1, Wide: true, Shared: true,
		Items: append([]heif.Item{c.item(1, c.w, c.h)}, others...)}
}

// replaceBox returns the file with the box of a name replaced.
func replaceBox(f *heif.File, name string, box func(old []byte, data int) []byte) []byte {
	f.Change = func(old []byte, data int) []byte {
		if heif.Name(old) == name {
			return box(old, data)
		}
		return old
	}
	return f.Bytes()
}

// encodeNumbers returns unsigned numbers, each of a number of bytes.
func encodeNumbers(of ...int64) []byte {
	var b []byte
	for i := 0; i < len(of); i += 2 {
		for k := of[i] - 1; k >= 0; k-- {
			b = append(b, byte(of[i+1]>>(8*k)))
		}
	}
	return b
}

// repeat returns n numbers or texts.
func repeat(n int, each func(i int) []byte) []byte {
	var b []byte
	for i := range n {
		b = append(b, each(i)...)
	}
	return b
}

// manyItems returns items of the same content, with numbers from 2 on.
func manyItems(n int, kind string, content []byte, properties ...[]byte) []heif.Item {
	items := make([]heif.Item, n)
	for i := range items {
		items[i] = heif.Item{ID: uint32(i + 2), Type: kind, Content: content, Properties: properties}
	}
	return items
}

// maxUint32 is the largest number of four bytes.
const maxUint32 = math.MaxUint32

// makeFiles makes files for each picture. It returns nil for a picture that has no such file.
func makeFiles(name string, file func(c codedPicture) []byte) []File {
	var files []File
	for _, c := range pictures() {
		files = append(files, File{name + "." + c.name, func() []byte { return file(c) }})
	}
	return files
}

// listFiles returns files whose lists of items or of places are hostile.
func listFiles() []File {
	iloc := func(name string, version byte, body func(data int) []byte, others ...heif.Item) []File {
		return makeFiles("iloc-"+name, func(c codedPicture) []byte {
			return replaceBox(c.file(others...), "iloc", func(_ []byte, data int) []byte {
				return heif.Full("iloc", version, 0, body(data))
			})
		})
	}
	iinf := func(name string, version byte, body []byte) []File {
		return makeFiles("iinf-"+name, func(c codedPicture) []byte {
			return replaceBox(c.file(), "iinf", func(old []byte, _ int) []byte {
				return heif.Full("iinf", version, 0, encodeNumbers(4, maxUint32), old[16:], body)
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
			entry := encodeNumbers(b...)
			return slices.Concat(encodeNumbers(2, 0), encodeNumbers(n...),
				repeat(65535, func(int) []byte { return entry }))
		}
	}
	files := slices.Concat(
		iloc("empty-0", 0, empty(0)), iloc("empty-1", 1, empty(1)), iloc("empty-2", 2, empty(2)),
		iloc("count", 2, func(int) []byte { return encodeNumbers(2, 0, 4, maxUint32) }),
		iloc("far", 1, func(int) []byte {
			return slices.Concat(encodeNumbers(2, 0x8800, 2, 1, 2, 1, 2, 0, 2, 0, 2, 1000),
				repeat(1000, func(i int) []byte { return encodeNumbers(8, 1<<62+int64(i), 8, 1<<62) }))
		}),
		iloc("whole", 1, func(int) []byte { // extents of the whole file, each of no bytes
			return encodeNumbers(2, 0, 2, 1, 2, 1, 2, 0, 2, 0, 2, 65535)
		}),
		iloc("whole-idat", 1, func(int) []byte { return encodeNumbers(2, 0, 2, 1, 2, 1, 2, 1, 2, 0, 2, 65535) }),
		iloc("itself", 1, func(int) []byte { // the picture is made of itself
			return encodeNumbers(2, 0x4401, 2, 1, 2, 1, 2, 2, 2, 0, 2, 1, 1, 1, 4, 0, 4, 0)
		}),
		iloc("single-bytes", 1, func(data int) []byte {
			return slices.Concat(encodeNumbers(2, 0x4400, 2, 1, 2, 1, 2, 0, 2, 0, 2, 65535),
				repeat(65535, func(int) []byte { return encodeNumbers(4, int64(data), 4, 1) }))
		}),
		makeFiles("iloc-exif", func(c codedPicture) []byte { // each Exif item is the whole file
			f := c.file(manyItems(65000, "Exif", nil)...)
			return replaceBox(f, "iloc", func(_ []byte, data int) []byte {
				return heif.Full("iloc", 2, 0, encodeNumbers(2, 0x4400, 4, 65001, 4, 1, 2, 0, 2, 0, 2, 1, 4,
					int64(data), 4,
					int64(len(c.content))),
					repeat(65000, func(i int) []byte {
						return encodeNumbers(4, int64(i+2), 2, 0, 2, 0, 2, 1, 4, 0,
							4, 0)
					}))
			})
		}),
		iinf("count", 1, nil),
		iinf("free", 1, repeat(1_000_000, func(int) []byte { return heif.Box("free") })),
		iinf("short", 1, repeat(300_000, func(int) []byte { return heif.Full("infe", 2, 0) })),
		iinf("same", 1, repeat(100_000, func(int) []byte {
			return heif.Full("infe", 2, 0, encodeNumbers(2, 2, 2, 0), []byte("av01\x00"))
		})),
		iinf("items", 1, repeat(300_000, func(i int) []byte {
			return heif.Full("infe", 3, 0, encodeNumbers(4, int64(i+2), 2, 0), []byte("mime\x00"))
		})),
		iinf("items-most", 1, repeat(1_300_000, func(i int) []byte {
			return heif.Full("infe", 2, 0, encodeNumbers(2, int64(i), 2, 0), []byte("Exif\x00"))
		})),
		iinf("name", 1, heif.Full("infe", 2, 0, encodeNumbers(2, 2, 2, 0), []byte("mime"),
			bytes.Repeat([]byte{'x'}, 4<<20))),
	)
	return files
}

// propertyFiles returns files whose properties are hostile.
func propertyFiles() []File {
	iprp := func(name string, body func(c codedPicture) [][]byte, others ...heif.Item) []File {
		return makeFiles("iprp-"+name, func(c codedPicture) []byte {
			return replaceBox(c.file(others...), "iprp", func([]byte,
				int) []byte {
				return heif.Box("iprp", body(c)...)
			})
		})
	}
	// The picture's own properties come first, then a hostile one.
	ipco := func(c codedPicture, more ...[]byte) []byte {
		return heif.Box("ipco", slices.Concat(c.item(1, c.w, c.h).Properties...), slices.Concat(more...))
	}
	own := func(c codedPicture) []byte {
		n := len(c.properties) + 1
		return append([]byte{byte(n)}, repeat(n, func(i int) []byte { return []byte{byte(i + 1)} })...)
	}
	ipma := func(c codedPicture, n int, id func(i int) int64) []byte {
		last := byte(len(c.properties) + 2)
		return heif.Full("ipma", 1, 0, encodeNumbers(4, int64(n+1), 4, 1), own(c), repeat(n, func(i int) []byte {
			return append(encodeNumbers(4, id(i), 1, 255), bytes.Repeat([]byte{last}, 255)...)
		}))
	}
	first := func(int) int64 { return 1 }
	channels := heif.Full("pixi", 0, 0, []byte{255}, bytes.Repeat([]byte{8}, 255))
	profile := heif.Box("colr", []byte("prof"), make([]byte, 1<<20))
	return slices.Concat(
		iprp("many", func(c codedPicture) [][]byte {
			return [][]byte{ipco(c, repeat(500_000, func(int) []byte { return heif.Box("free") })), ipma(c, 0, nil)}
		}),
		iprp("pixi-one", func(c codedPicture) [][]byte { return [][]byte{ipco(c, channels), ipma(c, 20_000, first)} }),
		iprp("pixi", func(c codedPicture) [][]byte {
			return [][]byte{ipco(c, channels), ipma(c, 20_000, func(i int) int64 { return int64(i + 2) })}
		}, manyItems(20_000, "av01", nil)...),
		iprp("profile-one", func(c codedPicture) [][]byte { return [][]byte{ipco(c, profile), ipma(c, 4000, first)} }),
		iprp("profile", func(c codedPicture) [][]byte {
			return [][]byte{ipco(c, profile), ipma(c, 4000, func(i int) int64 { return int64(i + 2) })}
		}, manyItems(4000, "av01", nil)...),
		iprp("turns", func(c codedPicture) [][]byte {
			return [][]byte{ipco(c, heif.Box("irot", []byte{1})), ipma(c, 20_000, first)}
		}),
		iprp("count", func(c codedPicture) [][]byte {
			return [][]byte{ipco(c), heif.Full("ipma", 1, 0, encodeNumbers(4, maxUint32, 4, 1), own(c))}
		}),
		iprp("ipma", func(c codedPicture) [][]byte { // 100,000 boxes
			return [][]byte{ipco(c), ipma(c, 0, nil), repeat(100_000, func(int) []byte {
				return heif.Full("ipma", 0, 0, encodeNumbers(4, 1, 2, 1, 1, 1, 1, 1))
			})}
		}),
		iprp("ipco", func(c codedPicture) [][]byte {
			return append(slices.Repeat([][]byte{ipco(c)}, 1000), ipma(c, 0, nil))
		}),
		makeFiles("iprp-twice", func(c codedPicture) []byte {
			return replaceBox(c.file(), "iprp", func(old []byte, _ int) []byte { return bytes.Repeat(old, 5000) })
		}),
		makeFiles("pixi-short", func(c codedPicture) []byte {
			f := c.file()
			f.Items[0].Properties = append(f.Items[0].Properties, heif.Full("pixi", 0, 0, []byte{255}))
			return f.Bytes()
		}),
		sizeFiles(),
	)
}

// sizeFiles returns files that say other sizes than that of the coded picture.
func sizeFiles() []File {
	var files []File
	for _, size := range [][2]int{{60_000, 60_000}, {13_400, 13_400}, {4096, 4096}, {2048, 2048}, {1, 1}, {0, 0},
		{1 << 31, 1}, {65, 1}, {1, 100_000_000}} {
		files = append(files, makeFiles(fmt.Sprintf("ispe-%dx%d", size[0], size[1]), func(c codedPicture) []byte {
			f := c.file()
			f.Items[0] = c.item(1, size[0], size[1])
			return f.Bytes()
		})...)
	}
	return files
}

// repeatedPictureFiles returns files whose item has its coded picture many times.
func repeatedPictureFiles() []File {
	return makeFiles("again", func(c codedPicture) []byte {
		c.content = bytes.Repeat(c.content, 3000)
		return c.file().Bytes()
	})
}

// referenceFiles returns files whose items refer to each other.
func referenceFiles() []File {
	iref := func(name string, body func(c codedPicture) []byte, others ...heif.Item) []File {
		return makeFiles("iref-"+name, func(c codedPicture) []byte {
			return replaceBox(c.file(others...), "iref", func([]byte, int) []byte {
				return heif.Full("iref", 1, 0, body(c))
			})
		})
	}
	same := func(n int, id int64) []byte { return repeat(n, func(int) []byte { return encodeNumbers(4, id) }) }
	one := func(kind string, from int64, n int, to int64) []byte {
		return heif.Box(kind, encodeNumbers(4, from, 2, int64(n)), same(n, to))
	}
	files := slices.Concat(
		iref("dimg", func(codedPicture) []byte { return bytes.Repeat(one("dimg", 1, 65535, 1), 20) }),
		iref("dimg-most", func(codedPicture) []byte {
			parts := repeat(65535, func(i int) []byte { return encodeNumbers(4, int64(i*7)) })
			return bytes.Repeat(heif.Box("dimg", encodeNumbers(4, 1, 2, 65535), parts), 110)
		}),
		iref("cdsc", func(codedPicture) []byte {
			return repeat(200_000, func(i int) []byte { return one("cdsc", int64(i%60_000+2), 1, 1) })
		}, manyItems(60_000, "Exif", nil)...),
		iref("cdsc-one", func(codedPicture) []byte { return bytes.Repeat(one("cdsc", 2, 65535, 3), 20) },
			manyItems(1, "Exif", nil)...),
		iref("count", func(codedPicture) []byte { return heif.Box("dimg", encodeNumbers(4, 1, 2, 65535)) }),
		iref("free", func(codedPicture) []byte { return bytes.Repeat(heif.Box("dimg"), 1_000_000) }),
		iref("auxl", func(codedPicture) []byte { return bytes.Repeat(one("auxl", 1, 65535, 1), 10) }),
		iref("thumbnails", func(codedPicture) []byte {
			return repeat(60_000, func(i int) []byte { return one("thmb", int64(i+2), 1, 1) })
		}, manyItems(60_000, "av01", nil)...),
	)
	// Pictures derived from themselves, or from each other in a circle or a long chain.
	for _, kind := range []string{"grid", "iden", "iovl", "tmap"} {
		content := map[string][]byte{"grid": heif.Grid(1, 1, 96, 64),
			"iovl": append(encodeNumbers(2, 0, 8, 0, 2, 96, 2, 64),
				make([]byte, 4*65535)...), "tmap": make([]byte, 64)}[kind]
		item := func(c codedPicture, id uint32, parts ...uint32) heif.Item {
			return heif.Item{ID: id, Type: kind, Content: content, Parts: parts,
				Properties: append([][]byte{heif.Size(96, 64)}, c.properties[:1]...)}
		}
		files = append(files, slices.Concat(
			makeFiles(kind+"-itself", func(c codedPicture) []byte {
				f := c.file()
				f.Items[0] = item(c, 1, 1)
				return f.Bytes()
			}),
			makeFiles(kind+"-circle", func(c codedPicture) []byte {
				f := c.file(item(c, 2, 3), item(c, 3, 2))
				f.Primary = 2
				return f.Bytes()
			}),
			makeFiles(kind+"-chain", func(c codedPicture) []byte {
				f := c.file()
				for id := range uint32(20_000) {
					f.Items = append(f.Items, item(c, id+2, id+1))
				}
				f.Primary = 20_001
				return f.Bytes()
			}),
			makeFiles(kind+"-doubling", func(c codedPicture) []byte { // each refers to the next one twice
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
			makeFiles(kind+"-parts", func(c codedPicture) []byte {
				f := c.file(item(c, 2, slices.Repeat([]uint32{1}, 65535)...))
				f.Primary = 2
				return f.Bytes()
			}),
		)...)
	}
	return files
}

// boxFiles returns files whose boxes are hostile.
func boxFiles() []File {
	beside := func(name string, box func() []byte) []File { // in the box meta
		return makeFiles("meta-"+name, func(c codedPicture) []byte {
			return replaceBox(c.file(), "idat", func(old []byte, _ int) []byte { return append(old, box()...) })
		})
	}
	before := func(name string, box func() []byte) []File { // before the box meta
		return makeFiles("top-"+name, func(c codedPicture) []byte {
			b := replaceBox(c.file(), "hdlr", func(old []byte, _ int) []byte { return old })
			n := binary.BigEndian.Uint32(b)
			return slices.Concat(b[:n], box(), b[n:])
		})
	}
	nested := func(n int, name string, head []byte) []byte {
		var b []byte
		for k := n; k > 0; k-- {
			b = append(append(append(b, encodeNumbers(4, int64(k*(8+len(head))))...), name...), head...)
		}
		return b
	}
	return slices.Concat(
		beside("free", func() []byte { return bytes.Repeat(heif.Box("free"), 1_000_000) }),
		beside("nested", func() []byte { return nested(100_000, "meta", make([]byte, 4)) }),
		beside("groups", func() []byte {
			return heif.Box("grpl", repeat(100_000, func(i int) []byte {
				return heif.Full("altr", 0, 0, encodeNumbers(4, int64(i), 4, maxUint32))
			}))
		}),
		beside("group", func() []byte {
			return heif.Box("grpl", heif.Full("altr", 0, 0, encodeNumbers(4, 1, 4, 1_000_000), make([]byte, 4_000_000)))
		}),
		beside("metas", func() []byte { return bytes.Repeat(heif.Full("meta", 0, 0), 300_000) }),
		before("free", func() []byte { return bytes.Repeat(heif.Box("free"), 1_000_000) }),
		before("nested", func() []byte { return nested(100_000, "moov", nil) }),
		before("brands", func() []byte { return heif.Box("ftyp", bytes.Repeat([]byte("mif1"), 1<<18)) }),
		before("zero", func() []byte { return []byte("\x00\x00\x00\x00free") }),
		before("large", func() []byte {
			return append([]byte("\x00\x00\x00\x01free"),
				encodeNumbers(8, math.MaxInt64)...)
		}),
		before("largest", func() []byte { return append([]byte("\x00\x00\x00\x01free"), encodeNumbers(8, -1)...) }),
		before("short", func() []byte { return []byte("\x00\x00\x00\x07free") }),
		makeFiles("brands", func(c codedPicture) []byte {
			b := c.file().Bytes()
			n := binary.BigEndian.Uint32(b)
			return slices.Concat(heif.Box("ftyp", b[8:n], bytes.Repeat([]byte("mif1"), 1<<18)), b[n:])
		}),
		makeFiles("metas", func(c codedPicture) []byte {
			b := c.file().Bytes()
			n := binary.BigEndian.Uint32(b)
			m := binary.BigEndian.Uint32(b[n:])
			return slices.Concat(b[:n], bytes.Repeat(b[n:n+m], 2000), b[n+m:])
		}),
		makeFiles("twice", func(c codedPicture) []byte { // each list inside of meta 300 times
			f := c.file()
			f.Change = func(box []byte, _ int) []byte { return bytes.Repeat(box, 300) }
			return f.Bytes()
		}),
	)
}

// newGrid returns a grid of tiles that are all the same picture.
func newGrid(c codedPicture, rows, columns, w, h int) *heif.File {
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

// newPaddedGrid returns a grid of n x n tiles, each of which has padding for a decoder to pass over.
func newPaddedGrid(c codedPicture, n, bytes int) *heif.File {
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
		c.content = slices.Concat(c.content, encodeNumbers(4, int64(bytes+2), 1, filler<<1, 1, 1), padding)
	}
	return newGrid(c, n, n, n*c.w, n*c.h)
}

// gridFiles returns grids, sound and hostile.
func gridFiles() []File {
	var files []File
	for _, n := range [][2]int{{1, 1}, {2, 2}, {10, 10}, {16, 16}, {60, 60}, {120, 120}, {256, 256}, {1, 256},
		{256, 1}} {
		files = append(files, makeFiles(fmt.Sprintf("grid-%dx%d", n[0], n[1]), func(c codedPicture) []byte {
			return newGrid(c, n[0], n[1], n[1]*c.w, n[0]*c.h).Bytes()
		})...)
	}
	return slices.Concat(files, derivedFiles(),
		makeFiles("grid-tiny-tiles", func(c codedPicture) []byte { return newGrid(c, 100, 100, 100, 100).Bytes() }),
		makeFiles("grid-tiny-picture", func(c codedPicture) []byte { // many tiles for few pixels
			return newGrid(c, 255, 255, c.w+1, c.h+1).Bytes()
		}),
		makeFiles("grid-large-picture", func(c codedPicture) []byte {
			return newGrid(c, 2, 2, 13_000,
				13_000).Bytes()
		}),
		makeFiles("grid-same-tile", func(c codedPicture) []byte {
			f := newGrid(c, 1, 1, 100*c.w, 100*c.h)
			f.Items[0].Content = heif.Grid(100, 100, 100*c.w, 100*c.h)
			f.Items[0].Parts = slices.Repeat([]uint32{2}, 10_000)
			return f.Bytes()
		}),
		makeFiles("grid-tile-sizes", func(c codedPicture) []byte { // the tiles say other sizes
			f := newGrid(c, 8, 8, 8*c.w, 8*c.h)
			for i := range f.Items[1:] {
				f.Items[i+1].Properties[0] = heif.Size(c.w+i, c.h+64*i)
			}
			return f.Bytes()
		}),
		makeFiles("grid-tile-huge", func(c codedPicture) []byte { // the first tile says more than all together
			f := newGrid(c, 8, 8, 8*c.w, 8*c.h)
			for i := range f.Items[1:] {
				f.Items[i+1].Properties[0] = heif.Size(8000, 8000)
			}
			return f.Bytes()
		}),
		makeFiles("grid-tile-none", func(c codedPicture) []byte { // the tiles say nothing
			f := newGrid(c, 20, 20, 20*c.w, 20*c.h)
			for i := range f.Items[1:] {
				f.Items[i+1].Properties = f.Items[i+1].Properties[1:]
			}
			return f.Bytes()
		}),
	)
}

// derivedFiles returns files whose picture is made of grids, or has opacity, in hostile ways.
func derivedFiles() []File {
	return slices.Concat(
		makeFiles("grid-of-grids", func(c codedPicture) []byte {
			f := newGrid(c, 16, 16, 16*c.w, 16*c.h)
			f.Primary = 1000
			outer := f.Items[0]
			outer.ID, outer.Content = 1000, heif.Grid(16, 16, 256*c.w, 256*c.h)
			outer.Properties = [][]byte{heif.Size(256*c.w, 256*c.h)}
			outer.Parts = slices.Repeat([]uint32{1}, 256)
			f.Items = append(f.Items, outer)
			return f.Bytes()
		}),
		makeFiles("grid-padded", func(c codedPicture) []byte { return newPaddedGrid(c, 20, 8<<20).Bytes() }),
		makeFiles("grid-padded-many", func(c codedPicture) []byte { return newPaddedGrid(c, 60, 1<<20).Bytes() }),
		makeFiles("grid-parameters", func(c codedPicture) []byte { // a large property, which all tiles share
			f := newGrid(c, 60, 60, 60*c.w, 60*c.h)
			large := heif.Box("colr", []byte("nclx\x00\x01\x00\x0d\x00\x06\x80"), make([]byte, 60<<10))
			for i := range f.Items[1:] {
				f.Items[i+1].Properties = append(f.Items[i+1].Properties, large)
			}
			return f.Bytes()
		}),
		makeFiles("alpha-grid", func(c codedPicture) []byte { // the alpha of a small picture is a large grid
			f := newGrid(c, 100, 100, 100*c.w, 100*c.h)
			f.Primary = 60_000
			f.Items[0].Properties = append(f.Items[0].Properties, alphaProperty())
			f.Items[0].References = []heif.Reference{{Type: "auxl", To: []uint32{60_000}}}
			f.Items = append(f.Items, c.item(60_000, c.w, c.h))
			return f.Bytes()
		}),
		makeFiles("alpha-many", func(c codedPicture) []byte {
			f := c.file()
			for id := range uint32(5000) {
				it := c.item(id+2, c.w, c.h)
				it.Properties = append(it.Properties, alphaProperty())
				it.References = []heif.Reference{{Type: "auxl", To: []uint32{1}}}
				f.Items = append(f.Items, it)
			}
			return f.Bytes()
		}),
		makeFiles("alpha-itself", func(c codedPicture) []byte {
			f := c.file()
			f.Items[0].Properties = append(f.Items[0].Properties, alphaProperty())
			f.Items[0].References = []heif.Reference{{Type: "auxl", To: []uint32{1}}}
			return f.Bytes()
		}),
	)
}

// alphaProperty returns the property that makes a picture the opacity of another.
func alphaProperty() []byte {
	return heif.Full("auxC", 0, 0, []byte("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\x00"))
}
