// Package tfevents writes the event files that TensorBoard reads, with scalars only.
//
// A file is a sequence of records (TensorFlow's TFRecord), all numbers little-endian:
//
//	8 bytes  length n of the message
//	4 bytes  masked CRC-32C of these 8 bytes
//	n bytes  the message, a serialised Event
//	4 bytes  masked CRC-32C of the message
//
// where a CRC c is masked as (c>>15 | c<<17) + 0xa282ead8. The messages and the fields
// used of them are
//
//	Event          1 wall_time (double), 2 step (int64), 3 file_version, 5 summary
//	Summary        1 value (repeated)
//	Summary.Value  1 tag, 2 simple_value (float)
//
// The first record of a file has the file_version "brain.Event:2". A file grows by
// whole records; a reader waits for the rest of one that is cut off.
package tfevents

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Scalar is a value under a tag, "test/recall@1". Tags with the same part before the
// slash stand together.
type Scalar struct {
	Tag   string
	Value float64 // written as float32
}

// AppendHeader appends the first record of a file.
func AppendHeader(to []byte, at time.Time) []byte {
	m := appendWallTime(at)
	m = protowire.AppendTag(m, 3, protowire.BytesType)
	m = protowire.AppendString(m, "brain.Event:2")
	return appendRecord(to, m)
}

// AppendScalars appends the record of a step. Without scalars it appends nothing.
func AppendScalars(to []byte, at time.Time, step int64, scalars []Scalar) []byte {
	if len(scalars) == 0 {
		return to
	}
	var summary []byte
	for _, s := range scalars {
		var value []byte
		value = protowire.AppendTag(value, 1, protowire.BytesType)
		value = protowire.AppendString(value, s.Tag)
		value = protowire.AppendTag(value, 2, protowire.Fixed32Type)
		value = protowire.AppendFixed32(value, math.Float32bits(float32(s.Value)))
		summary = protowire.AppendTag(summary, 1, protowire.BytesType)
		summary = protowire.AppendBytes(summary, value)
	}
	m := appendWallTime(at)
	m = protowire.AppendTag(m, 2, protowire.VarintType)
	m = protowire.AppendVarint(m, uint64(step))
	m = protowire.AppendTag(m, 5, protowire.BytesType)
	m = protowire.AppendBytes(m, summary)
	return appendRecord(to, m)
}

// appendWallTime begins an Event.
func appendWallTime(at time.Time) []byte {
	m := protowire.AppendTag(nil, 1, protowire.Fixed64Type)
	return protowire.AppendFixed64(m, math.Float64bits(float64(at.UnixMicro())/1e6))
}

// appendRecord frames a message.
func appendRecord(to, message []byte) []byte {
	at := len(to)
	to = binary.LittleEndian.AppendUint64(to, uint64(len(message)))
	to = binary.LittleEndian.AppendUint32(to, maskedCRC(to[at:]))
	to = append(to, message...)
	return binary.LittleEndian.AppendUint32(to, maskedCRC(message))
}

// maskedCRC is the checksum as records have it: a CRC of text that contains CRCs would
// not be a good one.
func maskedCRC(data []byte) uint32 {
	c := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return (c>>15 | c<<17) + 0xa282ead8
}
