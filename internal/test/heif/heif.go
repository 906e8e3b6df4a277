// Package heif writes HEIF files for tests, from pictures that an encoder made.
package heif

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Item is an item of a file.
type Item struct {
	ID      uint32
	Type    string
	Hidden  bool
	Content []byte
	// Inside puts the content into the box idat.
	Inside bool
	// Properties are whole boxes.
	Properties [][]byte
	// Parts are the references dimg, and Describes is the reference cdsc, or 0.
	Parts     []uint32
	Describes uint32
	// References are references of other types.
	References []Reference
}

// Reference is a box of the box iref: items that an item refers to.
type Reference struct {
	Type string
	To   []uint32
}

// File is a file to be written.
type File struct {
	Brand   string
	Primary uint32
	Items   []Item
	// Wide writes numbers of items in four bytes, and indexes of properties in two.
	Wide bool
	// Shared writes equal properties once, and contents once that are the same slice.
	Shared bool
	// DataFirst writes the box mdat before the box meta.
	DataFirst bool
	// Change, if set, gets each box inside the box meta, and the place in the file where the data begin. What it
	// returns is written instead. Its length must not depend on the place.
	Change func(box []byte, data int) []byte
}

// Box returns a box.
func Box(name string, content ...[]byte) []byte {
	body := slices.Concat(content...)
	return slices.Concat(u32(uint32(8+len(body))), []byte(name), body)
}

// Full returns a box with a version and flags.
func Full(name string, version byte, flags byte, content ...[]byte) []byte {
	return Box(name, append([][]byte{{version, 0, 0, flags}}, content...)...)
}

func u32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }
func u16(v int) []byte    { return binary.BigEndian.AppendUint16(nil, uint16(v)) }

// Size returns the property ispe.
func Size(w, h int) []byte { return Full("ispe", 0, 0, u32(uint32(w)), u32(uint32(h))) }

// Grid returns the content of an item of type grid. Sides of more than 65,535 pixels have four bytes.
func Grid(rows, columns, w, h int) []byte {
	if max(w, h) > 0xffff {
		return slices.Concat([]byte{0, 1, byte(rows - 1), byte(columns - 1)}, u32(uint32(w)), u32(uint32(h)))
	}
	return slices.Concat([]byte{0, 0, byte(rows - 1), byte(columns - 1)}, u16(w), u16(h))
}

// Clap returns the property clap: a crop of w x h pixels whose middle is x, y off the picture's.
func Clap(w, h, x, y int) []byte {
	var b []byte
	for _, v := range []int{w, h, x, y} {
		b = append(append(b, u32(uint32(v))...), u32(1)...)
	}
	return Box("clap", b)
}

// Bytes returns the file.
func (f *File) Bytes() []byte {
	id := func(v uint32) []byte {
		if f.Wide {
			return u32(v)
		}
		return u16(int(v))
	}
	version := byte(0)
	if f.Wide {
		version = 1
	}
	var infe, refs, properties, of []byte
	count := 0
	index := make(map[string]int) // of shared properties
	for _, it := range f.Items {
		hidden := byte(0)
		if it.Hidden {
			hidden = 1
		}
		infe = append(infe, Full("infe", 2+version, hidden, id(it.ID), u16(0), []byte(it.Type), []byte{0})...)
		for _, r := range append([]Reference{{"dimg", it.Parts}, {"cdsc", itemIDs(it.Describes)}}, it.References...) {
			if len(r.To) > 0 {
				b := append(id(it.ID), u16(len(r.To))...)
				for _, v := range r.To {
					b = append(b, id(v)...)
				}
				refs = append(refs, Box(r.Type, b)...)
			}
		}
		of = append(append(of, id(it.ID)...), byte(len(it.Properties)))
		for _, p := range it.Properties {
			at := index[string(p)]
			if at == 0 {
				properties = append(properties, p...)
				count++
				at = count
			}
			if f.Shared {
				index[string(p)] = at
			}
			switch essential := isEssential(Name(p)); {
			case f.Wide && essential:
				of = append(of, u16(at|1<<15)...)
			case f.Wide:
				of = append(of, u16(at)...)
			case essential:
				of = append(of, byte(at|1<<7))
			default:
				of = append(of, byte(at))
			}
		}
	}
	mdat, inside, places := f.contents()
	head := Box("ftyp", []byte(f.Brand), u32(0), []byte("mif1"+f.Brand))
	// The places are known once the length of the boxes before the data is, which they do not change.
	for data := len(head) + 8; ; {
		boxes := [][]byte{Full("hdlr", 0, 0, u32(0), []byte("pict"), make([]byte, 13)),
			Full("pitm", version, 0, id(f.Primary)), f.locations(places, data),
			Full("iinf", version, 0, id(uint32(len(f.Items))), infe),
			Full("iref", version, 0, refs),
			Box("iprp", Box("ipco", properties), Full("ipma", version, version, u32(uint32(len(f.Items))), of)),
			Box("idat", inside)}
		if f.Change != nil {
			for i, b := range boxes {
				boxes[i] = f.Change(b, data)
			}
		}
		meta := Full("meta", 0, 0, boxes...)
		if f.DataFirst {
			return slices.Concat(head, Box("mdat", mdat), meta)
		}
		if n := len(head) + len(meta) + 8; n != data {
			data = n
			continue
		}
		return slices.Concat(head, meta, Box("mdat", mdat))
	}
}

// isEssential reports whether a reader must know a property: what the decoder needs, and what changes the picture.
func isEssential(name string) bool {
	return slices.Contains([]string{"av1C", "hvcC", "clap", "irot", "imir"}, name)
}

func itemIDs(id uint32) []uint32 {
	if id == 0 {
		return nil
	}
	return []uint32{id}
}

// contents returns the contents of the boxes mdat and idat, and where in them each item's content is.
func (f *File) contents() (mdat, inside []byte, places []int) {
	type slice struct {
		first  *byte
		n      int
		inside bool
	}
	known := make(map[slice]int)
	places = make([]int, len(f.Items))
	for i, it := range f.Items {
		to := &mdat
		if it.Inside {
			to = &inside
		}
		key := slice{n: len(it.Content), inside: it.Inside}
		if key.n > 0 {
			key.first = &it.Content[0]
		}
		at, ok := known[key]
		if !ok || !f.Shared {
			at = len(*to)
			known[key] = at
			*to = append(*to, it.Content...)
		}
		places[i] = at
	}
	return mdat, inside, places
}

// locations returns the box iloc for data that begin at a place of the file.
func (f *File) locations(places []int, data int) []byte {
	version := byte(1)
	id := func(v uint32) []byte { return u16(int(v)) }
	if f.Wide {
		version, id = 2, u32
	}
	b := slices.Concat([]byte{0x44, 0}, id(uint32(len(f.Items))))
	for i, it := range f.Items {
		at, method := places[i]+data, 0
		if it.Inside {
			at, method = places[i], 1
		}
		for _, field := range [][]byte{id(it.ID), u16(method), u16(0), u16(1), u32(uint32(at)),
			u32(uint32(len(it.Content)))} {
			b = append(b, field...)
		}
	}
	return Full("iloc", version, 0, b)
}

// Name returns the name of a box.
func Name(box []byte) string { return string(box[4:8]) }

// Property returns a box of a name in a file that holds one, wherever it is.
func Property(tb testing.TB, file []byte, name string) []byte {
	tb.Helper()
	at := bytes.Index(file, []byte(name))
	if at < 4 {
		tb.Fatalf("no box %s", name)
	}
	return file[at-4 : at-4+int(binary.BigEndian.Uint32(file[at-4:]))]
}

// Data returns the content of the box mdat, which is the last.
func Data(tb testing.TB, file []byte) []byte {
	tb.Helper()
	at := bytes.LastIndex(file, []byte("mdat"))
	if at < 0 {
		tb.Fatal("no box mdat")
	}
	return file[at+4:]
}

// Decoder makes the decoder for HEIC in $KINDRED_HEIC, a folder, that of the test. Without one it skips the test.
// 'make test' sets the variable.
func Decoder(t testing.TB) {
	t.Helper()
	dir := os.Getenv("KINDRED_HEIC")
	if dir == "" {
		t.Skip("no decoder for HEIC: set $KINDRED_HEIC to its folder, as make test does")
	}
	if _, err := os.Stat(filepath.Join(dir, "heif.wasm")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KINDRED_DECODERS", dir)
}
