// Package safetensors reads and writes the safetensors format: named tensors in a
// plain layout, which can be read without executing code from the file.
//
//	| 8 bytes: n, little endian | n bytes: JSON header | tensors, one after another |
//
// The header maps each name to {"dtype", "shape", "data_offsets": [from, to]},
// offsets counting from the end of the header, and "__metadata__" to strings.
// Tensors must cover the rest of the file without holes or overlaps.
package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/base/float16"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// maxHeader is the largest header that is accepted, the format's own limit.
const maxHeader = 100 << 20

// headerGrowth is about how much more memory a header takes, parsed, than its text.
const headerGrowth = 8

// File is the content of one file. Tensors keep the order of their data.
type File struct {
	Tensors []Tensor
	Meta    map[string]string
}

// Tensor is one array. Data holds its values little endian, in row-major order;
// in a File made by Parse it shares the memory of the input.
type Tensor struct {
	Name  string
	DType DType
	Shape []int
	Data  []byte
}

// DType is the type of a tensor's values.
type DType string

// The types that this package converts; others pass through untouched.
const (
	F64  DType = "F64"
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
	I64  DType = "I64"
)

// Size is the number of bytes of one value, 0 for types that are not known.
func (d DType) Size() int {
	switch d {
	case F64, I64, "U64":
		return 8
	case F32, "I32", "U32":
		return 4
	case F16, BF16, "I16", "U16":
		return 2
	case "I8", "U8", "BOOL", "F8_E4M3", "F8_E5M2":
		return 1
	}
	return 0
}

// Tensor returns the tensor of that name, or nil.
func (f *File) Tensor(name string) *Tensor {
	i := slices.IndexFunc(f.Tensors, func(t Tensor) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &f.Tensors[i]
}

// Float32 makes a tensor of float32 values.
func Float32(name string, shape []int, values []float32) Tensor {
	data := make([]byte, 4*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(v))
	}
	return Tensor{name, F32, slices.Clone(shape), data}
}

// Int64 makes a tensor of int64 values.
func Int64(name string, shape []int, values []int64) Tensor {
	data := make([]byte, 8*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint64(data[8*i:], uint64(v))
	}
	return Tensor{name, I64, slices.Clone(shape), data}
}

// Float32s returns the values of a floating-point tensor, rounded from F64,
// exact for the other types.
func (t *Tensor) Float32s() ([]float32, error) {
	n := 0
	if size := t.DType.Size(); size > 0 {
		n = len(t.Data) / size
	}
	out := make([]float32, n)
	switch t.DType {
	case F64:
		for i := range out {
			out[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(t.Data[8*i:])))
		}
	case F32:
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:]))
		}
	case F16:
		for i := range out {
			out[i] = float16.Float32(binary.LittleEndian.Uint16(t.Data[2*i:]))
		}
	case BF16:
		for i := range out {
			out[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(t.Data[2*i:])) << 16)
		}
	default:
		return nil, fmt.Errorf("safetensors: %s holds %s, not floating-point values", t.Name, t.DType)
	}
	return out, nil
}

// FiniteFloat32s is Float32s, but it is an error if the number of values does not match the
// shape, or if a value is NaN or infinite.
func (t *Tensor) FiniteFloat32s() ([]float32, error) {
	v, err := t.Float32s()
	if err != nil {
		return nil, err
	}
	if n, err := ShapeSize(t.Shape); err != nil || len(v) != n {
		return nil, fmt.Errorf("%s holds %d values for a shape of %v", t.Name, len(v), t.Shape)
	}
	if i := slices.IndexFunc(v, func(x float32) bool { return x-x != 0 }); i >= 0 {
		return nil, fmt.Errorf("%s holds %v: not a finite number", t.Name, v[i])
	}
	return v, nil
}

// Int64s returns the values of an I64 tensor.
func (t *Tensor) Int64s() ([]int64, error) {
	if t.DType != I64 {
		return nil, fmt.Errorf("safetensors: %s holds %s, not I64", t.Name, t.DType)
	}
	out := make([]int64, len(t.Data)/8)
	for i := range out {
		out[i] = int64(binary.LittleEndian.Uint64(t.Data[8*i:]))
	}
	return out, nil
}

// Read parses the file at path, which must be no larger than the limit of package
// budget.
func Read(path string) (*File, error) {
	data, err := fileinfo.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

type entry struct {
	DType   DType    `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets []uint64 `json:"data_offsets"`
}

// Parse reads a whole file. It never returns tensors whose shape, type and
// length disagree. It does not check values.
func Parse(data []byte) (*File, error) {
	if len(data) < 8 {
		return nil, fmt.Errorf("safetensors: %d bytes; a file has at least 8", len(data))
	}
	n := binary.LittleEndian.Uint64(data)
	body := data[8:]
	if n > maxHeader {
		return nil, fmt.Errorf("safetensors: header of %d bytes; at most %d are allowed (is this a safetensors file?)",
			n, maxHeader)
	}
	if n > uint64(len(body)) {
		return nil, fmt.Errorf("safetensors: header of %d bytes in a file of %d: truncated", n, len(data))
	}
	// Descriptions take more memory than their text.
	if err := budget.Check("safetensors: the header", budget.Product(int64(n), headerGrowth)); err != nil {
		return nil, err
	}
	header, body := body[:n], body[n:]
	f := &File{}
	spans, err := f.parseHeader(header)
	if err != nil {
		return nil, err
	}
	order := make([]int, len(spans))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return slices.Compare(spans[a][:], spans[b][:])
	})
	var at uint64
	sorted := make([]Tensor, 0, len(order))
	for _, i := range order {
		t, from, to := f.Tensors[i], spans[i][0], spans[i][1]
		if from != at {
			return nil, fmt.Errorf("safetensors: %s starts at byte %d of the data, where byte %d should come: "+
				"tensors overlap or leave a hole", t.Name, from, at)
		}
		if to > uint64(len(body)) {
			return nil, fmt.Errorf("safetensors: %s ends at byte %d of %d: the file is truncated",
				t.Name, to, len(body))
		}
		t.Data = body[from:to:to]
		sorted = append(sorted, t)
		at = to
	}
	if at != uint64(len(body)) {
		return nil, fmt.Errorf("safetensors: %d bytes follow the last tensor", uint64(len(body))-at)
	}
	f.Tensors = sorted
	return f, nil
}

// parseHeader fills the tensors' descriptions and returns their offsets. Names
// that occur twice are an error, hence the reading by tokens.
func (f *File) parseHeader(header []byte) ([][2]uint64, error) {
	dec := json.NewDecoder(bytes.NewReader(header))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("safetensors: the header is not a JSON object")
	}
	var spans [][2]uint64
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("safetensors: header: %w", err)
		}
		name := token.(string) // keys of an object always are
		if seen[name] {
			return nil, fmt.Errorf("safetensors: %q occurs twice", name)
		}
		seen[name] = true
		if name == "__metadata__" {
			if err := dec.Decode(&f.Meta); err != nil {
				return nil, fmt.Errorf("safetensors: metadata: %w", strictjson.PlainError(err, header, len(header)))
			}
			continue
		}
		var e entry
		if err := dec.Decode(&e); err != nil {
			return nil, fmt.Errorf("safetensors: %q: %w", name, strictjson.PlainError(err, header, len(header)))
		}
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("safetensors: %q: %w", name, err)
		}
		f.Tensors = append(f.Tensors, Tensor{Name: name, DType: e.DType, Shape: e.Shape})
		spans = append(spans, [2]uint64{e.Offsets[0], e.Offsets[1]})
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("safetensors: header: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("safetensors: text after the header's JSON object")
	}
	return spans, nil
}

func (e *entry) check() error {
	size := e.DType.Size()
	if size == 0 {
		return fmt.Errorf("unknown dtype %q", e.DType)
	}
	if len(e.Offsets) != 2 || e.Offsets[0] > e.Offsets[1] {
		return fmt.Errorf("data_offsets %v are not a range", e.Offsets)
	}
	want, err := ShapeSize(e.Shape)
	if err != nil {
		return err
	}
	if have := e.Offsets[1] - e.Offsets[0]; have%uint64(size) != 0 || have/uint64(size) != uint64(want) {
		return fmt.Errorf("%d bytes for a %s tensor of shape %v", have, e.DType, e.Shape)
	}
	return nil
}

// ShapeSize multiplies a shape's sizes; negative ones and overflow are errors.
func ShapeSize(shape []int) (int, error) {
	n := 1
	for _, d := range shape {
		if d < 0 || d > 0 && n > math.MaxInt/16/d {
			return 0, fmt.Errorf("shape %v is impossible", shape)
		}
		n *= d
	}
	return n, nil
}

// Write writes f with its tensors in the given order. The header is padded so
// that the data starts at a multiple of 8 bytes.
func (f *File) Write(w io.Writer) error {
	var header bytes.Buffer
	header.WriteByte('{')
	sep := ""
	put := func(name string, v any) error {
		k, err := json.Marshal(name)
		if err != nil {
			return err
		}
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		fmt.Fprintf(&header, "%s%s:%s", sep, k, b)
		sep = ","
		return nil
	}
	if len(f.Meta) > 0 {
		if err := put("__metadata__", f.Meta); err != nil {
			return err
		}
	}
	var at uint64
	for i := range f.Tensors {
		t := &f.Tensors[i]
		shape := t.Shape
		if shape == nil {
			shape = []int{}
		}
		e := entry{t.DType, shape, []uint64{at, at + uint64(len(t.Data))}}
		if err := e.check(); err != nil {
			return fmt.Errorf("safetensors: %q: %w", t.Name, err)
		}
		if err := put(t.Name, e); err != nil {
			return err
		}
		at = e.Offsets[1]
	}
	header.WriteByte('}')
	for header.Len()%8 != 0 {
		header.WriteByte(' ')
	}
	if header.Len() > maxHeader {
		return fmt.Errorf("safetensors: names, shapes and metadata take a header of %d bytes; at most %d are allowed",
			header.Len(), maxHeader)
	}
	if err := binary.Write(w, binary.LittleEndian, uint64(header.Len())); err != nil {
		return err
	}
	if _, err := w.Write(header.Bytes()); err != nil {
		return err
	}
	for i := range f.Tensors {
		if _, err := w.Write(f.Tensors[i].Data); err != nil {
			return err
		}
	}
	return nil
}
