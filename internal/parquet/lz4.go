package parquet

import (
	"encoding/binary"
	"errors"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// errLZ4 is the error of a block that is cut off or refers to missing data.
var errLZ4 = errors.New("a damaged page of LZ4")

// lz4Length returns the unpacked length of a block of LZ4. The block must be complete, because the decoder takes
// any damage for a lack of room and asks for more and more memory.
//
// A block consists of sequences. A sequence has a byte with two lengths, the literals of the first length, and a
// match: its distance back, and the second length less four. A length of 15 continues in the following bytes as
// long as these are 255. The last sequence has no match (lz4_Block_format.md).
func lz4Length(b []byte) (int64, error) {
	var n int64
	for len(b) > 0 {
		token := b[0]
		literals, rest, ok := lz4Extended(token>>4, b[1:])
		if !ok || literals > int64(len(rest)) {
			return 0, errLZ4
		}
		n += literals
		if b = rest[literals:]; len(b) == 0 {
			if token&15 != 0 { // a match without its bytes
				return 0, errLZ4
			}
			return n, nil
		}
		if len(b) < 2 {
			return 0, errLZ4
		}
		back := int64(binary.LittleEndian.Uint16(b))
		match, rest, ok := lz4Extended(token&15, b[2:])
		if !ok || back == 0 || back > n || len(rest) == 0 {
			return 0, errLZ4
		}
		n += match + 4
		b = rest
	}
	return n, nil
}

// lz4Extended reads the rest of a length that begins in four bits.
func lz4Extended(bits byte, b []byte) (n int64, rest []byte, ok bool) {
	if n = int64(bits); n < 15 {
		return n, b, true
	}
	for i, v := range b {
		if n += int64(v); v != 255 {
			return n, b[i+1:], true
		}
	}
	return 0, nil, false
}

// checkLZ4 compares the memory for unpacking a block with the limit. It begins with three times the block and
// doubles until all fits.
func checkLZ4(b []byte) error {
	n, err := lz4Length(b)
	if err != nil {
		return err
	}
	room := 3 * int64(len(b))
	for room > 0 && room < n {
		room *= 2
	}
	return budget.Check("a page", room)
}
