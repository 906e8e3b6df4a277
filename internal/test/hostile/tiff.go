package hostile

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
)

// Order is an order of bytes.
type Order interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// blockName is the name of a part that is a strip or tile.
const blockName = "block"

// tiffSizes are the bytes of the types of values.
var tiffSizes = []int{1, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8}

// TIFF makes a format of TIFF files of a byte order, of those among files. Its parts are tags and blocks. The data of
// a tag are its type and its values. The lists of blocks have the numbers of blocks in place of offsets and lengths.
func TIFF(order Order, files ...[]byte) *Format {
	f := &Format{Name: "TIFF " + order.String(), Order: order, Write: func(root *Part) []byte {
		return writeTIFF(order, root)
	}}
	magic := string(order.AppendUint16(nil, 42))
	for _, b := range files {
		if string(b[2:4]) == magic {
			f.Valid = append(f.Valid, parseTIFF(order, b))
		}
	}
	return f
}

func isBlockOffset(tag uint16) bool { return tag == 273 || tag == 324 }

func isBlockLength(tag uint16) bool { return tag == 279 || tag == 325 }

func parseTIFF(order Order, b []byte) *Part {
	root := &Part{}
	at := int(order.Uint32(b[4:]))
	n := int(order.Uint16(b[at:]))
	places := [2][]int{} // offsets, lengths
	for e := range slices.Chunk(b[at+2:][:12*n], 12) {
		tag, kind, count := order.Uint16(e), order.Uint16(e[2:]), int(order.Uint32(e[4:]))
		size := tiffSizes[kind]
		values := e[8:]
		if size*count > 4 {
			values = b[order.Uint32(e[8:]):]
		}
		values = values[:size*count]
		if isBlockOffset(tag) || isBlockLength(tag) {
			numbers := []byte{}
			for i, v := range slices.Collect(slices.Chunk(values, size)) {
				number := int(order.Uint16(append(slices.Clone(v), 0, 0)))
				if size == 4 {
					number = int(order.Uint32(v))
				}
				which := 0
				if isBlockLength(tag) {
					which = 1
				}
				places[which] = append(places[which], number)
				numbers = order.AppendUint32(numbers, uint32(i))
			}
			kind, size, values = 4, 4, numbers
		}
		p := &Part{Name: strconv.Itoa(int(tag)), Numbers: []Number{{At: 0, Size: 2}}}
		p.Data = append(order.AppendUint16(nil, kind), values...)
		for i := 0; (i+1)*size <= len(values) && i < 8; i++ {
			p.Numbers = append(p.Numbers, Number{At: 2 + i*size, Size: size})
		}
		root.Parts = append(root.Parts, p)
	}
	for i, offset := range places[0] {
		root.Parts = append(root.Parts, &Part{Name: blockName, Data: b[offset:][:places[1][i]]})
	}
	return root
}

// flatten lists the tags and blocks of a tree. A tag in a tag is one behind it.
func flatten(p *Part, out []*Part) []*Part {
	for _, q := range p.Parts {
		out = flatten(q, append(out, q))
	}
	return out
}

func writeTIFF(order Order, root *Part) []byte {
	mark := "II"
	if order.String() == binary.BigEndian.String() {
		mark = "MM"
	}
	out := append(order.AppendUint16([]byte(mark), 42), 0, 0, 0, 0)
	var tags []*Part
	var offsets, lengths []uint32
	for _, p := range flatten(root, nil) {
		if p.Name != blockName {
			tags = append(tags, p)
			continue
		}
		offsets, lengths = append(offsets, uint32(len(out))), append(lengths, uint32(int64(len(p.Data))+p.Lie))
		out = append(out, p.Data...)
	}
	var table []byte
	for _, p := range tags {
		number, _ := strconv.Atoi(p.Name)
		tag, kind := uint16(number), order.Uint16(append(slices.Clone(p.Data[:min(2, len(p.Data))]), 0, 0))
		values := bytes.Clone(p.Data[min(2, len(p.Data)):])
		if (isBlockOffset(tag) || isBlockLength(tag)) && kind == 4 {
			of := offsets
			if isBlockLength(tag) {
				of = lengths
			}
			for b := values; len(b) >= 4; b = b[4:] {
				if v := order.Uint32(b); int(v) < len(of) {
					order.PutUint32(b, of[v])
				}
			}
		}
		size := 1
		if int(kind) < len(tiffSizes) {
			size = tiffSizes[kind]
		}
		table = order.AppendUint16(order.AppendUint16(table, tag), kind)
		table = order.AppendUint32(table, uint32(int64(len(values)/size)+p.Lie))
		if len(values) <= 4 {
			table = append(append(table, values...), make([]byte, 4-len(values))...)
		} else {
			table = order.AppendUint32(table, uint32(len(out)))
			out = append(out, values...)
		}
	}
	order.PutUint32(out[4:], uint32(int64(len(out))+root.Lie))
	return append(append(order.AppendUint16(out, uint16(len(tags))), table...), 0, 0, 0, 0)
}
