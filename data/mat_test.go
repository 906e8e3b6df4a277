package data

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
)

// What follows writes MATLAB 5 files for the tests of Cars-196.

func matElement(kind uint32, data []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = append(b, data...)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

func matInts(v ...int32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return b
}

func matArray(class int32, name string, cols int, body []byte) []byte {
	b := matElement(6, matInts(class, 0))
	b = append(b, matElement(5, matInts(1, int32(cols)))...)
	b = append(b, matElement(1, []byte(name))...)
	return matElement(14, append(b, body...))
}

func matText(name, s string) []byte { return matArray(4, name, len(s), matElement(16, []byte(s))) }

func matNumber(v uint16) []byte {
	return matArray(11, "", 1, matElement(4, binary.LittleEndian.AppendUint16(nil, v)))
}

func matCells(name string, texts ...string) []byte {
	var body []byte
	for _, s := range texts {
		body = append(body, matText("", s)...)
	}
	return matArray(1, name, len(texts), body)
}

// matStruct writes a 1 x len(rows) struct array; values are strings or ints.
func matStruct(name string, fields []string, rows ...[]any) []byte {
	names := make([]byte, 32*len(fields))
	for i, f := range fields {
		copy(names[32*i:], f)
	}
	body := append(matElement(5, matInts(32)), matElement(1, names)...)
	for _, row := range rows {
		for _, v := range row {
			switch v := v.(type) {
			case string:
				body = append(body, matText("", v)...)
			case int:
				body = append(body, matNumber(uint16(v))...)
			}
		}
	}
	return matArray(2, name, len(rows), body)
}

// matFile joins arrays, each compressed as MATLAB does.
func matFile(arrays ...[]byte) []byte {
	b := append(bytes.Repeat([]byte(" "), 124), 0, 1, 'I', 'M')
	for _, a := range arrays {
		var z bytes.Buffer
		w := zlib.NewWriter(&z)
		w.Write(a)
		w.Close()
		b = binary.LittleEndian.AppendUint32(b, 15)
		b = binary.LittleEndian.AppendUint32(b, uint32(z.Len()))
		b = append(b, z.Bytes()...)
	}
	return b
}
