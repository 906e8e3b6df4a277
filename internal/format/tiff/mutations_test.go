package tiff

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	stdjpeg "image/jpeg"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/kindred-ml/kindred/test/bounded"
)

// A tree of a TIFF file is the start of the file, "II*", which has the tags and then the blocks. A
// tag's data are its type and its values; the lists of blocks have the numbers of blocks in place
// of their offsets and lengths.

// blockName is the name of a part that is a block.
const blockName = "block"

// tagPart makes a tag.
func tagPart(order binary.ByteOrder, tag, kind uint16, values []byte) *bounded.Part {
	p := &bounded.Part{Name: strconv.Itoa(int(tag)), Numbers: []bounded.Number{{At: 0, Size: 2}}}
	p.Data = append(append(p.Data, 0, 0), values...)
	order.PutUint16(p.Data, kind)
	size := max(1, int(sizes[kind]))
	for at := 0; at+size <= len(values) && at < 8*size; at += size {
		p.Numbers = append(p.Numbers, bounded.Number{At: 2 + at, Size: size})
	}
	return p
}

// numbersPart makes a tag of 32-bit numbers.
func numbersPart(order appender, tag uint16, values ...int) *bounded.Part {
	var b []byte
	for _, v := range values {
		b = order.AppendUint32(b, uint32(v))
	}
	return tagPart(order, tag, typeLong, b)
}

type appender interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// parse makes a tree of a file.
func parse(t testing.TB, b []byte) *bounded.Part {
	f, err := Open(b)
	if err != nil {
		t.Fatal(err)
	}
	order := f.order.(appender)
	root := &bounded.Part{Name: string(b[:4])}
	n := f.rows * f.cols
	if f.planes {
		n *= f.samples
	}
	var blocks []int
	for i := range n {
		data, err := f.data(i)
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, i)
		root.Parts = append(root.Parts, &bounded.Part{Name: blockName, Data: data})
	}
	for tag := range uint16(1 << 10) {
		field, ok := f.tags[tag]
		switch {
		case !ok:
		case isList(tag):
			root.Parts = append(root.Parts, numbersPart(order, tag, blocks...))
		default:
			root.Parts = append(root.Parts, tagPart(order, tag, field.kind, field.data))
		}
	}
	return root
}

func numbersParts(order appender, values map[uint16]int) (parts []*bounded.Part) {
	for tag := range uint16(1 << 10) {
		if v, ok := values[tag]; ok {
			parts = append(parts, numbersPart(order, tag, v))
		}
	}
	return parts
}

func isList(tag uint16) bool {
	return tag == tagStripOffsets || tag == tagStripBytes || tag == tagTileOffsets || tag == tagTileBytes
}

// write makes a file of a tree.
func write(order appender) func(*bounded.Part) []byte {
	return func(root *bounded.Part) []byte {
		big := root.Name[2] == '+' || root.Name[3] == '+'
		word := func(b []byte, v int64) []byte {
			if big {
				return order.AppendUint64(b, uint64(v))
			}
			return order.AppendUint32(b, uint32(v))
		}
		inline := len(word(nil, 0))
		out := []byte(root.Name)
		if big {
			out = order.AppendUint16(order.AppendUint16(out, 8), 0)
		}
		first := len(out)
		out = word(out, 0)
		var tags []*bounded.Part
		var offsets, lengths []int64
		for _, p := range flat(root, nil) {
			if p.Name == blockName {
				offsets, lengths = append(offsets, int64(len(out))), append(lengths, int64(len(p.Data))+p.Lie)
				out = append(out, p.Data...)
			} else {
				tags = append(tags, p)
			}
		}
		var table []byte
		for _, p := range tags {
			tag, _ := strconv.Atoi(p.Name)
			data := append(p.Data[:min(2, len(p.Data)):min(2, len(p.Data))], 0, 0)
			kind, values := order.Uint16(data), bytes.Clone(p.Data[min(2, len(p.Data)):])
			if isList(uint16(tag)) && kind == typeLong {
				of := offsets
				if tag == tagStripBytes || tag == tagTileBytes {
					of = lengths
				}
				for b := values; len(b) >= 4; b = b[4:] {
					if v := order.Uint32(b); int(v) < len(of) {
						order.PutUint32(b, uint32(of[v]))
					}
				}
			}
			size := 1
			if int(kind) < len(sizes) {
				size = max(1, int(sizes[kind]))
			}
			table = order.AppendUint16(order.AppendUint16(table, uint16(tag)), kind)
			table = word(table, int64(len(values)/size)+p.Lie)
			if len(values) <= inline {
				table = append(append(table, values...), make([]byte, inline-len(values))...)
			} else {
				table = word(table, int64(len(out)))
				out = append(out, values...)
			}
		}
		copy(out[first:], word(nil, int64(len(out))+root.Lie))
		if big {
			out = order.AppendUint64(out, uint64(len(tags)))
		} else {
			out = order.AppendUint16(out, uint16(len(tags)))
		}
		return word(append(out, table...), 0)
	}
}

// flat lists the tags and blocks of a tree. A tag in a tag is one behind it.
func flat(p *bounded.Part, out []*bounded.Part) []*bounded.Part {
	for _, q := range p.Parts {
		out = flat(q, append(out, q))
	}
	return out
}

// formats are the two byte orders, with the files of testdata and some that libtiff does not write.
func formats(t testing.TB) []*bounded.Format {
	names, err := filepath.Glob(filepath.Join("testdata", "*.tif"))
	if err != nil || len(names) == 0 {
		t.Fatal(err)
	}
	little := &bounded.Format{Name: "TIFF", Order: binary.LittleEndian, Write: write(binary.LittleEndian)}
	large := &bounded.Format{Name: "big-endian TIFF", Order: binary.BigEndian, Write: write(binary.BigEndian)}
	for _, name := range names {
		b := load(t, filepath.Base(name))
		if _, err := Open(b); err != nil {
			continue // kinds that are not read
		}
		if b[0] == 'I' {
			little.Valid = append(little.Valid, parse(t, b))
		} else {
			large.Valid = append(large.Valid, parse(t, b))
		}
	}
	var grey bytes.Buffer
	if err := stdjpeg.Encode(&grey, image.NewGray(image.Rect(0, 0, 40, 8)), nil); err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	strips := numbersParts(le, map[uint16]int{tagWidth: 40, tagHeight: 20, tagBits: 8, tagCompression: compressJPEG,
		tagPhotometric: blackIsZero, tagRowsPerStrip: 8})
	strips = append(strips, numbersPart(le, tagStripOffsets, 0, 0, 0), numbersPart(le, tagStripBytes, 0, 0, 0),
		&bounded.Part{Name: blockName, Data: grey.Bytes()})
	wide := numbersParts(le, map[uint16]int{tagWidth: 5, tagHeight: 4, tagBits: 8, tagCompression: compressPackBits,
		tagPhotometric: rgb, tagSamples: 64, tagPredictor: 1, tagFillOrder: 2, tagStripOffsets: 0, tagStripBytes: 0})
	wide = append(wide, &bounded.Part{Name: blockName, Data: bytes.Repeat([]byte{0x81, 7}, 12)})
	little.Valid = append(little.Valid, &bounded.Part{Name: "II*\x00", Parts: strips},
		&bounded.Part{Name: "II+\x00", Parts: wide})
	for _, f := range []*bounded.Format{little, large} {
		f.Read = readBounded
	}
	return []*bounded.Format{little, large}
}

// readBounded decodes a file. Its work are the bytes that blocks are read from and unpacked to.
func readBounded(b []byte) (bounded.Cost, error) {
	f, err := Open(b)
	if err != nil {
		return bounded.Cost{}, err
	}
	if f.memory > 32<<20 {
		return bounded.Cost{}, fmt.Errorf("%d bytes of memory", f.memory)
	}
	d := decoder{File: f, ctx: context.Background()}
	defer d.close()
	im, err := d.decode()
	if err == nil && im.Bounds() != image.Rect(0, 0, f.w, f.h) {
		panic(fmt.Sprintf("%v of %d x %d", im.Bounds(), f.w, f.h))
	}
	pixels, length := int64(f.w)*int64(f.h), int64(len(b))
	unpacked := slack + 32*pixels + 16*length
	if d.work.unpacked > unpacked || d.work.passes.Samples > 40*64*unpacked {
		panic(fmt.Sprintf("%d bytes unpacked of %d x %d pixels, %d samples in scans", d.work.unpacked, f.w, f.h,
			d.work.passes.Samples))
	}
	return bounded.Cost{Memory: f.Memory(), Work: d.work.read, MostWork: length + 2*d.fullSize()}, err
}

// fullSize is the number of bytes of all blocks.
func (f *File) fullSize() int64 {
	return int64(f.cols) * int64(f.rows) * int64(f.numPlanes) * int64(f.blockSize(0))
}

func TestMutations(t *testing.T) {
	for _, f := range formats(t) {
		t.Run(f.Name, func(t *testing.T) { bounded.Try(t, f) })
	}
}

func FuzzStructure(f *testing.F) { bounded.Fuzz(f, formats(f)[0]) }
