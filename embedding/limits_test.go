package embedding

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/columns"
	"github.com/kindred-ml/kindred/internal/test/budgettest"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

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
	budgettest.Limit(t, 8<<20)
	const most = 64 << 20
	zeros := make([]byte, 9<<20)
	bomb := npy("'<f4'", "False", fmt.Sprintf("(%d, 1)", len(zeros)/4), zeros)
	unknown := func(file []byte) func() error {
		return func() error {
			_, err := ReadNPY(bytes.NewReader(file), -1)
			return err
		}
	}
	budgettest.CheckRefused(t, "npy that claims", 3<<20, unknown(npy("'<f4'", "False", "(1000000000000, 3)", le32(1))))
	budgettest.CheckRefused(t, "npy of bytes, which become int64", 3<<20,
		unknown(npy("'|u1'", "False", "(1048577,)", nil)))
	budgettest.CheckRefused(t, "npy in Fortran's order, which is held twice", 3<<20,
		unknown(npy("'<f4'", "True", "(1048577, 1)", nil)))
	budgettest.CheckRefused(t, "npz bomb", most, readOf(t, "x.npz", npzOf(t, zip.Deflate, entry{"x.npy", bomb})))
	budgettest.CheckRefused(t, "csv of coordinates", most,
		readOf(t, "x.csv",
			[]byte("embedding_0,embedding_1,embedding_2,embedding_3\n"+strings.Repeat("0,0,0,0\n", 600_000))))
	budgettest.CheckRefused(t, "csv of labels", most, readOf(t, "x.csv",
		[]byte("label\n"+strings.Repeat("a\n", 400_000))))
	budgettest.CheckRefused(t, "csv of names", most, readOf(t, "x.csv",
		[]byte("path\n"+strings.Repeat("a\n", 400_000))))
	for name, text := range map[string]string{
		"field that does not end": "label\n\"" + strings.Repeat("a", 9<<20),
		"long row":                "label\n" + strings.Repeat("a,", 5<<20) + "\n",
		"long label":              "label\n" + strings.Repeat("a", columns.MaxText+1) + "\n",
		"long header":             strings.Repeat("a", columns.MaxText+1) + "\n1\n",
	} {
		var err error
		taken := budgettest.Allocated(func() { err = readOf(t, "x.csv", []byte(text))() })
		if err == nil || !strings.Contains(err.Error(), "at most 65536") && !strings.Contains(err.Error(), "4 MiB") ||
			taken > most {
			t.Errorf("csv with a %s: %v, with %d bytes", name, err, taken)
		}
	}
	st := safetensors.File{Tensors: []safetensors.Tensor{{Name: "y", DType: "U8", Shape: []int{1<<20 + 1},
		Data: zeros[:1<<20+1]}}}
	var b bytes.Buffer
	if err := st.Write(&b); err != nil {
		t.Fatal(err)
	}
	budgettest.CheckRefused(t, "safetensors of bytes, which become int64", most, readOf(t, "y.safetensors", b.Bytes()))

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
			n := budgettest.Allocated(func() {
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

// An array within the limit must not take several times the limit while it grows.
func TestStreamsTakeLittleMoreThanTheirArrays(t *testing.T) {
	const n = 1 << 22
	for dtype, size := range map[string]int64{"'<f4'": 4, "'<i8'": 8} {
		file := npy(dtype, "False", fmt.Sprintf("(%d,)", n), make([]byte, n*size))
		a, err := (*Array)(nil), error(nil)
		took := budgettest.Allocated(func() { a, err = ReadNPY(bytes.NewReader(file), -1) })
		if err != nil || len(a.Floats)+len(a.Ints) != n {
			t.Fatalf("%s: %v", dtype, err)
		}
		if took > n*size*3/2 {
			t.Errorf("%s: %s allocated for an array of %s", dtype, budget.Format(took), budget.Format(n*size))
		}
	}
}
