package matfile

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// order is a byte order that also appends.
type order interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// writer builds files in one byte order, element by element.
type writer struct{ order }

func (w writer) element(kind uint32, data []byte) []byte {
	b := w.AppendUint32(nil, kind)
	b = w.AppendUint32(b, uint32(len(data)))
	b = append(b, data...)
	return append(b, make([]byte, (8-len(b)%8)%8)...)
}

// small packs up to four bytes into the tag.
func (w writer) small(kind uint16, data []byte) []byte {
	b := w.AppendUint32(nil, uint32(len(data))<<16|uint32(kind))
	return append(b, append(slices.Clone(data), make([]byte, 4-len(data))...)...)
}

func (w writer) ints(v ...int32) []byte {
	var b []byte
	for _, x := range v {
		b = w.AppendUint32(b, uint32(x))
	}
	return b
}

func (w writer) array(class int32, name string, dims []int32, body ...[]byte) []byte {
	b := w.element(miUint32, w.ints(class, 0))
	b = append(b, w.element(miInt32, w.ints(dims...))...)
	b = append(b, w.element(miInt8, []byte(name))...)
	return w.element(miMatrix, append(b, slices.Concat(body...)...))
}

func (w writer) file(arrays ...[]byte) []byte {
	b := []byte(strings.Repeat(" ", 124))
	b = w.AppendUint16(b, 0x0100)
	mark := w.AppendUint16(nil, 'M'<<8|'I')
	return slices.Concat(append([][]byte{b, mark}, arrays...)...)
}

func TestNumberTypes(t *testing.T) {
	for _, w := range []writer{{binary.LittleEndian}, {binary.BigEndian}} {
		for kind, c := range map[uint32]struct {
			data []byte
			want []float64
		}{
			miInt8:   {[]byte{0xff, 5}, []float64{-1, 5}},
			miUint8:  {[]byte{0xff, 5}, []float64{255, 5}},
			miInt16:  {w.AppendUint16(w.AppendUint16(nil, 0xfffe), 7), []float64{-2, 7}},
			miUint16: {w.AppendUint16(w.AppendUint16(nil, 0xfffe), 7), []float64{65534, 7}},
			miUTF16:  {w.AppendUint16(w.AppendUint16(nil, 0xfffe), 7), []float64{65534, 7}},
			miInt32:  {w.ints(-3, 70000), []float64{-3, 70000}},
			miUint32: {w.ints(-3, 70000), []float64{4294967293, 70000}},
			miSingle: {w.AppendUint32(w.AppendUint32(nil, math.Float32bits(0.25)), math.Float32bits(-2)),
				[]float64{0.25, -2}},
			miDouble: {w.AppendUint64(w.AppendUint64(nil, math.Float64bits(0.1)), math.Float64bits(-2)),
				[]float64{0.1, -2}},
			miInt64:  {w.AppendUint64(w.AppendUint64(nil, math.MaxUint64), 9), []float64{-1, 9}},
			miUint64: {w.AppendUint64(w.AppendUint64(nil, 1<<63), 9), []float64{1 << 63, 9}},
		} {
			m, err := Read(w.file(w.array(mxDouble, "x", []int32{1, 2}, w.element(kind, c.data))))
			if err != nil || !slices.Equal(m["x"].Numbers, c.want) || elements(m["x"]) != 2 {
				t.Errorf("type %d: %+v, %v", kind, m["x"], err)
			}
			// Of another length than the dimensions say, and of half a number.
			for _, dims := range [][]int32{{1, 3}, {1, 1}} {
				if _, err := Read(w.file(w.array(mxDouble, "x", dims, w.element(kind, c.data)))); err == nil ||
					!strings.Contains(err.Error(), "2 numbers where the dimensions") {
					t.Errorf("type %d of %v: %v", kind, dims, err)
				}
			}
			if len(c.data) > 2 {
				if _, err := Read(w.file(w.array(mxDouble, "x", []int32{1, 2},
					w.element(kind, c.data[:len(c.data)-1])))); err == nil ||
					!strings.Contains(err.Error(), "bytes of data type") {
					t.Errorf("type %d, cut: %v", kind, err)
				}
			}
		}
		for _, n := range []int{0, 1, 3, 4} {
			m, err := Read(w.file(w.array(mxUint64, "x", []int32{1, int32(n)},
				w.small(miUint8, []byte{9, 8, 7, 6}[:n]))))
			if n == 0 {
				continue // a tag of nothing is an element of no size
			}
			if err != nil || len(m["x"].Numbers) != n || m["x"].Numbers[n-1] != float64(10-n) {
				t.Errorf("%d packed bytes: %+v, %v", n, m["x"], err)
			}
		}
		text := w.AppendUint16(w.AppendUint16(nil, 'ö'), 'k')
		m, err := Read(w.file(
			w.array(mxChar, "wide", []int32{1, 2}, w.element(miUint16, text)),
			w.array(mxChar, "utf8", []int32{1, 2}, w.element(miUTF8, []byte("ök"))),
			w.element(miInt8, []byte("passed over")),
			w.array(mxDouble, "last", []int32{1, 1}, w.element(miUint8, []byte{4}))))
		if err != nil || m["wide"].Text != "ök" || m["utf8"].Text != "ök" || len(m) != 3 {
			t.Errorf("%+v, %v", m, err)
		}
		if v, err := m["last"].Number(); err != nil || v != 4 {
			t.Errorf("%v", v)
		}
		if _, err := m["wide"].Number(); err == nil {
			t.Error("text is no number")
		}
		if _, err := Read(w.file(w.array(mxChar, "x", []int32{1, 3}, w.element(miUint16, text)))); err == nil ||
			!strings.Contains(err.Error(), "2 characters where") {
			t.Errorf("%v", err)
		}
	}
}

func TestArrayLimits(t *testing.T) {
	w := writer{binary.LittleEndian}
	nested := func(depth int) []byte {
		b := w.array(mxDouble, "", []int32{1, 1}, w.element(miUint8, []byte{1}))
		for range depth {
			b = w.array(mxCell, "c", []int32{1, 1}, b)
		}
		return w.file(b)
	}
	if _, err := Read(nested(maxDepth)); err != nil {
		t.Errorf("%d deep: %v", maxDepth, err)
	}
	if _, err := Read(nested(maxDepth + 1)); err == nil || !strings.Contains(err.Error(), "nested deeper than 16") {
		t.Errorf("%v", err)
	}
	for _, c := range []struct {
		dims []int32
		want string
	}{
		{[]int32{1, 1 << 24}, "0 numbers where the dimensions"}, {[]int32{1, 1<<24 + 1}, "more than 16777216 elements"},
		{[]int32{4097, 4096}, "more than 16777216"},
		{[]int32{-1, 1}, "dimension of -1"}, {[]int32{3}, "without dimensions"},
	} {
		_, err := Read(w.file(w.array(mxDouble, "x", c.dims, w.element(miUint8, nil))))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.dims, err, c.want)
		}
	}
	for class, want := range map[int32]string{3: "class 3", 5: "class 5", 16: "class 16"} {
		if _, err := Read(w.file(w.array(class, "x", []int32{1, 1}, w.element(miUint8, []byte{1})))); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
	for want, body := range map[string][][]byte{
		"3 parts announced, 16 bytes left": {w.element(miMatrix, nil), w.element(miMatrix, nil)},
		"part 2 is an element of type 2": {w.element(miMatrix, nil), w.element(miUint8, nil),
			w.element(miMatrix, nil)},
		"part 3: element tag is cut off": {w.element(miMatrix, nil), w.element(miMatrix, make([]byte, 8))[:12],
			make([]byte, 12)},
	} {
		if _, err := Read(w.file(w.array(mxCell, "x", []int32{1, 3}, body...))); err == nil {
			t.Errorf("no error; want %s", want)
		} else if !strings.Contains(err.Error(), want) && !strings.Contains(want, "cut off") {
			t.Errorf("%v; want %s", err, want)
		}
	}
	// Names of fields: their width, whole names, and no more values than fit.
	field := func(width int32, names string, n int32, values int) error {
		body := [][]byte{w.small(miInt32, w.ints(width)), w.element(miInt8, []byte(names))}
		for range values {
			body = append(body, w.element(miMatrix, nil))
		}
		_, err := Read(w.file(w.array(mxStruct, "s", []int32{1, n}, body...)))
		return err
	}
	if err := field(4, "ab\x00\x00cd\x00\x00", 2, 4); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		width  int32
		names  string
		n      int32
		values int
		want   string
	}{
		{0, "ab", 1, 1, "damaged field names"}, {-4, "abcd", 1, 1, "damaged field names"},
		{3, "abcd", 1, 1, "damaged field names"},
		{2, "abcd", 2, 3, "4 parts announced"}, {1, "abc", 1 << 23, 0, "struct with 8388608 elements of 3 fields"},
	} {
		if err := field(c.width, c.names, c.n, c.values); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Memory is counted: of numbers eight bytes each, of arrays about 160.
func TestArrayMemory(t *testing.T) {
	w := writer{binary.LittleEndian}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 20))
	numbers := func(n int) error {
		_, err := Read(w.file(w.array(mxDouble, "x", []int32{1, int32(n)}, w.element(miUint8, make([]byte, n)))))
		return err
	}
	doubles := func(n int) error {
		_, err := Read(w.file(w.array(mxDouble, "x", []int32{1, int32(n)}, w.element(miDouble, make([]byte, 8*n)))))
		return err
	}
	cells := func(n int) error {
		_, err := Read(w.file(w.array(mxCell, "x", []int32{1, int32(n)},
			[]byte(strings.Repeat(string(w.element(miMatrix, nil)), n)))))
		return err
	}
	for what, err := range map[string][2]error{"numbers": {numbers(1 << 17), numbers(1<<17 + 1)},
		"doubles": {doubles(1 << 17), doubles(1<<17 + 1)},
		"cells":   {cells(1 << 20 / arrayBytes), cells(1<<20/arrayBytes + 1)}} {
		var over *budget.Error
		if err[0] != nil || !errors.As(err[1], &over) || over.Limit != 1<<20 {
			t.Errorf("%s: %v, then %v", what, err[0], err[1])
		}
	}
	if s := fmt.Sprint(numbers(1<<17 + 1)); !strings.Contains(s, "the arrays of the file: needs") {
		t.Error(s)
	}
}

// TestCompressed checks that what is compressed takes the memory that its tag
// announces and no more, and that its checksum counts.
func TestCompressed(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(16 << 20))
	w := writer{binary.LittleEndian}
	file := func(plain []byte, change func([]byte) []byte) []byte {
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		if _, err := z.Write(plain); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		packed := change(b.Bytes())
		return w.file(slices.Concat(w.AppendUint32(w.AppendUint32(nil, miCompressed), uint32(len(packed))), packed))
	}
	same := func(b []byte) []byte { return b }
	x := w.array(mxDouble, "x", []int32{1, 2}, w.element(miUint8, []byte{3, 4}))
	claim := func(n uint32) []byte {
		return slices.Concat(w.AppendUint32(w.AppendUint32(nil, miMatrix), n), make([]byte, 8<<20))
	}
	for _, c := range []struct {
		name, want string
		file       []byte
	}{
		{"whole", "", file(x, same)},
		{"more than announced", "more than the 24 bytes", file(claim(16), same)},
		{"more than the limit", "the limit is 16 MiB", file(claim(1<<31), same)},
		{"less than announced", "unexpected EOF", file(claim(9<<20), same)},
		{"no tag", "its tag", file(x[:5], same)},
		{"wrong checksum", "checksum", file(x, func(b []byte) []byte { b[len(b)-1] ^= 1; return b })},
		{"no checksum", "unexpected EOF", file(x, func(b []byte) []byte { return b[:len(b)-4] })},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := Read(c.file)
		runtime.ReadMemStats(&after)
		if c.want == "" {
			if err != nil || got["x"] == nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if took := after.TotalAlloc - before.TotalAlloc; c.name != "less than announced" && took > 3<<20 {
			t.Errorf("%s: %d bytes allocated", c.name, took)
		}
	}
}
