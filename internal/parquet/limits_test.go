package parquet

import (
	pq "github.com/parquet-go/parquet-go"

	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/test/budgettest"
)

// zerosOf compresses n zeros.
func zerosOf(t *testing.T, codec format.CompressionCodec, n int) []byte {
	t.Helper()
	b, err := pq.LookupCompressionCodec(codec).Encode(nil, make([]byte, n))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCompressedPagesUnpackWithinTheLimit(t *testing.T) {
	budgettest.Limit(t, 4<<20)
	for _, codec := range []format.CompressionCodec{format.Snappy, format.Gzip, format.Brotli, format.Zstd} {
		fits, bomb := zerosOf(t, codec, 4<<20), zerosOf(t, codec, 64<<20)
		if err := checkUnpacked(codec, bytes.NewReader(fits), int64(len(fits))); err != nil {
			t.Errorf("%v: all of the limit: %v", codec, err)
		}
		budgettest.CheckRefused(t, codec.String(), 40<<20,
			func() error { return checkUnpacked(codec, bytes.NewReader(bomb), int64(len(bomb))) })
		if err := checkUnpacked(codec, bytes.NewReader(nil), 0); err != nil && codec != format.Snappy &&
			codec != format.Brotli && codec != format.Zstd {
			t.Errorf("%v: nothing: %v", codec, err)
		}
	}
	// What is stored as it is, the file's size bounds.
	if err := checkUnpacked(format.Uncompressed, bytes.NewReader(nil), 64<<20); err != nil {
		t.Error(err)
	}
	if err := checkUnpacked(format.Gzip, bytes.NewReader(make([]byte, 1<<20)), 1<<20); err == nil {
		t.Error("a page that is not gzip was accepted")
	}
	// Small enough not to be looked at.
	if err := checkUnpacked(format.Gzip, bytes.NewReader(nil), 4<<20/gzipRatio-1); err != nil {
		t.Errorf("a small page: %v", err)
	}
}

// A thousand million rows fit in a small file of repetitions.
func TestRowsAreCountedFirst(t *testing.T) {
	rows := make([]row, 60_000)
	for i := range rows {
		rows[i] = row{"", make([]float32, 32), "a"}
	}
	data := fileOf(t, rows, pq.Compression(&pq.Zstd))
	if _, err := parse(bytes.NewReader(data), int64(len(data)), false); err != nil {
		t.Fatal(err)
	}
	budgettest.Limit(t, 4<<20)
	budgettest.CheckRefused(t, "rows", 40<<20, func() error {
		_, err := parse(bytes.NewReader(data), int64(len(data)), false)
		return err
	})
}

// The reader counts what it gathers, whatever the footer told.
func TestReaderCounts(t *testing.T) {
	for _, c := range []struct {
		name   string
		rows   []row
		most   int64
		refuse bool
	}{
		{"within", []row{{"ab", []float32{1, 2}, "c"}}, 2*4 + 50 + 145, false},
		{"beyond", []row{{"ab", []float32{1, 2}, "c"}}, 2*4 + 50 + 144, true},
	} {
		data := fileOf(t, c.rows)
		f, err := pq.OpenFile(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		p, err := newReader(f, false)
		if err != nil {
			t.Fatal(err)
		}
		p.limit = c.most
		var e *budget.Error
		if err := p.read(f.RowGroups()[0]); errors.As(err, &e) != c.refuse {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// head writes the head of a page by hand: its kind's field, then what it claims.
func head(kind int, unpacked, compressed, values, levels int64) []byte {
	zz := func(v int64) []byte { return binary.AppendUvarint(nil, uint64(v<<1)^uint64(v>>63)) }
	b := append([]byte{0x15}, zz(0)...)            // 1: type
	b = append(append(b, 0x15), zz(unpacked)...)   // 2
	b = append(append(b, 0x15), zz(compressed)...) // 3
	b = append(b, byte(kind-3)<<4|thriftStruct)
	b = append(append(b, 0x15), zz(values)...) // its 1
	if kind == 8 {
		b = append(append(b, 0x45), zz(levels)...) // its 5
		b = append(append(b, 0x15), zz(levels)...) // its 6
	}
	// a structure within, whose numbers do not count, and lists
	b = append(b, 0x1c, 0x15, 0x7f, 0x19, 0x25, 1, 2, 0x1b, 1, 0x85, 3, 'a', 'b', 'c', 9, 0x18, 2, 'x', 'y', 0x11, 0x12,
		0x17, 1, 2, 3, 4, 5, 6, 7, 8, 0)
	return append(b, 0, 0)
}

func TestPageHeads(t *testing.T) {
	for _, kind := range []int{5, 7, 8} {
		b := head(kind, 7, 9, 11, 3)
		h, n, err := readPageHead(io.NewSectionReader(bytes.NewReader(append(slices.Clone(b), 1, 2, 3)), 0,
			int64(len(b)+3)))
		want := pageHead{compressed: 9, unpacked: 7, values: 11}
		if kind == 8 {
			want.levels = 6
		}
		if err != nil || h != want || n != int64(len(b)) {
			t.Errorf("kind %d: %+v of %d bytes, %v; want %+v of %d", kind, h, n, err, want, len(b))
		}
		for cut := range b {
			if _, _, err := readPageHead(io.NewSectionReader(bytes.NewReader(b[:cut]), 0, int64(cut))); err == nil {
				t.Errorf("kind %d: %d of %d bytes pass", kind, cut, len(b))
			}
		}
	}
	// A head with long statistics.
	b := append([]byte{0x18}, binary.AppendUvarint(nil, 5000)...)
	b = append(append(b, make([]byte, 5000)...), 0x15, 8, 0)
	h, n, err := readPageHead(io.NewSectionReader(bytes.NewReader(b), 0, int64(len(b))))
	if err != nil || h.unpacked != 4 || n != int64(len(b)) {
		t.Errorf("a long head: %+v of %d bytes, %v", h, n, err)
	}
}

func TestPagesAreCheckedByTheirHeads(t *testing.T) {
	budgettest.Limit(t, 1<<20)
	chunk := func(pages ...[]byte) *format.ColumnMetaData {
		return &format.ColumnMetaData{DataPageOffset: 0, TotalCompressedSize: int64(len(bytes.Join(pages, nil)))}
	}
	body := make([]byte, 10)
	good := append(head(5, 10, 10, 3, 0), body...)
	for _, c := range []struct {
		name, want string
		pages      [][]byte
	}{
		{"one", "", [][]byte{good}},
		{"two", "", [][]byte{good, good}},
		{"none", "", nil},
		{"all of the limit", "", [][]byte{append(head(5, 1<<20-48, 10, 3, 0), body...)}},
		{"unpacked", "a page: needs 1 MiB", [][]byte{good, append(head(5, 1<<20-47, 10, 3, 0), body...)}},
		{"values", "a page: needs 16 GiB", [][]byte{append(head(8, 10, 10, 1<<30, 2), body...)}},
		{"dictionary", "a page: needs 16 GiB", [][]byte{append(head(7, 10, 10, 1<<30, 0), body...)}},
		{"negative", "a page: needs more than 8 EiB", [][]byte{append(head(5, -1, 10, 3, 0), body...)}},
		{"beyond the chunk", "a page of 11 bytes where there are 10", [][]byte{append(head(5, 10, 11, 3, 0), body...)}},
		{"of negative size", "a page of -1 bytes", [][]byte{append(head(5, 10, -1, 3, 0), body...)}},
		{"cut head", "malformed Parquet", [][]byte{good, good[:5]}},
	} {
		data := bytes.Join(c.pages, nil)
		err := checkChunk(bytes.NewReader(data), int64(len(data)), chunk(c.pages...))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	// A dictionary stands before the data; levels of version 2 before the packed values.
	md := &format.ColumnMetaData{DataPageOffset: int64(len(good)), DictionaryPageOffset: 0,
		TotalCompressedSize: int64(len(good))}
	two := append(slices.Clone(good), append(head(5, 1<<30, 10, 3, 0), body...)...)
	if err := checkChunk(bytes.NewReader(two), int64(len(two)), md); err == nil {
		t.Error("no dictionary: the page at the start of the data was not looked at")
	}
	front := append([]byte{0}, two...)
	md = &format.ColumnMetaData{DataPageOffset: 1 + int64(len(good)), DictionaryPageOffset: 1,
		TotalCompressedSize: int64(len(good))}
	if err := checkChunk(bytes.NewReader(front), int64(len(front)), md); err != nil {
		t.Errorf("with a dictionary: %v", err)
	}
	packed := zerosOf(t, format.Snappy, 100)
	v2 := append(head(8, 106, int64(6+len(packed)), 3, 3), append([]byte{255, 255, 255, 255, 255, 255}, packed...)...)
	md = &format.ColumnMetaData{Codec: format.Snappy, TotalCompressedSize: int64(len(v2))}
	if err := checkChunk(bytes.NewReader(v2), int64(len(v2)), md); err != nil {
		t.Errorf("levels of version 2: %v", err)
	}
	for _, md := range []format.ColumnMetaData{{DataPageOffset: -1}, {DataPageOffset: 101}, {TotalCompressedSize: -1},
		{DataPageOffset: 1, TotalCompressedSize: 100}} {
		if err := checkChunk(bytes.NewReader(make([]byte, 100)), 100, &md); err == nil ||
			!strings.Contains(err.Error(), "truncated") {
			t.Errorf("%+v: error %v", md, err)
		}
	}
}

func TestFooter(t *testing.T) {
	good := file(t)
	if err := checkFooter(bytes.NewReader(good), int64(len(good))); err != nil {
		t.Fatal(err)
	}
	end := func(n uint32, footer ...byte) []byte {
		b := append([]byte("PAR1"), footer...)
		return append(binary.LittleEndian.AppendUint32(b, n), "PAR1"...)
	}
	many := append([]byte{0x29, 0xfc}, binary.AppendUvarint(nil, 5000)...) // 2: a list of 5000 structures
	many = append(append(many, make([]byte, 5000)...), 0)
	budgettest.Limit(t, 4<<20)
	for _, c := range []struct {
		name, want string
		data       []byte
	}{
		{"nothing", "0 bytes are not a Parquet file", nil},
		{"too short", "11 bytes are not a Parquet file", make([]byte, 11)},
		{"another end", "does not end with PAR1", make([]byte, 12)},
		{"empty", "malformed Parquet", end(0)},
		{"smallest", "", end(1, 0)},
		{"longer than the file", "a Parquet footer of 2 bytes in a file of 13", end(2, 0)},
		{"4 GiB", "a Parquet footer of 4294967295 bytes", end(1<<32-1, 0)},
		{"a list of 2^31 elements", "malformed Parquet", end(8, 0x29, 0xfc, 0xff, 0xff, 0xff, 0xff, 7, 0)},
		{"a list that takes much", "the Parquet footer: needs 4.88 MiB, the limit is 4 MiB",
			end(uint32(len(many)), many...)},
		{"nested", "malformed Parquet", end(100, bytes.Repeat([]byte{0x1c}, 100)...)},
		{"nested lists", "malformed Parquet", end(101, append([]byte{0x19}, bytes.Repeat([]byte{0x19}, 100)...)...)},
	} {
		err := checkFooter(bytes.NewReader(c.data), int64(len(c.data)))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

// Every type of value is passed by its own length: what follows it is read.
func TestThriftPassesEveryType(t *testing.T) {
	for name, value := range map[string][]byte{
		"true": {0x11}, "false": {0x12}, "byte": {0x13, 0x7f}, "double": {0x17, 1, 2, 3, 4, 5, 6, 7, 8},
		"uuid": append([]byte{0x1d}, make([]byte, 16)...), "text": {0x18, 2, 'a', 'b'}, "empty structure": {0x1c, 0},
		"list of truths": {0x19, 0x21, 1, 2}, "list of bytes": {0x19, 0x33, 1, 2, 3},
		"set of numbers":     {0x1a, 0x25, 0x80, 1, 5},
		"list of structures": {0x19, 0x2c, 0, 0x15, 9, 0},
		"long list":          append([]byte{0x19, 0xf3, 20}, make([]byte, 20)...),
		"map":                {0x1b, 2, 0x35, 1, 9, 2, 9}, "empty map": {0x1b, 0},
		"number of a far field": {0x05, 20, 6},
	} {
		b := append(append([]byte{}, value...), 0x15, 84, 0) // one more field: the number 42
		got := int64(-1)
		s, err := scanThrift(append(b, 1, 2, 3), func(outer, _ int, v int64) {
			if outer == 0 {
				got = v
			}
		})
		if err != nil || got != 42 || s.at != len(b) {
			t.Errorf("%s: %d behind it, %v", name, got, err)
		}
	}
	for name, b := range map[string][]byte{"unknown type": {0x1e, 0}, "byte without a value": {0x13},
		"long map": {0x1b, 9, 0x33, 1, 0}} {
		if _, err := scanThrift(b, nil); err == nil {
			t.Errorf("%s: passed", name)
		}
	}
}
