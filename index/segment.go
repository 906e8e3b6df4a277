package index

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/kindred-ml/kindred/eval"
	files "github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/mappedfile"
	"github.com/kindred-ml/kindred/internal/compute/exact/nearest"
	"github.com/kindred-ml/kindred/store"
)

// A segment is rows in a file that does not change. All numbers are little-endian.
//
//	bytes       content
//	0 ..        sections, each at a multiple of 64
//	T           table of contents as JSON: rows, dimension, distance, columns, and of
//	            each section its name, offset, length and CRC-32C
//	end - 32    footer:
//	              0  8  T
//	              8  8  length of the table
//	             16  4  CRC-32C of the table and of the footer up to here
//	             20  4  version, 3
//	             24  8  magic "kindseg1"
//
// The sections of n rows of dimension d:
//
//	vectors      n x d float32
//	ids, paths   n + 1 offsets (uint64) into the section ids.text, paths.text
//	find         a hash table of row numbers (uint32), ffffffff where it is empty: a
//	             power of two of them, linear probing from FNV-1a of the id
//	column.K     values of the K-th column: n float64, NaN for a missing one; n
//	             bytes, 0 false, 1 true, 2 missing; or n uint32, 0 for a missing
//	             text, else 1 + its number in column.K.words, which are offsets
//	             into column.K.words.text
//	codes        the vectors as 8-bit integers, 16-bit ones if d < 48 or d > 2^17, in
//	             panels of 32 rows
//	scale, half, slack
//	             float32 for each row of the panels; see internal/compute/exact/nearest
//	space        d float64, the center; one, the exponent
//	lists        first row of each list of near rows, and n behind them (uint32)
//	centroids    a row of d float32 for each list
//	sums         CRC-32C of each block of vectors (uint32): as many rows, a power of two
//	             from 1 to 64, as take up 8 KiB at most
//	code.sums    CRC-32C of each block of codes, of 448 rows (uint32)
//
// Lists and centroids are there if the segment was cut into lists: its rows are then
// in their order. codes, scale, half, slack, space and sums follow from vectors, and
// find from ids.
//
// The vectors and the codes are most of the file, and are not read as it is opened: a
// block of them is compared with its checksum when it is used first. All other sections
// are compared as the segment is opened.
const (
	segmentMagic  = "kindseg1"
	segmentFooter = 32
	sectionAlign  = 64
	emptySlot     = math.MaxUint32
)

// contents is the table of contents of a segment.
type contents struct {
	Rows     int            `json:"rows"`
	Dim      int            `json:"dim"`
	Distance eval.Distance  `json:"distance"`
	Columns  []store.Column `json:"columns"`
	Sections []section      `json:"sections"`
}

type section struct {
	Name   string `json:"name"`
	Offset uint64 `json:"offset"`
	Length uint64 `json:"length"`
	Sum    uint32 `json:"crc32c"`
}

// segment is an open segment. Code that reads it runs within touch.
type segment struct {
	path  string
	file  *mappedfile.File
	n, d  int
	table contents
	group int // rows of a checksum in sums
	guard *guard

	x        []float32
	codes    nearest.Codes
	ids      textList
	paths    textList
	slots    []uint32
	columns  map[string]*column
	sums     []uint32 // of the vectors, block by block
	codeSums []uint32 // of the codes
	lists    []uint32 // nil without lists
	centers  []float32
	allRows  bitmap // of n rows

	refs     atomic.Int64
	obsolete atomic.Pointer[files.Files] // set once no manifest names it any more
}

// column has the values of a column in a segment; one of its slices is set.
type column struct {
	kind    store.Kind
	numbers []float64
	bools   []byte
	words   []uint32
	text    textList
}

// textList is a list of texts, one after the other in memory.
type textList struct {
	offsets []uint64
	bytes   []byte
}

// at returns a text that shares the file's memory: it must not be kept.
func (t *textList) at(i int) string {
	b := t.bytes[t.offsets[i]:t.offsets[i+1]]
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// readMapped runs code that reads a segment, and turns faults of the mapped memory into errors.
func readMapped(path string, f func()) error {
	if err := mappedfile.Access(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// openSegment opens and checks a segment of rows of dimension d. It compares the checksums
// that the guard does not compare later.
func openSegment(path string, d int, distance eval.Distance) (*segment, error) {
	f, err := openMapped(path)
	if err != nil {
		return nil, err
	}
	return readSegment(path, f, d, distance)
}

func openMapped(path string) (*mappedfile.File, error) {
	f, err := mappedfile.Open(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("opening a segment: %w", err)
	}
	return f, err
}

// readSegment is openSegment for an open file, which it closes after an error.
func readSegment(path string, f *mappedfile.File, d int, distance eval.Distance) (*segment, error) {
	s, bad, err := readDamagedSegment(path, f, d, distance)
	if err == nil && len(bad) > 0 {
		s.file.Close()
		err = &DamageError{path, bad[0]}
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// readDamagedSegment is readSegment for a segment that may be damaged. bad names the damaged sections
// that can be computed from others: without them the segment cannot be searched, but it
// can be written again.
func readDamagedSegment(path string, f *mappedfile.File, d int, distance eval.Distance) (s *segment, bad []string,
	err error) {
	s = &segment{path: path, file: f, d: d}
	var reason error
	if err := readMapped(path, func() { bad, reason = s.open(distance) }); err != nil || reason != nil {
		f.Close()
		if reason != nil {
			err = &DamageError{path, reason.Error()}
		}
		return nil, nil, err
	}
	return s, bad, nil
}

func (s *segment) open(distance eval.Distance) (bad []string, err error) {
	if err := s.readTable(); err != nil {
		return nil, err
	}
	t := &s.table
	if s.n = t.Rows; t.Dim != s.d || t.Distance != distance || s.n < 1 || s.n > math.MaxInt32 {
		return nil,
			fmt.Errorf("it has %d rows of dimension %d with the %v distance, but the index has dimension %d and the "+
				"%v distance",
				t.Rows, t.Dim, t.Distance, s.d, distance)
	}
	r := &sectionReader{s: s}
	n, d := uint64(s.n), uint64(s.d)
	s.group = rowsPerSum(s.d)
	s.x = view32f(r.readSection("vectors", n*d*4))
	s.ids, s.paths = r.readTexts("ids", s.n), r.readTexts("paths", s.n)
	s.columns = make(map[string]*column)
	for k, c := range t.Columns {
		s.columns[c.Name] = r.readColumn(k, c.Kind)
	}
	if r.err == nil {
		r.err = s.checkColumns()
	}
	if r.err != nil {
		return nil, r.err
	}
	s.allRows, s.guard = fullBitmap(s.n), newGuard(s)
	// The other sections can be computed from those read.
	s.sums = view32(r.readSection("sums", 4*uint64(s.numSums())))
	bad = r.appendError(bad)
	s.readCodes(r)
	s.slots = view32(r.readSection("find", 4*uint64(slotCount(s.n))))
	if _, ok := r.findSection("lists"); ok {
		s.lists = view32(r.readSection("lists", 0))
		s.centers = view32f(r.readSection("centroids", 4*d*uint64(max(len(s.lists), 1)-1)))
	}
	if r.err == nil {
		r.err = s.checkNumbers()
	}
	return r.appendError(bad), nil
}

func (s *segment) release() {
	if s.refs.Add(-1) > 0 {
		return
	}
	s.file.Close()
	if f := s.obsolete.Load(); f != nil {
		_ = f.Remove(s.path) // or at the next start, if a reader elsewhere has it open
	}
}

// retire marks the segment, so that the last view that uses it removes its file.
func (s *segment) retire(f files.Files) { s.obsolete.Store(&f) }

// slotCount returns the size of the hash table of n rows.
func slotCount(n int) int {
	c := 8
	for 2*c < 3*n {
		c *= 2
	}
	return c
}

// hashID returns the FNV-1a hash of an id.
func hashID(id string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	return h
}

// find returns the row of an id, or -1 if no row has it.
func (s *segment) find(id string) int {
	if s.slots == nil { // of a damaged segment
		for r := range s.n {
			if s.ids.at(r) == id {
				return r
			}
		}
	}
	mask := uint64(len(s.slots) - 1)
	at := hashID(id) & mask
	for range s.slots {
		r := s.slots[at]
		if r == emptySlot {
			return -1
		}
		if s.ids.at(int(r)) == id {
			return int(r)
		}
		at = (at + 1) & mask
	}
	return -1
}

func (s *segment) row(i int) []float32 { return s.x[i*s.d : (i+1)*s.d] }

// id and item return copies.
func (s *segment) id(i int) string { return strings.Clone(s.ids.at(i)) }

func (s *segment) item(i int) store.Item {
	it := s.itemWithoutVector(i)
	it.Vector = slices.Clone(s.row(i))
	return it
}

// itemWithoutVector returns an item without its vector, which it does not read.
func (s *segment) itemWithoutVector(i int) store.Item {
	it := store.Item{ID: s.id(i), Path: strings.Clone(s.paths.at(i))}
	if len(s.columns) > 0 {
		it.Columns = make(map[string]any, len(s.columns))
	}
	for name, c := range s.columns {
		if text, ok := c.word(i); ok {
			it.Columns[name] = strings.Clone(text)
		} else if v := c.value(i); v != nil {
			it.Columns[name] = v
		}
	}
	if len(it.Columns) == 0 {
		it.Columns = nil
	}
	return it
}

// value returns the value of a row, or nil if it has none. A text shares the file's memory.
func (c *column) value(i int) any {
	switch c.kind {
	case store.Number:
		if v := c.numbers[i]; v == v {
			return v + 0 // no -0
		}
	case store.Bool:
		if v := c.bools[i]; v < 2 {
			return v == 1
		}
	case store.Text:
		if text, ok := c.word(i); ok {
			return text
		}
	}
	return nil
}

// word returns the text of a row, and false if it has none.
func (c *column) word(i int) (string, bool) {
	if c.kind != store.Text || c.words[i] == 0 {
		return "", false
	}
	return c.text.at(int(c.words[i]) - 1), true
}
