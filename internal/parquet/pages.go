package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/columns"
)

// The library allocates the memory that a file's footer, the heads of its pages and its compressed blocks ask
// for. The checks here come first.

// entrySize bounds the memory of the library for an element of the footer.
const entrySize = 1 << 10

// checkFooter checks the length of the footer and of its lists.
func checkFooter(r io.ReaderAt, size int64) error {
	var tail [8]byte
	if size < 12 {
		return fmt.Errorf("%d bytes are not a Parquet file", size)
	}
	if _, err := r.ReadAt(tail[:], size-8); err != nil && err != io.EOF {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if string(tail[4:]) != "PAR1" {
		return errors.New("not a Parquet file: it does not end with PAR1")
	}
	if n > size-12 {
		return fmt.Errorf("truncated: a Parquet footer of %d bytes in a file of %d", n, size)
	}
	footer, err := budget.ReadN("the Parquet footer", io.NewSectionReader(r, size-8-n, n), n)
	if err != nil {
		return err
	}
	s, err := scanThrift(footer, nil)
	if err != nil {
		return err
	}
	return budget.Check("the Parquet footer", budget.Product(s.elements, entrySize))
}

// checkRows compares the memory of the used columns, by the file's footer, with the limit.
func (p *reader) checkRows(f *pq.File) error {
	var need int64
	for g := range f.Metadata().RowGroups {
		for c := range f.Metadata().RowGroups[g].Columns {
			md := &f.Metadata().RowGroups[g].Columns[c].MetaData
			switch role := p.roleOf(c); {
			case role == roleIgnored:
			case role == roleFile || role == roleLabel:
				need = budget.Sum(need, budget.Product(md.NumValues, columns.TextSize(0)))
			default:
				need = budget.Sum(need, budget.Product(md.NumValues, 4))
			}
		}
	}
	return budget.Check("the table", need)
}

// checkPages goes through the pages of the used columns.
func (p *reader) checkPages(r io.ReaderAt, size int64, f *pq.File) error {
	for g := range f.Metadata().RowGroups {
		for c := range f.Metadata().RowGroups[g].Columns {
			if p.roleOf(c) == roleIgnored {
				continue
			}
			md := &f.Metadata().RowGroups[g].Columns[c].MetaData
			if err := checkChunk(r, size, md); err != nil {
				return fmt.Errorf("column %s: %w", p.leaves[c].name, err)
			}
		}
	}
	return nil
}

func (p *reader) roleOf(column int) int {
	if column >= len(p.leaves) {
		return roleIgnored
	}
	return p.leaves[column].role
}

// maxPageHead is the largest size of the head of a page, whose statistics may hold values.
const maxPageHead = 1 << 24

// pageHead holds the used fields of the head of a page.
type pageHead struct{ kind, compressed, unpacked, values, levels int64 }

// checkChunk goes through the pages of a column chunk.
func checkChunk(r io.ReaderAt, size int64, md *format.ColumnMetaData) error {
	at, n := md.DataPageOffset, md.TotalCompressedSize
	if d := md.DictionaryPageOffset; d > 0 && d < at {
		at = d
	}
	if at < 0 || n < 0 || at > size || n > size-at {
		return fmt.Errorf("truncated: %d bytes from %d in a file of %d", n, at, size)
	}
	for end := at + n; at < end; {
		h, length, err := readPageHead(io.NewSectionReader(r, at, end-at))
		if err != nil {
			return err
		}
		at += length
		if h.compressed < 0 || h.compressed > end-at {
			return fmt.Errorf("truncated: a page of %d bytes where there are %d", h.compressed, end-at)
		}
		need := budget.Sum(h.unpacked, budget.Product(h.values, 16)) // values and their levels
		if err := budget.Check("a page", need); err != nil {
			return err
		}
		skip := min(h.levels, h.compressed) // levels of version 2 are uncompressed before the data
		if err := checkUnpacked(md.Codec, io.NewSectionReader(r, at+skip, h.compressed-skip),
			h.compressed-skip); err != nil {
			return err
		}
		at += h.compressed
	}
	return nil
}

// readPageHead reads the head of a page and returns its length. The length is only known at the end, so more is
// read until the head fits.
func readPageHead(r *io.SectionReader) (h pageHead, length int64, err error) {
	for n := int64(1 << 10); ; n *= 8 {
		n = min(n, r.Size(), maxPageHead)
		b := make([]byte, n)
		if _, err := r.ReadAt(b, 0); err != nil && err != io.EOF {
			return h, 0, err
		}
		h = pageHead{}
		s, err := scanThrift(b, h.number)
		if err == nil {
			return h, int64(s.at), nil
		}
		if n == r.Size() || n == maxPageHead {
			return h, 0, err
		}
	}
}

// number sets a field from a number in a page's head. In the head itself, field 1 is the kind, 2 the unpacked
// size and 3 the size. In the heads of the kinds of pages, 5 (data), 7 (dictionary) and 8 (data, version 2),
// field 1 is the number of values. In version 2, fields 5 and 6 are the lengths of the levels.
func (h *pageHead) number(outer, field int, v int64) {
	switch {
	case outer == 0 && field == 1:
		h.kind = v
	case outer == 0 && field == 2:
		h.unpacked = v
	case outer == 0 && field == 3:
		h.compressed = v
	case (outer == 5 || outer == 7 || outer == 8) && field == 1:
		h.values = v
	case outer == 8 && (field == 5 || field == 6):
		h.levels = budget.Sum(h.levels, v)
	}
}

// gzipRatio is the largest number of bytes that deflate unpacks from a byte.
const gzipRatio = 1032

// checkUnpacked unpacks a page of n bytes to check that the result is within the limit, if its size does not
// bound the result.
func checkUnpacked(codec format.CompressionCodec, r io.Reader, n int64) error {
	var unpack io.Reader
	switch codec {
	case format.Snappy:
		head := make([]byte, min(n, binary.MaxVarintLen64))
		if _, err := io.ReadFull(r, head); err != nil {
			return err
		}
		v, _ := binary.Uvarint(head)
		return budget.Check("a page", int64(min(v, 1<<62)))
	case format.Gzip:
		if n == 0 || n < budget.Limit()/gzipRatio {
			return nil
		}
		z, err := gzip.NewReader(r)
		if err != nil {
			return err
		}
		unpack = z
	case format.Lz4Raw:
		packed, err := budget.ReadN("a page", r, n)
		if err != nil {
			return err
		}
		return checkLZ4(packed)
	case format.Brotli:
		unpack = brotli.NewReader(r)
	case format.Zstd:
		packed, err := budget.ReadN("a page", r, n)
		if err != nil {
			return err
		}
		var head zstd.Header
		if head.Decode(packed) == nil && head.HasFCS {
			if err := budget.Check("a page", int64(min(head.FrameContentSize, 1<<62))); err != nil {
				return err
			}
		}
		z, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		if err != nil {
			return err
		}
		defer z.Close()
		unpack = z
	default:
		return nil
	}
	_, err := io.Copy(io.Discard, budget.Reader("a page", unpack))
	return err
}
