package hostile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
)

// Names of parts that have no length or name in the file.
const (
	rawName  = "raw"  // bytes as they are
	listName = "list" // bytes, and then blocks of up to 255 bytes, up to an empty one (GIF)
)

// JPEG makes a format of JPEG files. Its parts are segments, whose names are their markers in
// hexadecimal, and the data of scans.
func JPEG(files ...[]byte) *Format {
	f := &Format{Name: "JPEG", Order: binary.BigEndian, Write: func(root *Part) []byte {
		return write(root, func(p *Part, content []byte) []byte {
			marker, _ := strconv.ParseUint(p.Name, 16, 8)
			out := binary.BigEndian.AppendUint16([]byte{0xff, byte(marker)}, uint16(int64(len(content)+2)+p.Lie))
			return append(out, content...)
		})
	}}
	for _, b := range files {
		root := &Part{Parts: []*Part{{Name: rawName, Data: b[:2]}}}
		for b = b[2:]; len(b) > 4 && b[0] == 0xff && b[1] != 0xd9; {
			n := 2 + int(binary.BigEndian.Uint16(b[2:]))
			p := &Part{Name: fmt.Sprintf("%02x", b[1]), Data: b[4:n]}
			if 0xc0 <= b[1] && b[1] <= 0xcf && b[1] != 0xc4 { // a frame: its sides, and the sampling of a colour
				p.Numbers = []Number{{1, 2}, {3, 2}, {5, 1}, {7, 1}, {1, 2}, {3, 2}}
			}
			root.Parts = append(root.Parts, p)
			scan := b[1] == 0xda
			b = b[n:]
			for n = 0; scan && n+1 < len(b) && (b[n] != 0xff || b[n+1] == 0 || b[n+1]&0xf8 == 0xd0); n++ {
			}
			if scan {
				root.Parts = append(root.Parts, &Part{Name: rawName, Data: b[:n]})
				b = b[n:]
			}
		}
		root.Parts = append(root.Parts, &Part{Name: rawName, Data: b})
		f.Valid = append(f.Valid, root)
	}
	return f
}

// PNG makes a format of PNG files, whose parts are chunks.
func PNG(files ...[]byte) *Format {
	f := &Format{Name: "PNG", Order: binary.BigEndian, Write: func(root *Part) []byte {
		return write(root, func(p *Part, content []byte) []byte {
			out := binary.BigEndian.AppendUint32(nil, uint32(int64(len(content))+p.Lie))
			out = append(append(out, (p.Name + "    ")[:4]...), content...)
			return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
		})
	}}
	for _, b := range files {
		root := &Part{Parts: []*Part{{Name: rawName, Data: b[:8]}}}
		for b = b[8:]; len(b) >= 12; {
			n := 8 + int(binary.BigEndian.Uint32(b))
			p := &Part{Name: string(b[4:8]), Data: b[8:n]}
			if p.Name == "IHDR" {
				p.Numbers = []Number{{0, 4}, {4, 4}, {8, 1}, {9, 1}, {12, 1}}
			}
			root.Parts = append(root.Parts, p)
			b = b[n+4:]
		}
		f.Valid = append(f.Valid, root)
	}
	return f
}

// WebP makes a format of WebP files, whose parts are chunks. A frame of an animation has chunks in
// it.
func WebP(files ...[]byte) *Format {
	f := &Format{Name: "WebP", Order: binary.LittleEndian, Write: func(root *Part) []byte {
		return write(root, func(p *Part, content []byte) []byte {
			out := append([]byte(nil), (p.Name + "    ")[:4]...)
			out = binary.LittleEndian.AppendUint32(out, uint32(int64(len(content))+p.Lie))
			out = append(out, content...)
			return append(out, make([]byte, len(content)%2)...)
		})
	}}
	var chunks func(b []byte) []*Part
	chunks = func(b []byte) (parts []*Part) {
		for len(b) >= 8 {
			n := 8 + int(binary.LittleEndian.Uint32(b[4:]))
			p := &Part{Name: string(b[:4]), Data: b[8:n]}
			switch p.Name {
			case "ANMF":
				p.Data, p.Parts = p.Data[:16], chunks(p.Data[16:])
			case "RIFF":
				p.Data, p.Parts = p.Data[:4], chunks(p.Data[4:])
			}
			parts = append(parts, p)
			b = b[min(len(b), n+n%2):]
		}
		return parts
	}
	for _, b := range files {
		f.Valid = append(f.Valid, &Part{Parts: chunks(b)})
	}
	return f
}

// GIF makes a format of GIF files. Its parts are the header, extensions and pictures, in which are
// blocks.
func GIF(files ...[]byte) *Format {
	f := &Format{Name: "GIF", Order: binary.LittleEndian, Write: func(root *Part) []byte {
		return write(root, func(p *Part, content []byte) []byte {
			if p.Name == listName {
				return append(content, 0)
			}
			return append([]byte{byte(int64(len(content)) + p.Lie)}, content[:min(len(content), 255)]...)
		})
	}}
	table := func(flags byte) int {
		if flags&0x80 == 0 {
			return 0
		}
		return 3 << (flags&7 + 1)
	}
	for _, b := range files {
		head := 13 + table(b[10])
		root := &Part{Parts: []*Part{{Name: rawName, Data: b[:head], Numbers: []Number{{6, 2}, {8, 2}, {10, 1}}}}}
		for b = b[head:]; len(b) > 1 && b[0] != 0x3b; {
			p := &Part{Name: listName, Data: b[:2]}
			if b[0] == 0x2c {
				p.Data, p.Numbers = b[:10+table(b[9])+1], []Number{{1, 2}, {3, 2}, {5, 2}, {7, 2}, {9, 1}}
			}
			for b = b[len(p.Data):]; b[0] != 0; b = b[1+int(b[0]):] {
				p.Parts = append(p.Parts, &Part{Name: "block", Data: b[1 : 1+int(b[0])]})
			}
			b = b[1:]
			root.Parts = append(root.Parts, p)
		}
		root.Parts = append(root.Parts, &Part{Name: rawName, Data: b})
		f.Valid = append(f.Valid, root)
	}
	return f
}

// BMP makes a format of BMP files, whose parts are the header and the rest.
func BMP(files ...[]byte) *Format {
	f := &Format{Name: "BMP", Order: binary.LittleEndian, Write: func(root *Part) []byte {
		return write(root, func(_ *Part, content []byte) []byte { return content })
	}}
	numbers := []Number{{10, 4}, {14, 4}, {18, 4}, {22, 4}, {26, 2}, {28, 2}, {30, 4}, {46, 4}}
	for _, b := range files {
		f.Valid = append(f.Valid, &Part{Parts: []*Part{
			{Name: rawName, Data: b[:54], Numbers: numbers}, {Name: rawName, Data: b[54:]},
		}})
	}
	return f
}

// PNM makes a format of PNM files. Its parts are the words of the header, each with the blank after it, and the
// raster.
func PNM(files ...[]byte) *Format {
	f := &Format{Name: "PNM", Order: binary.BigEndian, Write: func(root *Part) []byte {
		return write(root, func(_ *Part, content []byte) []byte { return content })
	}}
	for _, b := range files {
		root, words := &Part{}, 4
		if b[1] == '1' || b[1] == '4' { // of bits: without a largest value
			words = 3
		}
		for range words {
			n := 1 + strings.IndexAny(string(b), " \n")
			root.Parts = append(root.Parts, &Part{Name: rawName, Data: b[:n], Numbers: []Number{{n - 2, 1}}})
			b = b[n:]
		}
		root.Parts = append(root.Parts, &Part{Name: rawName, Data: b})
		f.Valid = append(f.Valid, root)
	}
	return f
}

// write writes the parts in root one behind another. around puts a part's name and length around
// its content.
func write(root *Part, around func(p *Part, content []byte) []byte) []byte {
	var out []byte
	for _, p := range root.Parts {
		content := append(slices.Clone(p.Data), write(p, around)...)
		if !strings.HasPrefix(p.Name, rawName) {
			content = around(p, content)
		}
		out = append(out, content...)
	}
	return out
}
