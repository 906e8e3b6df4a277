package parquet

import (
	"encoding/binary"
	"errors"
	"math"
)

// Types of the compact protocol of Thrift, in which Parquet writes its footer and
// the heads of its pages.
const (
	thriftStop = iota
	thriftTrue
	thriftFalse
	thriftByte
	thriftI16
	thriftI32
	thriftI64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
	thriftUUID
)

// maxThriftDepth bounds structures within structures.
const maxThriftDepth = 32

var errThrift = errors.New("malformed Parquet: a structure that is cut or nested too deeply")

// thriftScan goes through a structure of the compact protocol without allocating memory for it. A list may only
// be as long as there are bytes for its elements.
type thriftScan struct {
	b        []byte
	at       int
	elements int64 // number of elements of all lists and maps
	// number is called for the whole numbers in the outermost structure and in structures that are
	// its fields, with the number of the outer field (0 for the outermost structure) and of the field.
	number func(outer, field int, v int64)
}

// scanThrift goes through the structure at the start of b.
func scanThrift(b []byte, number func(outer, field int, v int64)) (*thriftScan, error) {
	s := &thriftScan{b: b, number: number}
	if !s.structure(0, 0) {
		return nil, errThrift
	}
	return s, nil
}

func (s *thriftScan) byte() (byte, bool) {
	if s.at >= len(s.b) {
		return 0, false
	}
	s.at++
	return s.b[s.at-1], true
}

func (s *thriftScan) uvarint() (uint64, bool) {
	v, n := binary.Uvarint(s.b[s.at:])
	if n <= 0 {
		return 0, false
	}
	s.at += n
	return v, true
}

// skip skips n bytes.
func (s *thriftScan) skip(n uint64) bool {
	if n > uint64(len(s.b)-s.at) {
		return false
	}
	s.at += int(n)
	return true
}

func (s *thriftScan) structure(depth, outer int) bool {
	if depth > maxThriftDepth {
		return false
	}
	field := 0
	for {
		head, ok := s.byte()
		if !ok {
			return false
		}
		kind := head & 15
		if kind == thriftStop {
			return true
		}
		if delta := int(head >> 4); delta != 0 {
			field += delta
		} else {
			v, ok := s.uvarint()
			if !ok || v > math.MaxUint16 {
				return false
			}
			field = int(zigzag(v))
		}
		switch kind {
		case thriftTrue, thriftFalse: // the type is the value
		case thriftI16, thriftI32, thriftI64:
			v, ok := s.uvarint()
			if !ok {
				return false
			}
			if s.number != nil && depth <= 1 {
				s.number(outer, field, zigzag(v))
			}
		case thriftStruct:
			if !s.structure(depth+1, field) {
				return false
			}
		default:
			if !s.value(kind, depth) {
				return false
			}
		}
	}
}

// value skips a value that is not in a structure's field, or one that is neither a number nor a structure.
func (s *thriftScan) value(kind byte, depth int) bool {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		return s.skip(1)
	case thriftI16, thriftI32, thriftI64:
		_, ok := s.uvarint()
		return ok
	case thriftDouble:
		return s.skip(8)
	case thriftUUID:
		return s.skip(16)
	case thriftBinary:
		n, ok := s.uvarint()
		return ok && s.skip(n)
	case thriftStruct:
		// Its numbers are not used, because depth is beyond them.
		return s.structure(max(depth, 1)+1, 0)
	case thriftList, thriftSet:
		return s.list(depth)
	case thriftMap:
		return s.mapping(depth)
	}
	return false
}

func (s *thriftScan) list(depth int) bool {
	head, ok := s.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n, ok = s.uvarint()
	}
	if !ok || n > uint64(len(s.b)-s.at) || depth >= maxThriftDepth {
		return false
	}
	s.elements += int64(n)
	for range n {
		if !s.value(head&15, depth+1) {
			return false
		}
	}
	return true
}

func (s *thriftScan) mapping(depth int) bool {
	n, ok := s.uvarint()
	if !ok || n == 0 {
		return ok
	}
	kinds, ok := s.byte()
	if !ok || n > uint64(len(s.b)-s.at) || depth >= maxThriftDepth {
		return false
	}
	s.elements += int64(n)
	for range n {
		if !s.value(kinds>>4, depth+1) || !s.value(kinds&15, depth+1) {
			return false
		}
	}
	return true
}

func zigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }
