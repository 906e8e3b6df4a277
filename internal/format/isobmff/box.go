package isobmff

import (
	"encoding/binary"
	"iter"
	"math"
)

// box is the content of a box, at a place in the file.
type box struct {
	name  string
	at    int // place of b in the file
	b     []byte
	whole []byte // with the header
	size  int64  // of whole, as the header has it
}

// boxes yields the boxes in b, which begins at a place in the file, until one is damaged or cut short. The last box
// may be cut short, as the media data of a file whose beginning is read; its content is what there is.
func boxes(b []byte, at int) iter.Seq[box] {
	return func(yield func(box) bool) {
		for len(b) >= 8 {
			head, size := 8, uint64(binary.BigEndian.Uint32(b))
			switch size {
			case 0: // to the end
				size = uint64(len(b))
			case 1:
				if len(b) < 16 {
					return
				}
				head, size = 16, binary.BigEndian.Uint64(b[8:])
			}
			if size < uint64(head) {
				return
			}
			n := int(min(size, uint64(len(b))))
			if !yield(box{string(b[4:8]), at + head, b[head:n], b[:n], int64(min(size, math.MaxInt64))}) {
				return
			}
			b, at = b[n:], at+n
		}
	}
}

// findBox returns the first box of a name.
func findBox(b []byte, at int, name string) (box, bool) {
	for x := range boxes(b, at) {
		if x.name == name {
			return x, true
		}
	}
	return box{}, false
}

// Find returns the content of the first box of a name.
func Find(b []byte, name string) ([]byte, bool) {
	x, ok := findBox(b, 0, name)
	return x.b, ok
}

// Boxes yields the names and the content of the boxes in b, until one is damaged.
func Boxes(b []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for x := range boxes(b, 0) {
			if !yield(x.name, x.b) {
				return
			}
		}
	}
}

// cursor reads the fields of a box.
type cursor struct {
	b   []byte
	at  int
	bad bool // the box ended early
}

func (x box) cursor() *cursor { return &cursor{b: x.b, at: x.at} }

// uint reads an unsigned number of 0, 1, 2, 4 or 8 bytes.
func (c *cursor) uint(bytes int) uint64 {
	if bytes > len(c.b) {
		c.bad, c.b = true, nil
		return 0
	}
	v := uint64(0)
	for _, b := range c.b[:bytes] {
		v = v<<8 | uint64(b)
	}
	c.b, c.at = c.b[bytes:], c.at+bytes
	return v
}

// skip passes over bytes.
func (c *cursor) skip(bytes int) {
	if bytes > len(c.b) {
		c.bad, c.b = true, nil
		return
	}
	c.b, c.at = c.b[bytes:], c.at+bytes
}

func (c *cursor) int(bytes int) int { return int(c.uint(bytes)) }

// full reads the version and the flags with which some boxes begin.
func (c *cursor) full() (version int, flags int) {
	v := c.int(4)
	return v >> 24, v & (1<<24 - 1)
}

// rest returns what is left, as a box.
func (c *cursor) rest() box { return box{at: c.at, b: c.b} }
