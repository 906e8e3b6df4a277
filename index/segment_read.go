package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/compute/exact/nearest"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/store"
)

// readCodes reads the sections that searches scan.
func (s *segment) readCodes(r *sectionReader) {
	code := r.readSection("codes", uint64(nearest.CodeBytes(s.n, s.d)))
	if nearest.IsWide(s.d) {
		s.codes.Ints = view16(code)
	} else {
		s.codes.Bytes = code
	}
	padded := 4 * uint64(nearest.Padded(s.n))
	s.codes.Scale, s.codes.Half = view32f(r.readSection("scale", padded)), view32f(r.readSection("half", padded))
	s.codes.Slack = view32f(r.readSection("slack", padded))
	s.codeSums = view32(r.readSection("code.sums", 4*uint64(nearest.Blocks(s.n))))
	space := view64f(r.readSection("space", 8*uint64(s.d+1)))
	if r.err == nil {
		s.codes.Rows = s.n
		s.codes.Space = nearest.Space{Distance: exact.Distance(s.table.Distance), Center: slices.Clone(space[:s.d]),
			Exp: int(space[s.d])}
	}
}

// appendError adds the error to the reasons why a segment is unfit for searches.
func (r *sectionReader) appendError(bad []string) []string {
	if r.err != nil {
		bad = append(bad, r.err.Error())
		r.err = nil
	}
	return bad
}

// readTable reads the footer and the table of contents.
func (s *segment) readTable() error {
	b := s.file.Bytes
	le := binary.LittleEndian
	if len(b) < segmentFooter || string(b[len(b)-8:]) != segmentMagic {
		return errors.New("not a segment of an index, or cut off")
	}
	footer := b[len(b)-segmentFooter:]
	if v := le.Uint32(footer[20:]); v != formatVersion {
		return versionError(int(v))
	}
	at, n, end := le.Uint64(footer), le.Uint64(footer[8:]), uint64(len(b)-segmentFooter)
	if at > end || n != end-at {
		return errors.New("the footer does not fit the file")
	}
	if crc32.Update(crc32.Checksum(b[at:end], castagnoli()), castagnoli(), footer[:16]) != le.Uint32(footer[16:]) {
		return errors.New("the checksum of its table is wrong")
	}
	if err := strictjson.UnmarshalLoose(b[at:end], &s.table); err != nil {
		return fmt.Errorf("its table: %w", err)
	}
	for _, c := range s.table.Sections {
		if c.Offset%sectionAlign != 0 || c.Offset > at || c.Length > at-c.Offset {
			return fmt.Errorf("section %q lies outside the file", c.Name)
		}
	}
	if len(s.table.Columns) > store.MaxColumns {
		return fmt.Errorf("%d columns", len(s.table.Columns))
	}
	return nil
}

// checkNumbers checks that the numbers in sections refer to existing rows and texts. A
// forged file can have correct checksums.
func (s *segment) checkNumbers() error {
	if e := s.codes.Exp; e < -2000 || e > 2000 {
		return fmt.Errorf("exponent %d", e)
	}
	for _, r := range s.slots {
		if r != emptySlot && r >= uint32(s.n) {
			return fmt.Errorf("its hash table names row %d of %d", r, s.n)
		}
	}
	if s.lists == nil {
		return nil
	}
	if len(s.lists) < 2 || s.lists[0] != 0 || s.lists[len(s.lists)-1] != uint32(s.n) || !slices.IsSorted(s.lists) {
		return errors.New("its lists do not cover its rows")
	}
	return nil
}

// checkColumns is checkNumbers for the texts of columns.
func (s *segment) checkColumns() error {
	for name, c := range s.columns {
		for _, w := range c.words {
			if int(w) >= len(c.text.offsets) {
				return fmt.Errorf("column %q names text %d of %d", name, w, len(c.text.offsets)-1)
			}
		}
	}
	return nil
}

// sectionReader takes the sections out of a file and keeps the first error.
type sectionReader struct {
	s   *segment
	err error
}

func (r *sectionReader) findSection(name string) (section, bool) {
	for _, c := range r.s.table.Sections {
		if c.Name == name {
			return c, true
		}
	}
	return section{}, false
}

// readSection returns a section of the given length; 0 means any multiple of 8. It compares the
// checksum, unless the blocks of the section have their own checksums.
func (r *sectionReader) readSection(name string, length uint64) []byte {
	c, ok := r.findSection(name)
	switch {
	case r.err != nil:
	case !ok:
		r.err = fmt.Errorf("it has no section %q", name)
	case length > 0 && c.Length != length || length == 0 && c.Length%4 != 0 && !strings.HasSuffix(name, ".text"):
		r.err = fmt.Errorf("section %q has %d bytes: must be %d", name, c.Length, length)
	default:
		b := r.s.file.Bytes[c.Offset : c.Offset+c.Length : c.Offset+c.Length]
		if name == "vectors" || name == "codes" || crc32.Checksum(b, castagnoli()) == c.Sum {
			return b
		}
		r.err = fmt.Errorf("the checksum of section %q is wrong", name)
	}
	return nil
}

// readTexts returns n texts; -1 means any number.
func (r *sectionReader) readTexts(name string, n int) textList {
	t := textList{bytes: r.readSection(name+".text", 0)}
	if n >= 0 {
		t.offsets = view64(r.readSection(name, 8*uint64(n+1)))
	} else {
		t.offsets = view64(r.readSection(name, 0))
	}
	if r.err != nil {
		return t
	}
	last := uint64(0)
	for _, o := range t.offsets {
		if o < last || o > uint64(len(t.bytes)) {
			r.err = fmt.Errorf("section %q points outside its texts", name)
			return t
		}
		last = o
	}
	if len(t.offsets) == 0 {
		r.err = fmt.Errorf("section %q is empty", name)
	}
	return t
}

func (r *sectionReader) readColumn(k int, kind store.Kind) *column {
	c := &column{kind: kind}
	name, n := fmt.Sprintf("column.%d", k), uint64(r.s.n)
	switch kind {
	case store.Number:
		c.numbers = view64f(r.readSection(name, 8*n))
	case store.Bool:
		c.bools = r.readSection(name, n)
	case store.Text:
		c.words, c.text = view32(r.readSection(name, 4*n)), r.readTexts(name+".words", -1)
	default:
		r.err = fmt.Errorf("column %d is of kind %q", k, kind)
	}
	return c
}
