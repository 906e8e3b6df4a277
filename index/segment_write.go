package index

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/compute/exact/nearest"
	"github.com/kindred-ml/kindred/store"
)

// rowSource has the rows from which a segment is written. Texts may share the memory of
// another segment.
type rowSource interface {
	rows() int
	row(i int) []float32
	id(i int) string
	path(i int) string
	value(i int, column string) any // nil for none
}

// entrySource has the rows of added items.
type entrySource []*store.Item

func (s entrySource) rows() int                 { return len(s) }
func (s entrySource) row(i int) []float32       { return s[i].Vector }
func (s entrySource) id(i int) string           { return s[i].ID }
func (s entrySource) path(i int) string         { return s[i].Path }
func (s entrySource) value(i int, c string) any { return s[i].Columns[c] }

// viewSource has some rows of a view.
type viewSource struct {
	v    *view
	list []rowRef
}

// rowRef is a row of a part of a view.
type rowRef struct{ part, row int32 }

func (s *viewSource) rows() int { return len(s.list) }

func (s *viewSource) row(i int) []float32 { return s.v.row(int(s.list[i].part), int(s.list[i].row)) }

func (s *viewSource) id(i int) string { return s.v.id(int(s.list[i].part), int(s.list[i].row)) }

func (s *viewSource) path(i int) string {
	at, r := int(s.list[i].part), int(s.list[i].row)
	if at == len(s.v.parts) {
		return s.v.tail.items[r].Path
	}
	return s.v.parts[at].seg.paths.at(r)
}

func (s *viewSource) value(i int, name string) any {
	at, r := int(s.list[i].part), int(s.list[i].row)
	if at == len(s.v.parts) {
		return s.v.tail.items[r].Columns[name]
	}
	if c := s.v.parts[at].seg.columns[name]; c != nil {
		return c.value(r)
	}
	return nil
}

// listLayout divides a segment into lists: the rows of list k are starts[k] to
// starts[k+1] - 1.
type listLayout struct {
	starts  []uint32
	centers []float32
}

// segmentSpec describes a segment to be written.
type segmentSpec struct {
	dim      int
	distance eval.Distance
	columns  []store.Column
	source   rowSource
	lists    *listLayout // nil: none
	progress func(done float64)
}

// writeSegment writes the file of a segment, completely and durably or not at all.
func writeSegment(ctx context.Context, files atomic.Files, path string, spec *segmentSpec) error {
	return files.Write(path, func(out io.Writer) error {
		w := &segmentWriter{ctx: ctx, spec: spec, w: bufio.NewWriterSize(out, 1<<20), n: spec.source.rows()}
		w.table = contents{Rows: w.n, Dim: spec.dim, Distance: spec.distance, Columns: []store.Column{}}
		if w.n < 1 || w.n > math.MaxInt32 {
			return fmt.Errorf("a segment of %d items: at most %d", w.n, math.MaxInt32)
		}
		w.writeVectors()
		w.writeCodes()
		w.writeTexts("ids", spec.source.id)
		w.writeTexts("paths", spec.source.path)
		w.writeIDTable()
		for _, c := range spec.columns {
			w.writeColumn(c)
		}
		if l := spec.lists; l != nil {
			w.writeSection("lists", func() { w.write(bytesOf(l.starts)) })
			w.writeSection("centroids", func() { w.write(bytesOf(l.centers)) })
		}
		w.writeFooter()
		return w.err
	})
}

// segmentWriter writes one section after another and keeps the first error, after
// which it does nothing.
type segmentWriter struct {
	ctx    context.Context
	spec   *segmentSpec
	w      *bufio.Writer
	n      int
	offset uint64
	sum    uint32
	table  contents
	err    error
}

func (w *segmentWriter) write(b []byte) {
	if w.err != nil {
		return
	}
	if w.err = w.ctx.Err(); w.err == nil {
		_, w.err = w.w.Write(b)
	}
	w.offset += uint64(len(b))
	w.sum = crc32.Update(w.sum, castagnoli(), b)
}

// writeSection writes a section, whose content the function content writes.
func (w *segmentWriter) writeSection(name string, content func()) {
	w.write(make([]byte, -w.offset%sectionAlign))
	begin := w.offset
	w.sum = 0
	content()
	w.table.Sections = append(w.table.Sections, section{name, begin, w.offset - begin, w.sum})
}

// chunkRows is the number of rows that are in memory at a time: whole blocks.
const chunkRows = 16 * nearest.Block

// chunks yields the vectors, many at a time.
func (w *segmentWriter) chunks() iter.Seq[[]float32] {
	return func(yield func([]float32) bool) {
		d := w.spec.dim
		var buf []float32
		for lo := 0; lo < w.n && w.err == nil; lo += chunkRows {
			if w.err = w.ctx.Err(); w.err != nil {
				return
			}
			buf = buf[:0]
			for i := lo; i < min(lo+chunkRows, w.n); i++ {
				buf = append(buf, w.spec.source.row(i)[:d]...)
			}
			if !yield(buf) {
				return
			}
		}
	}
}

func (w *segmentWriter) writeVectors() {
	var sums []uint32
	w.writeSection("vectors", func() {
		for x := range w.chunks() {
			w.write(bytesOf(x))
			sums = appendSums(sums, bytesOf(x), 4*w.spec.dim*rowsPerSum(w.spec.dim))
		}
	})
	w.writeSection("sums", func() { w.write(bytesOf(sums)) })
}

// appendSums adds the checksums of blocks of a size. The last block may be shorter.
func appendSums(sums []uint32, b []byte, size int) []uint32 {
	for lo := 0; lo < len(b); lo += size {
		sums = append(sums, crc32.Checksum(b[lo:min(lo+size, len(b))], castagnoli()))
	}
	return sums
}

// writeCodes writes the sections that searches scan.
func (w *segmentWriter) writeCodes() {
	space := nearest.FitSpace(exact.Distance(w.spec.distance), w.spec.dim, w.n, w.spec.source.row)
	var scale, half, slack []float32
	var sums []uint32
	w.writeSection("codes", func() {
		for x := range w.chunks() {
			c := space.Encode(x)
			code := c.Bytes
			if nearest.IsWide(w.spec.dim) {
				code = bytesOf(c.Ints)
			}
			w.write(code)
			sums = appendSums(sums, code, nearest.CodeBytes(nearest.Block, w.spec.dim))
			scale, half, slack = append(scale, c.Scale...), append(half, c.Half...), append(slack, c.Slack...)
			if w.spec.progress != nil {
				w.spec.progress(float64(min(len(scale), w.n)) / float64(w.n))
			}
		}
	})
	w.writeSection("code.sums", func() { w.write(bytesOf(sums)) })
	w.writeSection("scale", func() { w.write(bytesOf(scale)) })
	w.writeSection("half", func() { w.write(bytesOf(half)) })
	w.writeSection("slack", func() { w.write(bytesOf(slack)) })
	w.writeSection("space", func() { w.write(bytesOf(append(slices.Clone(space.Center), float64(space.Exp)))) })
}

// writeTexts writes a text of every row.
func (w *segmentWriter) writeTexts(name string, text func(i int) string) {
	offsets := make([]uint64, 1, w.n+1)
	w.writeSection(name+".text", func() {
		for i := range w.n {
			s := text(i)
			w.write([]byte(s))
			offsets = append(offsets, offsets[i]+uint64(len(s)))
		}
	})
	w.writeSection(name, func() { w.write(bytesOf(offsets)) })
}

// writeIDTable writes the hash table of the ids.
func (w *segmentWriter) writeIDTable() {
	slots := make([]uint32, slotCount(w.n))
	for i := range slots {
		slots[i] = emptySlot
	}
	mask := uint64(len(slots) - 1)
	for i := range w.n {
		at := hashID(w.spec.source.id(i)) & mask
		for slots[at] != emptySlot {
			at = (at + 1) & mask
		}
		slots[at] = uint32(i)
	}
	w.writeSection("find", func() { w.write(bytesOf(slots)) })
}

// writeColumn writes the values of a column, unless all are missing.
func (w *segmentWriter) writeColumn(c store.Column) {
	some := false
	for i := 0; i < w.n && !some; i++ {
		some = w.spec.source.value(i, c.Name) != nil
	}
	if !some {
		return
	}
	name := fmt.Sprintf("column.%d", len(w.table.Columns))
	w.table.Columns = append(w.table.Columns, c)
	value := func(i int) any { return w.spec.source.value(i, c.Name) }
	switch c.Kind {
	case store.Number:
		v := make([]float64, w.n)
		for i := range v {
			v[i] = missingNumber
			if number, ok := value(i).(float64); ok {
				v[i] = number + 0 // no -0
			}
		}
		w.writeSection(name, func() { w.write(bytesOf(v)) })
	case store.Bool:
		v := make([]byte, w.n)
		for i := range v {
			switch value(i) {
			case nil:
				v[i] = 2
			case true:
				v[i] = 1
			}
		}
		w.writeSection(name, func() { w.write(v) })
	default:
		w.writeTextColumn(name, value)
	}
}

// writeTextColumn writes a column of texts.
func (w *segmentWriter) writeTextColumn(name string, value func(i int) any) {
	numbers, words := make(map[string]uint32), make([]uint32, w.n)
	var text []byte
	offsets := []uint64{0}
	for i := range words {
		word, ok := value(i).(string)
		if !ok {
			continue
		}
		k, ok := numbers[word]
		if !ok {
			k = uint32(len(numbers) + 1)
			numbers[strings.Clone(word)] = k // the key outlives what word shares memory with
			text = append(text, word...)
			offsets = append(offsets, uint64(len(text)))
		}
		words[i] = k
	}
	w.writeSection(name, func() { w.write(bytesOf(words)) })
	w.writeSection(name+".words.text", func() { w.write(text) })
	w.writeSection(name+".words", func() { w.write(bytesOf(offsets)) })
}

// writeFooter writes the table and the footer.
func (w *segmentWriter) writeFooter() {
	table, err := json.Marshal(w.table)
	if err != nil && w.err == nil {
		w.err = err
	}
	at := w.offset
	w.write(table)
	le := binary.LittleEndian
	footer := le.AppendUint64(nil, at)
	footer = le.AppendUint64(footer, uint64(len(table)))
	sum := crc32.Update(crc32.Checksum(table, castagnoli()), castagnoli(), footer)
	footer = le.AppendUint32(footer, sum)
	footer = le.AppendUint32(footer, formatVersion)
	w.write(append(footer, segmentMagic...))
	if w.err == nil {
		w.err = w.w.Flush()
	}
}
