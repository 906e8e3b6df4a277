package bombs

import (
	"encoding/binary"
	"slices"

	"github.com/kindred-ml/kindred/internal/test/heif"
	"github.com/kindred-ml/kindred/internal/test/hostile"
)

// boxHeaderBytes says after how many bytes the boxes of a box begin, for boxes that hold others.
var boxHeaderBytes = map[string]int{"meta": 4, "iinf": 8, "iref": 4, "iprp": 0, "ipco": 0, "moov": 0, "trak": 0,
	"mdia": 0,
	"minf": 0, "stbl": 0, "stsd": 8, "av01": 78}

// parseBoxes returns a file of boxes as parts.
func parseBoxes(b []byte) *hostile.Part {
	root := &hostile.Part{}
	for len(b) >= 8 {
		n := min(int(binary.BigEndian.Uint32(b)), len(b))
		p := &hostile.Part{Name: heif.Name(b), Data: slices.Clone(b[8:n])}
		at, ok := boxHeaderBytes[p.Name]
		if p.Name == "iinf" && p.Data[0] == 0 { // a count of two bytes
			at = 6
		}
		if ok && at <= len(p.Data) {
			p.Parts, p.Data = parseBoxes(p.Data[at:]).Parts, p.Data[:at]
		}
		p.Numbers = numberFields(p)
		root.Parts = append(root.Parts, p)
		b = b[n:]
	}
	return root
}

// numberFields returns the places of the numbers in a box, or none for one in which any bytes are numbers.
func numberFields(p *hostile.Part) []hostile.Number {
	every := func(from, size int) (out []hostile.Number) {
		for at := from; at+size <= len(p.Data); at += size {
			out = append(out, hostile.Number{At: at, Size: size})
		}
		return out
	}
	switch p.Name {
	case "ispe", "clap", "stsz", "stco", "stsc", "stts", "dimg", "auxl", "cdsc":
		return every(0, 4)
	case "pixi", "irot", "imir", "ipma", "idat":
		return every(0, 1)
	case "iinf", "pitm", "infe":
		return append(every(0, 2), every(0, 4)...)
	case "iloc":
		return append(every(4, 2), hostile.Number{At: 0, Size: 1}, hostile.Number{At: 4, Size: 1})
	}
	return nil
}

// writeBoxes writes a tree as a file of boxes. A part without a name has no head.
func writeBoxes(p *hostile.Part) []byte {
	b := slices.Clone(p.Data)
	if p.Name != "" {
		b = slices.Concat(make([]byte, 4), []byte(p.Name), b)
	}
	for _, q := range p.Parts {
		b = append(b, writeBoxes(q)...)
	}
	if p.Name != "" {
		binary.BigEndian.PutUint32(b, uint32(int64(len(b))+p.Lie))
	}
	return b
}

// Format returns a format for package bounded, without its reader: AVIF, HEIC, or that of codestreams.
func Format(name string) *hostile.Format {
	f := &hostile.Format{Name: name, Order: binary.BigEndian, Write: writeBoxes}
	switch name {
	case "AVIF":
		f.Valid = append(validFiles(newAVIF()), parseBoxes(soundFilm()))
	case "HEIC":
		f.Valid = validFiles(newHEIC())
	default:
		f.Valid = codestreamFiles()
	}
	return f
}

// exifBlock returns a block of EXIF with an orientation.
func exifBlock() []byte {
	return []byte("II*\x00\x08\x00\x00\x00\x01\x00" + "\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00" +
		"\x00\x00\x00\x00")
}

// validFiles returns sound files of a picture: alone, in a grid, with opacity, turned, with EXIF, and with numbers of
// items of two bytes. The data stand before the lists, so that lists of other lengths do not move them.
func validFiles(c codedPicture) []*hostile.Part {
	alone, grid, alpha, turned, narrow := c.file(), newGrid(c, 2, 2, 2*c.w-1, 2*c.h), c.file(), c.file(), c.file()
	it := c.item(2, c.w, c.h)
	it.Properties = append(it.Properties, alphaProperty())
	it.References = []heif.Reference{{Type: "auxl", To: []uint32{1}}}
	alpha.Items = append(alpha.Items, it)
	turned.Items[0].Properties = append(turned.Items[0].Properties, heif.Clap(c.w-4, c.h-4, 0, 0),
		heif.Box("irot", []byte{1}), heif.Box("imir", []byte{1}))
	turned.Items = append(turned.Items, heif.Item{ID: 3, Type: "Exif", Content: append(make([]byte, 4), exifBlock()...),
		Describes: 1})
	narrow.Wide = false
	narrow.Items[0].Inside = true
	var parts []*hostile.Part
	for _, f := range []*heif.File{alone, grid, alpha, turned, narrow} {
		f.DataFirst = true
		parts = append(parts, parseBoxes(f.Bytes()))
	}
	return parts
}

// soundFilm is a film of a frame.
func soundFilm() []byte {
	return newFilm(1, func(data int) []byte {
		return slices.Concat(heif.Full("stts", 0, 0, encodeNumbers(4, 1, 4, 1, 4, 1)),
			heif.Full("stsc", 0, 0, encodeNumbers(4, 1, 4, 1, 4, 1, 4, 1)),
			heif.Full("stsz", 0, 0, encodeNumbers(4, 0, 4, 1, 4, int64(len(newAVIF().content)))),
			heif.Full("stco", 0, 0, encodeNumbers(4, 1, 4, int64(data))))
	})
}
