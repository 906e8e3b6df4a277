package tiff

import (
	"context"
	"errors"
)

// lzwTable is the table of LZW as TIFF has it: codes of 9 to 12 bits from the top of each byte, which
// grow one code early. A code stands for bytes that were unpacked before: those of the code
// before it and one more.
type lzwTable struct {
	at     [1 << 12]int // where the bytes begin in what is unpacked
	length [1 << 12]uint16
}

// unpack fills out.
func (t *lzwTable) unpack(ctx context.Context, out, data []byte) error {
	const clearCode, endCode, first = 256, 257, 258
	n, next, width, last := 0, first, 9, -1
	var acc, bits uint
	for codes := 0; n < len(out); codes++ {
		if codes%(1<<14) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for bits < uint(width) && len(data) > 0 {
			acc, bits = acc<<8|uint(data[0]), bits+8
			data = data[1:]
		}
		if bits < uint(width) {
			return tooShort(n, len(out))
		}
		bits -= uint(width)
		code := int(acc >> bits & (1<<width - 1))
		begin := n
		switch {
		case code == clearCode:
			next, width, last = first, 9, -1
			continue
		case code == endCode:
			return tooShort(n, len(out))
		case code < clearCode:
			out[n] = byte(code)
			n++
		case code < next:
			n += copy(out[n:], out[t.at[code]:][:t.length[code]])
		case code == next && last >= 0: // the bytes before, and the first of them again
			n += copy(out[n:], out[last:n])
			if n < len(out) {
				out[n] = out[last]
				n++
			}
		default:
			return errors.New("a code of LZW that is not in its table")
		}
		if last >= 0 && next < len(t.at) {
			t.at[next], t.length[next] = last, uint16(begin-last+1)
			next++
			if next+1 >= 1<<width && width < 12 {
				width++
			}
		}
		last = begin
	}
	return nil
}
