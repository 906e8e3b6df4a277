// Package matfile reads MATLAB 5 files (the format that MATLAB's save has
// written since 1996 up to -v7), as far as annotations of data sets use it:
// numeric, character, cell and struct arrays, compressed or not.
//
// A file is a header of 128 bytes (text, version, and "IM" or "MI" for the byte
// order) and data elements: a tag of type and size, the data, and padding to 8
// bytes; elements of up to 4 bytes are packed into the tag. An element of type
// miMATRIX holds an array as elements of its own: flags, dimensions, name, data.
package matfile

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// Data types of elements.
const (
	miInt8       = 1
	miUint8      = 2
	miInt16      = 3
	miUint16     = 4
	miInt32      = 5
	miUint32     = 6
	miSingle     = 7
	miDouble     = 9
	miInt64      = 12
	miUint64     = 13
	miMatrix     = 14
	miCompressed = 15
	miUTF8       = 16
	miUTF16      = 17
)

// Array classes.
const (
	mxCell   = 1
	mxStruct = 2
	mxChar   = 4
	mxDouble = 6
	mxUint64 = 15
)

// Limits that keep damaged files from asking for all of memory.
const (
	maxElements = 1 << 24
	maxDepth    = 16
)

// Array is one MATLAB array. Exactly one of Numbers, Text, Cells and Fields
// holds the content, by class. Elements are in MATLAB's column-major order.
type Array struct {
	Name string
	Dims []int
	// Numbers holds a numeric or logical array.
	Numbers []float64
	// Text holds a character array, its columns read one after the other; for
	// the usual 1 x n array that is the string.
	Text string
	// Cells holds a cell array.
	Cells []*Array
	// Fields holds a struct array: for each field its value in every element.
	Fields map[string][]*Array
}

// Number returns the value of a 1 x 1 numeric array.
func (a *Array) Number() (float64, error) {
	switch {
	case a == nil:
		return 0, errors.New("it is missing")
	case len(a.Numbers) != 1:
		return 0, fmt.Errorf("it has %d numbers, not one", len(a.Numbers))
	}
	return a.Numbers[0], nil
}

// Read returns the named arrays of a file. Elements of other kinds (objects,
// sparse and function arrays) are errors.
func Read(b []byte) (map[string]*Array, error) {
	if len(b) < 128 {
		return nil, fmt.Errorf("not a MATLAB file: %d bytes, shorter than its header", len(b))
	}
	d := &decoder{order: binary.LittleEndian}
	switch string(b[126:128]) {
	case "IM":
	case "MI":
		d.order = binary.BigEndian
	default:
		if bytes.HasPrefix(b, []byte("\x89HDF")) || bytes.HasPrefix(b, []byte("MATLAB 7.3")) {
			return nil, errors.New("a MATLAB 7.3 file (HDF5), which cannot be read; save it again with -v7")
		}
		return nil, errors.New("not a MATLAB 5 file: no byte order mark at the end of the header")
	}
	if v := d.order.Uint16(b[124:]); v != 0x0100 {
		return nil, fmt.Errorf("MATLAB file version %#04x; only 0x0100 (MATLAB 5 to 7) can be read", v)
	}
	out := make(map[string]*Array)
	rest := b[128:]
	for len(rest) > 0 {
		e, next, err := d.element(rest)
		if err != nil {
			return nil, fmt.Errorf("at byte %d: %w", len(b)-len(rest), err)
		}
		start := len(b) - len(rest)
		rest = next
		if e.kind == miCompressed {
			if e, err = d.inflate(e.data); err != nil {
				return nil, fmt.Errorf("at byte %d: %w", start, err)
			}
		}
		if e.kind != miMatrix {
			continue
		}
		a, err := d.array(e.data, 0)
		if err != nil {
			return nil, fmt.Errorf("at byte %d: %w", start, err)
		}
		out[a.Name] = a
	}
	return out, nil
}

type decoder struct {
	order  binary.ByteOrder
	memory int64 // bytes of memory
}

// arrayBytes is about what an Array takes beside its content.
const arrayBytes = 160

// countMemory counts n bytes of memory that the file asks for: a byte of it can become
// a number of eight, or an empty cell of eight bytes a whole Array.
func (d *decoder) countMemory(n int64) error {
	d.memory = budget.Sum(d.memory, n)
	return budget.Check("the arrays of the file", d.memory)
}

type element struct {
	kind int
	data []byte
}

// element cuts the first element off b.
func (d *decoder) element(b []byte) (e element, rest []byte, err error) {
	if len(b) < 8 {
		return e, nil, fmt.Errorf("element tag is cut off: %d bytes left", len(b))
	}
	kind := d.order.Uint32(b)
	if small := kind >> 16; small != 0 { // size and type in 16 bits each
		if small > 4 {
			return e, nil, fmt.Errorf("packed element of %d bytes; at most 4 fit", small)
		}
		return element{int(kind & 0xffff), b[4 : 4+small]}, b[8:], nil
	}
	n := uint64(d.order.Uint32(b[4:]))
	if n > uint64(len(b)-8) {
		return e, nil, fmt.Errorf("element of %d bytes where %d are left", n, len(b)-8)
	}
	e = element{int(kind), b[8 : 8+n]}
	end := 8 + n
	if kind != miCompressed {
		end = min((end+7)/8*8, uint64(len(b)))
	}
	return e, b[end:], nil
}

func (d *decoder) inflate(b []byte) (element, error) {
	r, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return element{}, fmt.Errorf("compressed element: %w", err)
	}
	tag := make([]byte, 8)
	if _, err := io.ReadFull(r, tag); err != nil {
		return element{}, fmt.Errorf("compressed element: its tag: %w", err)
	}
	n := int64(len(tag))
	if d.order.Uint32(tag)>>16 == 0 { // else it is packed into the tag
		n += int64(d.order.Uint32(tag[4:]))
	}
	if err := d.countMemory(n); err != nil {
		return element{}, err
	}
	plain, err := budget.ReadN("compressed element", io.MultiReader(bytes.NewReader(tag), r), n)
	if err != nil {
		return element{}, fmt.Errorf("compressed element of %d bytes: %w", n, err)
	}
	// What fills up eight bytes may follow, and then the checksum.
	switch filler, err := io.ReadAll(io.LimitReader(r, 8)); {
	case err != nil:
		return element{}, fmt.Errorf("compressed element: %w", err)
	case len(filler) == 8:
		return element{}, fmt.Errorf("compressed element: more than the %d bytes that its tag announces", n)
	}
	e, _, err := d.element(plain)
	return e, err
}

// array decodes the content of a miMATRIX element.
func (d *decoder) array(b []byte, depth int) (*Array, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("arrays nested deeper than %d", maxDepth)
	}
	if len(b) == 0 {
		return &Array{Dims: []int{0, 0}}, nil // an empty cell or field
	}
	flags, b, err := d.element(b)
	if err != nil || flags.kind != miUint32 || len(flags.data) != 8 {
		return nil, errors.New("array without flags")
	}
	class := int(d.order.Uint32(flags.data) & 0xff)
	dims, b, err := d.element(b)
	if err != nil || dims.kind != miInt32 || len(dims.data) < 8 || len(dims.data)%4 != 0 {
		return nil, errors.New("array without dimensions")
	}
	a := new(Array)
	n := 1
	for i := 0; i < len(dims.data); i += 4 {
		v := int(int32(d.order.Uint32(dims.data[i:])))
		if v < 0 || v > 0 && n > maxElements/v {
			return nil, fmt.Errorf("array with a dimension of %d: more than %d elements", v, maxElements)
		}
		a.Dims = append(a.Dims, v)
		n *= v
	}
	name, b, err := d.element(b)
	if err != nil || name.kind != miInt8 {
		return nil, errors.New("array without a name")
	}
	a.Name = string(name.data)
	switch {
	case class == mxCell:
		a.Cells, err = d.arrays(b, n, depth)
	case class == mxStruct:
		err = d.structure(a, b, n, depth)
	case class == mxChar:
		err = d.text(a, b, n)
	case class >= mxDouble && class <= mxUint64:
		err = d.numbers(a, b, n)
	default:
		err = fmt.Errorf("array of class %d (object, sparse or function), which cannot be read", class)
	}
	if err != nil {
		return nil, fmt.Errorf("array %q: %w", a.Name, err)
	}
	return a, nil
}

// arrays decodes n consecutive miMATRIX elements.
func (d *decoder) arrays(b []byte, n, depth int) ([]*Array, error) {
	if n > len(b)/8 {
		return nil, fmt.Errorf("%d parts announced, %d bytes left", n, len(b))
	}
	if err := d.countMemory(budget.Product(int64(n), arrayBytes)); err != nil {
		return nil, err
	}
	out := make([]*Array, n)
	for i := range out {
		e, rest, err := d.element(b)
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i+1, err)
		}
		if e.kind != miMatrix {
			return nil, fmt.Errorf("part %d is an element of type %d, not an array", i+1, e.kind)
		}
		if out[i], err = d.array(e.data, depth+1); err != nil {
			return nil, fmt.Errorf("part %d: %w", i+1, err)
		}
		b = rest
	}
	return out, nil
}

func (d *decoder) structure(a *Array, b []byte, n, depth int) error {
	width, b, err := d.element(b)
	if err != nil || len(width.data) != 4 {
		return errors.New("struct without the length of its field names")
	}
	names, b, err := d.element(b)
	w := int(int32(d.order.Uint32(width.data)))
	if err != nil || w <= 0 || len(names.data)%w != 0 {
		return errors.New("struct with damaged field names")
	}
	var fields []string
	for at := 0; at < len(names.data); at += w {
		f, _, _ := strings.Cut(string(names.data[at:at+w]), "\x00")
		fields = append(fields, f)
	}
	if len(fields) > 0 && n > maxElements/len(fields) {
		return fmt.Errorf("struct with %d elements of %d fields", n, len(fields))
	}
	values, err := d.arrays(b, n*len(fields), depth)
	if err != nil {
		return err
	}
	a.Fields = make(map[string][]*Array, len(fields))
	for i, f := range fields {
		column := make([]*Array, n)
		for k := range column {
			column[k] = values[k*len(fields)+i]
		}
		a.Fields[f] = column
	}
	return nil
}

func (d *decoder) text(a *Array, b []byte, n int) error {
	e, _, err := d.element(b)
	if err != nil {
		return err
	}
	if e.kind == miUTF8 {
		a.Text = string(e.data)
		return nil
	}
	codes, err := d.values(e)
	if err != nil {
		return err
	}
	if len(codes) != n {
		return fmt.Errorf("%d characters where the dimensions %v need %d", len(codes), a.Dims, n)
	}
	var s strings.Builder
	for _, c := range codes {
		s.WriteRune(rune(c))
	}
	a.Text = s.String()
	return nil
}

func (d *decoder) numbers(a *Array, b []byte, n int) error {
	e, _, err := d.element(b)
	if err != nil {
		return err
	}
	a.Numbers, err = d.values(e)
	if err == nil && len(a.Numbers) != n {
		err = fmt.Errorf("%d numbers where the dimensions %v need %d", len(a.Numbers), a.Dims, n)
	}
	return err
}

// values converts the data of a numeric element, which MATLAB stores in the
// smallest type that holds them.
func (d *decoder) values(e element) ([]float64, error) {
	size := map[int]int{miInt8: 1, miUint8: 1, miInt16: 2, miUint16: 2, miInt32: 4, miUint32: 4, miSingle: 4,
		miDouble: 8, miInt64: 8, miUint64: 8, miUTF16: 2}[e.kind]
	if size == 0 || len(e.data)%size != 0 {
		return nil, fmt.Errorf("%d bytes of data type %d", len(e.data), e.kind)
	}
	if err := d.countMemory(int64(len(e.data) / size * 8)); err != nil {
		return nil, err
	}
	out := make([]float64, len(e.data)/size)
	for i := range out {
		p := e.data[i*size:]
		switch e.kind {
		case miInt8:
			out[i] = float64(int8(p[0]))
		case miUint8:
			out[i] = float64(p[0])
		case miInt16:
			out[i] = float64(int16(d.order.Uint16(p)))
		case miUint16, miUTF16:
			out[i] = float64(d.order.Uint16(p))
		case miInt32:
			out[i] = float64(int32(d.order.Uint32(p)))
		case miUint32:
			out[i] = float64(d.order.Uint32(p))
		case miSingle:
			out[i] = float64(math.Float32frombits(d.order.Uint32(p)))
		case miDouble:
			out[i] = math.Float64frombits(d.order.Uint64(p))
		case miInt64:
			out[i] = float64(int64(d.order.Uint64(p)))
		case miUint64:
			out[i] = float64(d.order.Uint64(p))
		}
	}
	return out, nil
}
