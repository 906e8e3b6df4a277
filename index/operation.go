package index

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/kindred-ml/kindred/store"
)

// The content of a frame of the log is a sequence of operations. An operation is a byte and its
// data. Lengths and counts are unsigned varints; a text is its length and its
// bytes:
//
//	1  put     id, path, number of fields, for each its column's name, a byte with
//	           its kind and its value (a text, 8 bytes of float64, or a byte), then
//	           the vector's float32 values
//	2  remove  id
const (
	opPut    = 1
	opRemove = 2
)

// operation is one change of the index.
type operation struct {
	entry  *store.Item // put
	remove string      // the id to remove, if entry is nil
}

// appendOperation adds an operation to a frame's content.
func appendOperation(b []byte, op operation) []byte {
	if op.entry == nil {
		return appendText(append(b, opRemove), op.remove)
	}
	e := op.entry
	b = appendText(appendText(append(b, opPut), e.ID), e.Path)
	b = binary.AppendUvarint(b, uint64(len(e.Columns)))
	for name, v := range e.Columns {
		b = appendValue(appendText(b, name), v)
	}
	for _, v := range e.Vector {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// The bytes of the kinds of values.
const (
	textByte   = 1
	numberByte = 2
	boolByte   = 3
)

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return appendText(append(b, textByte), v)
	case float64:
		return binary.LittleEndian.AppendUint64(append(b, numberByte), math.Float64bits(v+0)) // no -0
	case bool:
		if v {
			return append(b, boolByte, 1)
		}
	}
	return append(b, boolByte, 0)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// errBadOperation is the error for operations that appendOperation would not write.
var errBadOperation = errors.New("not an operation")

// decodeOperations reads the content of a frame.
func decodeOperations(b []byte, dim int) (ops []operation, err error) {
	r := &opReader{b: b}
	for len(r.b) > 0 {
		var op operation
		switch r.byte() {
		case opPut:
			op.entry = r.entry(dim)
		case opRemove:
			op.remove = r.text()
			r.failed = r.failed || !isValidID(op.remove)
		default:
			r.failed = true
		}
		if r.failed {
			return nil, errBadOperation
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// opReader reads parts from the front of b; bad means that a part was missing.
type opReader struct {
	b      []byte
	failed bool
}

func (r *opReader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.failed, r.b = true, nil
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *opReader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *opReader) count() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.failed, r.b = true, nil
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *opReader) text() string { return string(r.take(r.count())) }

func (r *opReader) entry(dim int) *store.Item {
	e := &store.Item{ID: r.text(), Path: r.text()}
	fields := r.count()
	if fields > store.MaxColumns {
		r.failed = true
		return nil
	}
	if fields > 0 {
		e.Columns = make(map[string]any, fields)
	}
	for range fields {
		name := r.text()
		switch r.byte() {
		case textByte:
			e.Columns[name] = r.text()
		case numberByte:
			if b := r.take(8); b != nil {
				e.Columns[name] = math.Float64frombits(binary.LittleEndian.Uint64(b)) + 0
			}
		case boolByte:
			e.Columns[name] = r.byte() != 0
		default:
			r.failed = true
		}
		if r.failed {
			return nil
		}
	}
	raw := r.take(uint64(dim) * 4)
	if r.failed {
		return nil
	}
	e.Vector = make([]float32, dim)
	for i := range e.Vector {
		e.Vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	r.failed = !isValidItem(e) || firstNonFinite(e.Vector) >= 0
	return e
}
