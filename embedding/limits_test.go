package embedding

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/kindred-ml/kindred/format/safetensors"
	"github.com/kindred-ml/kindred/internal/budget"
)

// limit sets the limit of package budget for one test.
func limit(t *testing.T, bytes int64) {
	t.Helper()
	old := debug.SetMemoryLimit(bytes)
	t.Cleanup(func() { debug.SetMemoryLimit(old) })
}

// taken is how much memory f allocates in all.
func taken(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// wantRefused checks that reading is refused for the limit's sake, with figures,
// and before much memory was taken.
func wantRefused(t *testing.T, name string, most int64, read func() error) {
	t.Helper()
	var err error
	n := taken(func() { err = read() })
	var e *budget.Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "--memory") {
		t.Errorf("%s: error %v, want one about the limit", name, err)
	}
	if n > most {
		t.Errorf("%s: took %s", name, budget.Format(n))
	}
}

func readOf(t *testing.T, file string, data []byte) func() error {
	path := write(t, file, data)
	return func() error {
		_, err := Read(path)
		return err
	}
}

// An entry of a .npz archive.
type entry struct {
	name string
	data []byte
}

func npzOf(t testing.TB, method uint16, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		w, err := z.CreateHeader(&zip.FileHeader{Name: e.name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestClaimedSizesAreRefusedBeforeMemoryIsTaken(t *testing.T) {
	limit(t, 8<<20)
	const most = 64 << 20
	zeros := make([]byte, 9<<20)
	bomb := npy("'<f4'", "False", fmt.Sprintf("(%d, 1)", len(zeros)/4), zeros)
	unknown := func(file []byte) func() error {
		return func() error {
			_, err := ReadNPY(bytes.NewReader(file), -1)
			return err
		}
	}
	wantRefused(t, "npy that claims", 3<<20, unknown(npy("'<f4'", "False", "(1000000000000, 3)", le32(1))))
	wantRefused(t, "npy of bytes, which become int64", 3<<20, unknown(npy("'|u1'", "False", "(1048577,)", nil)))
	wantRefused(t, "npy in Fortran's order, which is held twice", 3<<20,
		unknown(npy("'<f4'", "True", "(1048577, 1)", nil)))
	wantRefused(t, "npz bomb", most, readOf(t, "x.npz", npzOf(t, zip.Deflate, entry{"x.npy", bomb})))
	wantRefused(t, "csv of coordinates", most,
		readOf(t, "x.csv",
			[]byte("embedding_0,embedding_1,embedding_2,embedding_3\n"+strings.Repeat("0,0,0,0\n", 600_000))))
	wantRefused(t, "csv of labels", most, readOf(t, "x.csv", []byte("label\n"+strings.Repeat("a\n", 400_000))))
	wantRefused(t, "csv of names", most, readOf(t, "x.csv", []byte("path\n"+strings.Repeat("a\n", 400_000))))
	wantRefused(t, "csv with a field that does not end", most,
		readOf(t, "x.csv", append([]byte("label\n\""), bytes.Repeat([]byte("a"), 9<<20)...)))
	st := safetensors.File{Tensors: []safetensors.Tensor{{Name: "y", DType: "U8", Shape: []int{1<<20 + 1},
		Data: zeros[:1<<20+1]}}}
	var b bytes.Buffer
	if err := st.Write(&b); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, "safetensors of bytes, which become int64", most, readOf(t, "y.safetensors", b.Bytes()))

	if _, err := ReadNPY(bytes.NewReader(npy("'|u1'", "False", "(1048576,)", zeros[:1<<20])), -1); err != nil {
		t.Errorf("all of the limit: %v", err)
	}
	if _, err := ReadNPY(bytes.NewReader(npy("'<f4'", "True", "(2097152,)", zeros[:8<<20])), -1); err != nil {
		t.Errorf("all of the limit, one axis: %v", err)
	}
}

// Of an array without values only its shape is large: that is no table.
func TestShapesWithoutValues(t *testing.T) {
	for _, dtype := range []string{"'<f4'", "'<i8'"} {
		for _, shape := range []string{"(0, 500000000000000000)", "(500000000000000000, 0)", "(0, 3)", "(3, 0)",
			"(0, 0)"} {
			n := taken(func() {
				_, err := Read(write(t, "x.npy", npy(dtype, "False", shape, nil)))
				if err == nil || !strings.Contains(err.Error(), "it holds no values") {
					t.Errorf("%s %s: error %v", dtype, shape, err)
				}
				_, err = Read(write(t, "x.npz", npzOf(t, zip.Store, entry{"x.npy", npy(dtype, "False", shape, nil)})))
				if err == nil {
					t.Errorf("%s %s was read from .npz", dtype, shape)
				}
			})
			if n > 16<<20 {
				t.Errorf("%s %s: took %s", dtype, shape, budget.Format(n))
			}
		}
	}
	tab, err := Read(write(t, "y.npy", npy("'<i8'", "False", "(0,)", nil)))
	if err != nil || tab.Rows() != 0 || len(tab.Columns) != 1 {
		t.Errorf("no labels: %v, %v", tab, err)
	}
	_, err = Read(write(t, "y.npy", npy("'|u1'", "False", "(1, 1001)", make([]byte, 1001))))
	if err == nil || !strings.Contains(err.Error(), "1001 columns of labels, at most 1000 are read") {
		t.Errorf("1001 columns: %v", err)
	}
	if tab, err = Read(write(t, "y.npy", npy("'|u1'", "False", "(1, 1000)", make([]byte, 1000)))); err != nil ||
		len(tab.Columns) != 1000 {
		t.Errorf("1000 columns: %v", err)
	}
	if _, err = Read(write(t, "y.npy", npy("'|u1'", "False", "(1, 1, 1)", make([]byte, 1)))); err == nil ||
		!strings.Contains(err.Error(), "labels need one dimension, or two") {
		t.Errorf("three dimensions: %v", err)
	}
	axes := "(" + strings.Repeat("1, ", 64) + ")"
	if a, err := ReadNPY(bytes.NewReader(npy("'<f4'", "False", axes, le32(5))), -1); err != nil || len(a.Shape) != 64 {
		t.Errorf("64 axes: %v", err)
	}
	if _, err := ReadNPY(bytes.NewReader(npy("'<f4'", "False", "(1, "+axes[1:], le32(5))), -1); err == nil ||
		!strings.Contains(err.Error(), "more than 64 dimensions") {
		t.Errorf("65 axes: %v", err)
	}
}

// What a .npz archive holds beside embeddings and labels does not matter.
func TestNPZTakesWhatFits(t *testing.T) {
	ints := func(shape string, n int) []byte { return npy("'|u1'", "False", shape, make([]byte, n)) }
	floats := func(shape string, n int) []byte { return npy("'<f4'", "False", shape, make([]byte, 4*n)) }
	for _, c := range []struct {
		name    string
		entries []entry
		want    string
	}{
		{"one matrix", []entry{{"a.npy", floats("(2, 3)", 6)}, {"v.npy", floats("(2,)", 2)}}, "2x3"},
		{"named features", []entry{{"a.npy", floats("(2, 3)", 6)}, {"features.npy", floats("(2, 1)", 2)}}, "2x1"},
		{"named X", []entry{{"X.npy", floats("(2, 1)", 2)}, {"a.npy", floats("(2, 3)", 6)}}, "2x1"},
		{"labels", []entry{{"y.npy", ints("(2,)", 2)}, {"Z.npy", floats("(2, 1)", 2)}, {"w.npy", ints("(2,)", 2)}},
			"2x1 label w"},
		{"Y", []entry{{"Z.npy", floats("(2, 1)", 2)}, {"Y.npy", ints("(2,)", 2)}}, "2x1 label"},
		{"label and labels", []entry{{"label.npy", ints("(2,)", 2)}, {"labels.npy", ints("(2,)", 2)}}, "label labels"},
		{"labels only", []entry{{"labels.npy", ints("(2,)", 2)}}, "label"},
		{"of other lengths", []entry{{"Z.npy", floats("(2, 1)", 2)}, {"y.npy", ints("(3,)", 3)},
			{"m.npy", ints("(2, 2)", 4)}}, "2x1 m_0 m_1"},
		{"three axes and none", []entry{{"Z.npy", floats("(2, 1)", 2)}, {"i.npy", ints("(2, 1, 1)", 2)},
			{"s.npy", ints("()", 1)}, {"t.npy", floats("(2, 1, 1)", 2)}}, "2x1"},
		{"no edges", []entry{{"Z.npy", floats("(2, 1)", 2)}, {"edges.npy", ints("(0, 2)", 0)},
			{"wide.npy", ints("(1, 1001)", 1001)}}, "2x1"},
		{"nothing", []entry{{"notes.txt", nil}}, "neither a matrix of floats nor integers among the arrays ()"},
		{"vector only", []entry{{"v.npy", floats("(2,)", 2)}},
			"neither a matrix of floats nor integers among the arrays (v <f4 [2])"},
		{"two matrices", []entry{{"a.npy", floats("(2, 1)", 2)}, {"b.npy", floats("(2, 1)", 2)}},
			"several matrices (a <f4 [2 1], b <f4 [2 1]) and none named embeddings"},
		{"empty matrix", []entry{{"a.npy", floats("(0, 1)", 0)}}, "a: shape [0 1] of <f4: it holds no values"},
		{"one name twice", []entry{{"a.npy", floats("(2, 1)", 2)}, {"a.npy", floats("(2, 1)", 2)}},
			"a.npy occurs twice"},
		{"not an array", []entry{{"a.npy", []byte("text")}}, "a.npy: not a .npy file"},
		{"cut array", []entry{{"a.npy", floats("(2, 1)", 1)}},
			"a.npy: truncated: shape [2 1] of <f4 announced, only 1 values found"},
	} {
		data := npzOf(t, zip.Store, c.entries...)
		tab, err := parseNPZ(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
			}
			continue
		}
		var got []string
		if tab.X != nil {
			got = append(got, fmt.Sprintf("%dx%d", tab.X.Rows, tab.X.Cols))
		}
		for _, col := range tab.Columns {
			got = append(got, col.Name)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
}

// An entry whose checksum does not fit is refused by name, however it came about.
func TestNPZChecksums(t *testing.T) {
	data := npy("'<f4'", "False", "(4, 1)", le32(1, 2, 3, 4))
	sum := binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(data))
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		good := npzOf(t, method, entry{"embeddings.npy", data},
			entry{"y.npy", npy("'|u1'", "False", "(4,)", []byte{1, 2, 1, 2})})
		if _, err := parseNPZ(bytes.NewReader(good), int64(len(good))); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(good, sum); n < 2 {
			t.Fatalf("the checksum stands in the archive %d times", n)
		}
		for name, b := range map[string][]byte{
			"another checksum": bytes.ReplaceAll(good, sum, []byte{1, 2, 3, 4}),
			"no checksum":      bytes.ReplaceAll(good, sum, make([]byte, 4)),
		} {
			_, err := parseNPZ(bytes.NewReader(b), int64(len(b)))
			if !errors.Is(err, zip.ErrChecksum) || !strings.HasPrefix(err.Error(), "embeddings.npy: ") {
				t.Errorf("method %d, %s: error %v", method, name, err)
			}
		}
	}
	long := npy("'<u1'", "False", "(100000, 1)", make([]byte, 100000)) // more than one read takes
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		b := npzOf(t, method, entry{"embeddings.npy", long})
		if _, err := parseNPZ(bytes.NewReader(b), int64(len(b))); err != nil {
			t.Errorf("method %d, a long array: %v", method, err)
		}
	}
	stored := npzOf(t, zip.Store, entry{"embeddings.npy", data})
	at := bytes.Index(stored, le32(3))
	for bit := range 8 {
		b := slices.Clone(stored)
		b[at] ^= 1 << bit
		if _, err := parseNPZ(bytes.NewReader(b), int64(len(b))); !errors.Is(err, zip.ErrChecksum) {
			t.Errorf("bit %d of a value flipped: error %v", bit, err)
		}
	}
}

// zerosOf compresses n zeros.
func zerosOf(t *testing.T, codec format.CompressionCodec, n int) []byte {
	t.Helper()
	b, err := parquet.LookupCompressionCodec(codec).Encode(nil, make([]byte, n))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCompressedPagesUnpackWithinTheLimit(t *testing.T) {
	limit(t, 4<<20)
	for _, codec := range []format.CompressionCodec{format.Snappy, format.Gzip, format.Brotli, format.Zstd} {
		fits, bomb := zerosOf(t, codec, 4<<20), zerosOf(t, codec, 64<<20)
		if err := checkUnpacked(codec, bytes.NewReader(fits), int64(len(fits))); err != nil {
			t.Errorf("%v: all of the limit: %v", codec, err)
		}
		wantRefused(t, codec.String(), 40<<20,
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
func TestParquetRowsAreCountedFirst(t *testing.T) {
	rows := make([]parquetRow, 60_000)
	for i := range rows {
		rows[i] = parquetRow{"", make([]float32, 32), "a"}
	}
	data := parquetRows(t, rows, parquet.Compression(&parquet.Zstd))
	if _, err := parseParquet(bytes.NewReader(data), int64(len(data))); err != nil {
		t.Fatal(err)
	}
	limit(t, 4<<20)
	wantRefused(t, "rows", 40<<20, func() error {
		_, err := parseParquet(bytes.NewReader(data), int64(len(data)))
		return err
	})
}

// The reader counts what it gathers, whatever the footer told.
func TestParquetReaderCounts(t *testing.T) {
	for _, c := range []struct {
		name   string
		rows   []parquetRow
		most   int64
		refuse bool
	}{
		{"within", []parquetRow{{"ab", []float32{1, 2}, "c"}}, 2*4 + 26 + 25, false},
		{"beyond", []parquetRow{{"ab", []float32{1, 2}, "c"}}, 2*4 + 26 + 24, true},
	} {
		data := parquetRows(t, c.rows)
		f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		p, err := newParquetReader(f.Schema())
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
	limit(t, 1<<20)
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

func TestParquetFooter(t *testing.T) {
	good := parquetFile(t)
	if err := checkFooter(bytes.NewReader(good), int64(len(good))); err != nil {
		t.Fatal(err)
	}
	end := func(n uint32, footer ...byte) []byte {
		b := append([]byte("PAR1"), footer...)
		return append(binary.LittleEndian.AppendUint32(b, n), "PAR1"...)
	}
	many := append([]byte{0x29, 0xfc}, binary.AppendUvarint(nil, 5000)...) // 2: a list of 5000 structures
	many = append(append(many, make([]byte, 5000)...), 0)
	limit(t, 4<<20)
	for _, c := range []struct {
		name, want string
		data       []byte
	}{
		{"nothing", "0 bytes are no Parquet file", nil},
		{"too short", "11 bytes are no Parquet file", make([]byte, 11)},
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

// An array within the limit must not take several times the limit while it grows.
func TestStreamsTakeLittleMoreThanTheirArrays(t *testing.T) {
	const n = 1 << 22
	for dtype, size := range map[string]int64{"'<f4'": 4, "'<i8'": 8} {
		file := npy(dtype, "False", fmt.Sprintf("(%d,)", n), make([]byte, n*size))
		a, err := (*Array)(nil), error(nil)
		took := taken(func() { a, err = ReadNPY(bytes.NewReader(file), -1) })
		if err != nil || len(a.Floats)+len(a.Ints) != n {
			t.Fatalf("%s: %v", dtype, err)
		}
		if took > n*size*3/2 {
			t.Errorf("%s: %s allocated for an array of %s", dtype, budget.Format(took), budget.Format(n*size))
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
