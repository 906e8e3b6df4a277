package natsserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/minio/highwayhash"
)

// A block of a stream is records, one after the other:
//
//	offset  bytes  field
//	0       4      size of the record; the highest bit: there are headers
//	4       8      number of the message; the highest bits: it is erased, it removes another
//	12      8      time
//	20      2      bytes s of the subject
//	22      s      subject
//	               with headers: 4 bytes of their size h, and h of headers
//	               content
//	        8      HighwayHash of bytes 4 to 19, the subject, headers and content
//
// Numbers are little-endian. The key of the hash is the SHA-256 of STREAM-BLOCK.
const (
	headBytes   = 22
	sumBytes    = 8
	maxRecord   = 32 << 20
	hasHeader   = 1 << 31
	erasedMark  = 1 << 63
	removalMark = 1 << 62
	// maxNumber tells numbers of messages from other bytes.
	maxNumber = 1 << 40
)

// byteRange is a part of a block.
type byteRange struct{ from, to int }

// record is one that is whole.
type record struct {
	byteRange
	seq     uint64 // with its marks
	subject string
	body    []byte
}

func (r *record) number() uint64  { return r.seq &^ (erasedMark | removalMark) }
func (r *record) isRemoval() bool { return r.seq&removalMark != 0 }
func (r *record) isErased() bool  { return r.seq&erasedMark != 0 || r.seq == 0 }

// blockKey is the key of the sums of a block.
func blockKey(stream, file string) []byte {
	return keyOf(stream + "-" + strings.TrimSuffix(path.Base(file), ".blk"))
}

func keyOf(name string) []byte {
	sum := sha256.Sum256([]byte(name))
	return sum[:]
}

// parseBlock takes a block apart. What is damaged reaches to the next record that is whole, or
// to the end.
func parseBlock(b, key []byte) (whole []record, damaged []byteRange) {
	for at := 0; at < len(b); {
		r, ok := parseRecord(b, at, key)
		if !ok {
			to := at + headBytes + sumBytes
			for to < len(b) {
				if _, ok := parseRecord(b, to, key); ok {
					break
				}
				to++
			}
			to = min(to, len(b))
			damaged = append(damaged, byteRange{at, to})
			at = to
			continue
		}
		whole = append(whole, r)
		at = r.to
	}
	return whole, damaged
}

// parseRecord reads the record at an offset, if there is a whole one.
func parseRecord(b []byte, at int, key []byte) (r record, ok bool) {
	if at+headBytes+sumBytes > len(b) {
		return r, false
	}
	le := binary.LittleEndian
	h := b[at:]
	size, subject := int(le.Uint32(h)&^hasHeader), int(le.Uint16(h[20:]))
	text := subject
	if le.Uint32(h)&hasHeader != 0 {
		text += 4
	}
	r.seq = le.Uint64(h[4:])
	if size > maxRecord || size > len(h) || headBytes+text+sumBytes > size || r.number() >= maxNumber {
		return r, false
	}
	content := h[headBytes+text : size-sumBytes]
	r.byteRange, r.subject, r.body = byteRange{at, at + size}, string(h[headBytes:headBytes+subject]), content
	if text > subject {
		n := int64(le.Uint32(h[headBytes+subject:]))
		if n > int64(len(content)) || !areHeaders(content, n) {
			return r, false
		}
		r.body = content[n:]
	} else if r.subject != "" && !isSplitRight(r.subject, r.body) {
		return r, false
	}
	return r, bytes.Equal(recordSum(key, h[4:20], h[headBytes:headBytes+subject], content), h[size-sumBytes:size])
}

// areHeaders tells whether n bytes of what follows a subject are its headers: the sum does not cover n.
func areHeaders(content []byte, n int64) bool {
	return bytes.HasPrefix(content, []byte("NATS/1.0")) && int64(bytes.Index(content, []byte("\r\n\r\n")))+4 == n
}

// isSplitRight tells whether a subject and a content without headers are parted where they were: the sum
// does not cover the length of the subject. The messages of a queue without headers are the parts of
// files, $O.BUCKET.C.NUMBER, which are counted, and NAME.todo.LANE.KEY, whose content is the key.
func isSplitRight(subject string, content []byte) bool {
	part := strings.Split(subject, ".")
	switch {
	case !utf8.ValidString(subject) || strings.ContainsFunc(subject, unicode.IsControl):
		return false
	case part[0] == "$O", part[0] == "$KV":
		return true
	}
	return len(part) == 4 && part[1] == "todo" && part[3] == string(content)
}

func recordSum(key []byte, parts ...[]byte) []byte {
	h, err := highwayhash.NewDigest64(key)
	if err != nil {
		panic(err) // the key has another length
	}
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// blankRecord is a record of a size in the place of one that is damaged.
func blankRecord(size int, key []byte) []byte {
	b := make([]byte, size)
	binary.LittleEndian.PutUint32(b, uint32(size))
	binary.LittleEndian.PutUint64(b[4:], erasedMark)
	copy(b[size-sumBytes:], recordSum(key, b[4:20], b[headBytes:size-sumBytes]))
	return b
}
