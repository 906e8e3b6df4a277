package tiff

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// fax decodes bilevel rows as facsimile machines code them (ITU-T T.4 and T.6): each row as
// runs of white and black in turn, or by where its colours change below those of the row
// before. A bit of the result is 1 where a run is black; what is white on paper is for the
// photometric interpretation to say.
type fax struct {
	b    []byte
	at   int // the next bit
	w    int
	ref  []int // where the row before changes its colour
	row  []int
	kind faxKind
}

// faxKind is how rows are coded.
type faxKind int

const (
	faxRuns     faxKind = iota // runs; a row begins with a byte
	faxWords                   // runs; a row begins with two bytes
	faxGroup3                  // runs, behind a mark for the end of a line
	faxGroup32D                // the mark says whether runs or changes follow
	faxGroup4                  // changes
)

// codeBits is the length of the longest code.
const codeBits = 13

// codeTable finds codes by the next codeBits bits: value << 4 | length, 0 for none.
type codeTable [1 << codeBits]uint16

func (t *codeTable) add(code string, value int) {
	first := 0
	for _, c := range code {
		first = first<<1 | int(c-'0')
	}
	rest := codeBits - len(code)
	for i := range 1 << rest {
		t[first<<rest+i] = uint16(value<<4 | len(code))
	}
}

type faxTables struct {
	runs  [2]codeTable // of white, of black
	modes codeTable
}

var tables = sync.OnceValue(func() *faxTables {
	t := new(faxTables)
	for colour, codes := range [2]string{whiteCodes, blackCodes} {
		for i, code := range strings.Fields(codes) {
			t.runs[colour].add(code, max(i, 64*(i-63)))
		}
		for i, code := range strings.Fields(longCodes) {
			t.runs[colour].add(code, 1792+64*i)
		}
	}
	for mode, code := range strings.Fields(modeCodes) {
		t.modes.add(code, mode)
	}
	return t
})

var errFax = errors.New("a code that no fax machine writes")

// rows decodes h rows into out, each of (w + 7) / 8 bytes, which are 0 before.
func (f *fax) rows(ctx context.Context, out []byte, h int) error {
	stride := (f.w + 7) / 8
	for y := range h {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f.next(); err != nil {
			return fmt.Errorf("row %d of %d: %w", y, h, err)
		}
		f.fill(out[y*stride : (y+1)*stride])
		f.ref, f.row = f.row, f.ref[:0]
	}
	return nil
}

// next decodes a row into f.row.
func (f *fax) next() error {
	switch f.kind {
	case faxRuns:
		f.at = (f.at + 7) &^ 7
	case faxWords:
		f.at = (f.at + 15) &^ 15
	case faxGroup4:
		return f.changes()
	default:
		f.endOfLine()
		if f.kind == faxGroup32D {
			tag := f.peek(1)
			f.at++
			if tag == 0 {
				return f.changes()
			}
		}
	}
	return f.runs()
}

// endOfLine passes the mark of the end of a line, eleven zeros or more and a one, if it is
// next.
func (f *fax) endOfLine() {
	if f.peek(11) != 0 {
		return
	}
	at := f.at + 11
	for ; at < 8*len(f.b); at++ {
		if f.b[at/8]>>(7-at%8)&1 == 1 {
			f.at = at + 1
			return
		}
	}
}

// peek returns the next n bits, 16 at most; behind the end are zeros.
func (f *fax) peek(n int) int {
	v := 0
	for i := range 3 {
		v <<= 8
		if k := f.at/8 + i; k < len(f.b) {
			v |= int(f.b[k])
		}
	}
	return v >> (24 - f.at%8 - n) & (1<<n - 1)
}

// code reads one code.
func (f *fax) code(t *codeTable) (int, error) {
	e := t[f.peek(codeBits)]
	n := int(e & 15)
	switch {
	case f.at+n > 8*len(f.b) || n == 0 && f.at+codeBits > 8*len(f.b):
		return 0, errors.New("the data end")
	case n == 0:
		return 0, errFax
	}
	f.at += n
	return int(e >> 4), nil
}

// run reads the length of a run.
func (f *fax) run(colour int) (int, error) {
	for all := 0; ; {
		n, err := f.code(&tables().runs[colour])
		if err != nil {
			return 0, err
		}
		if all += n; n < 64 || all > f.w {
			return all, nil
		}
	}
}

func (f *fax) tooLong(n int) error { return fmt.Errorf("a run up to pixel %d in a row of %d", n, f.w) }

// runs decodes a row of runs.
func (f *fax) runs() error {
	for at, colour := 0, 0; at < f.w; colour ^= 1 {
		n, err := f.run(colour)
		if err != nil {
			return err
		}
		if at += n; at > f.w {
			return f.tooLong(at)
		}
		f.change(at)
	}
	return nil
}

// change adds a place where the colour changes. Two at one place are none.
func (f *fax) change(at int) {
	if last := len(f.row) - 1; last >= 0 && f.row[last] == at {
		f.row = f.row[:last]
		return
	}
	f.row = append(f.row, at)
}

// above returns which change of the row before is the first that is right of a and ends the
// colour; its even changes end white. i is the answer before: a change to the left of it can
// only be the one next to it.
func (f *fax) above(i, a, colour int) int {
	if i%2 != colour {
		i = max(i-1, colour)
	}
	for i < len(f.ref) && f.ref[i] <= a {
		i += 2
	}
	return i
}

// refAt is a change of the row before, or its end.
func (f *fax) refAt(i int) int {
	if i < len(f.ref) {
		return f.ref[i]
	}
	return f.w
}

// changes decodes a row from the one before.
func (f *fax) changes() error {
	at, colour, i := -1, 0, 0
	for at < f.w {
		if f.peek(7) == 1 {
			return Unsupported("CCITT with an uncompressed part")
		}
		mode, err := f.code(&tables().modes)
		if err != nil {
			return err
		}
		i = f.above(i, at, colour)
		switch mode {
		case modePass:
			at = f.refAt(i + 1)
		case modeHorizontal:
			at = max(at, 0)
			for range 2 {
				n, err := f.run(colour)
				if err != nil {
					return err
				}
				if at += n; at > f.w {
					return f.tooLong(at)
				}
				f.change(at)
				colour ^= 1
			}
		default:
			a := f.refAt(i) + mode - modeBelow
			if a < max(at, 0) || a > f.w {
				return errFax
			}
			f.change(a)
			at, colour = a, colour^1
		}
	}
	return nil
}

// fill writes the black runs of the row.
func (f *fax) fill(out []byte) {
	for i := 0; i < len(f.row); i += 2 {
		end := f.w
		if i+1 < len(f.row) {
			end = f.row[i+1]
		}
		for x := f.row[i]; x < end; {
			if x%8 == 0 && end-x >= 8 {
				out[x/8] = 0xff
				x += 8
				continue
			}
			out[x/8] |= 0x80 >> (x % 8)
			x++
		}
	}
}
