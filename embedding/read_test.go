package embedding

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/budgettest"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// npy makes a file by hand: the header as NumPy writes it, then the data.
func npy(descr, fortran, shape string, data []byte) []byte {
	text := fmt.Sprintf("{'descr': %s, 'fortran_order': %s, 'shape': %s, }", descr, fortran, shape)
	text += strings.Repeat(" ", 63-(10+len(text))%64) + "\n"
	b := append([]byte(npyMagic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	return append(append(b, text...), data...)
}

func le32(v ...float32) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func TestReadNPYTypesAndOrders(t *testing.T) {
	f64 := func(order binary.AppendByteOrder, v ...float64) (b []byte) {
		for _, x := range v {
			b = order.AppendUint64(b, math.Float64bits(x))
		}
		return b
	}
	for _, c := range []struct {
		name   string
		file   []byte
		shape  []int
		floats []float32
		ints   []int64
	}{
		{"float32", npy("'<f4'", "False", "(2, 3)", le32(1, 2, 3, 4, 5, 6)), []int{2, 3}, []float32{1, 2, 3, 4, 5, 6},
			nil},
		{"Fortran order", npy("'<f4'", "True", "(2, 3)", le32(1, 4, 2, 5, 3, 6)), []int{2, 3},
			[]float32{1, 2, 3, 4, 5, 6}, nil},
		{"Fortran order, three axes", npy("'|u1'", "True", "(2, 2, 2)", []byte{0, 4, 2, 6, 1, 5, 3, 7}), []int{2, 2, 2},
			nil, []int64{0, 1, 2, 3, 4, 5, 6, 7}},
		{"float64", npy("'<f8'", "False", "(2,)", f64(binary.LittleEndian, 0.5, -1e300)), []int{2},
			[]float32{0.5, float32(math.Inf(-1))}, nil},
		{"big-endian", npy("'>f8'", "False", "(1,)", f64(binary.BigEndian, 0.25)), []int{1}, []float32{0.25}, nil},
		{"float16", npy("'<f2'", "False", "(5,)", []byte{0, 0x3c, 0, 0xc0, 1, 0, 0, 0x7c, 0xff, 0x7b}), []int{5},
			[]float32{1, -2, 0x1p-24, float32(math.Inf(1)), 65504}, nil},
		{"int8", npy("'|i1'", "False", "(2,)", []byte{0xff, 5}), []int{2}, nil, []int64{-1, 5}},
		{"int16", npy("'>i2'", "False", "(1,)", []byte{0xff, 0xfe}), []int{1}, nil, []int64{-2}},
		{"uint32", npy("'<u4'", "False", "(1,)", []byte{0xff, 0xff, 0xff, 0xff}), []int{1}, nil,
			[]int64{math.MaxUint32}},
		{"int64", npy("'<i8'", "False", "(1,)", []byte{0, 0, 0, 0, 0, 0, 0, 0x80}), []int{1}, nil,
			[]int64{math.MinInt64}},
		{"bool", npy("'|b1'", "False", "(2,)", []byte{1, 0}), []int{2}, nil, []int64{1, 0}},
		{"no axes", npy("'<f4'", "False", "()", le32(7)), nil, []float32{7}, nil},
		{"empty", npy("'<f4'", "False", "(0, 3)", nil), []int{0, 3}, []float32{}, nil},
		{"double quotes", npy(`"<f4"`, "False", "(1,)", le32(7)), []int{1}, []float32{7}, nil},
	} {
		for _, size := range []int64{int64(len(c.file)), -1} {
			a, err := ReadNPY(bytes.NewReader(c.file), size)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			if !slices.Equal(a.Shape, c.shape) || !slices.Equal(a.Floats, c.floats) || !slices.Equal(a.Ints, c.ints) {
				t.Errorf("%s: shape %v, values %v %v; want %v, %v %v", c.name, a.Shape, a.Floats, a.Ints, c.shape,
					c.floats, c.ints)
			}
		}
	}
}

func TestReadNPYRejects(t *testing.T) {
	good := npy("'<f4'", "False", "(2, 3)", le32(1, 2, 3, 4, 5, 6))
	for _, c := range []struct {
		name, want string
		file       []byte
	}{
		{"empty", "not a .npy file", nil},
		{"other format", "not a .npy file", []byte("PK\x03\x04 and so on")},
		{"version", "version 9", append(append([]byte(npyMagic), 9, 0), good[8:]...)},
		{"cut in the header", "truncated in the .npy header", good[:30]},
		{"cut in the data", "truncated: shape [2 3] of <f4 announced, only 5 values found", good[:len(good)-2]},
		{"too much data", "more data than the shape", append(slices.Clone(good), 0)},
		{"objects", `dtype "|O"`, npy("'|O'", "False", "(2,)", nil)},
		{"complex", `dtype "<c8"`, npy("'<c8'", "False", "(2,)", nil)},
		{"empty strings", `dtype "<U0"`, npy("'<U0'", "False", "(2,)", nil)},
		{"very long strings", `dtype "<U1048577"`, npy("'<U1048577'", "False", "(2,)", nil)},
		{"cut strings", "truncated: shape [2] of <U2 announced, only 1 values",
			npy("'<U2'", "False", "(2,)", make([]byte, 12))},
		{"no character", "value 1: 0x110000 is not a character",
			npy("'<U1'", "False", "(2,)", []byte{65, 0, 0, 0, 0, 0, 0x11, 0})},
		{"half a character", "0xd800 is not a character", npy("'>U1'", "False", "(1,)", []byte{0, 0, 0xd8, 0})},
		{"structured", "dtype of a structured array", npy("[('a', '<f4')]", "False", "(2,)", nil)},
		{"overflowing shape", "is too large", npy("'<f4'", "False", "(9223372036854775807, 9223372036854775807)", nil)},
		{"negative shape", `dimension "-1"`, npy("'<f4'", "False", "(-1, 3)", nil)},
		{"no shape", "no valid 'shape'", npy("'<f4'", "False", "7", nil)},
		{"order", "no valid 'fortran_order'", npy("'<f4'", "Maybe", "(1,)", le32(1))},
		{"huge unsigned", "does not fit in int64", npy("'<u8'", "False", "(1,)", bytes.Repeat([]byte{0xff}, 8))},
	} {
		for _, size := range []int64{int64(len(c.file)), -1} {
			if _, err := ReadNPY(bytes.NewReader(c.file), size); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
			}
		}
	}
}

func TestNPYRoundTrip(t *testing.T) {
	x := matrix.FromSlice(3, 2, []float32{1, -2, float32(math.Inf(1)), 1e-40, 5, 6}).RowRange(1, 3)
	labels := []int64{math.MinInt64, -1, math.MaxInt64}
	var bx, by bytes.Buffer
	if err := WriteNPY(&bx, x); err != nil {
		t.Fatal(err)
	}
	if err := WriteLabelsNPY(&by, labels); err != nil {
		t.Fatal(err)
	}
	a, err := ReadNPY(&bx, int64(bx.Len()))
	if err != nil || !slices.Equal(a.Floats, []float32{float32(math.Inf(1)), 1e-40, 5, 6}) ||
		!slices.Equal(a.Shape, []int{2, 2}) {
		t.Errorf("%v, %v", a, err)
	}
	if b, err := ReadNPY(&by, int64(by.Len())); err != nil || !slices.Equal(b.Ints, labels) {
		t.Errorf("%v, %v", b, err)
	}
}

// write puts a file in a fresh folder.
func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var wantX = []float32{1, 2, 3, 4, 5, 6}

func npzFile(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, data := range map[string][]byte{
		"x.npy":     npy("'<f4'", "True", "(3, 2)", le32(1, 3, 5, 2, 4, 6)),
		"y.npy":     npy("'|i1'", "False", "(3,)", []byte{7, 0xfe, 7}),
		"other.npy": npy("'<f4'", "False", "(4, 4)", make([]byte, 64)),
		"notes.txt": []byte("not an array"),
		"k.npy":     npy("'|u1'", "False", "(2,)", []byte{1, 2}),
	} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The same three rows in every format.
func TestLoadEveryFormat(t *testing.T) {
	var st bytes.Buffer
	file := safetensors.File{Tensors: []safetensors.Tensor{
		safetensors.Float32("embeddings", []int{3, 2}, wantX), safetensors.Int64("labels", []int{3}, []int64{7, -2, 7}),
	}}
	if err := file.Write(&st); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"e.npz", npzFile(t)},
		{"e.safetensors", st.Bytes()},
		{"e.csv", []byte("filename,embedding_1,label,embedding_0\na,2,7,1\nb,4,-2,3\nc,6,7,5\n")},
		{"bom.csv", []byte("\ufefflabel,embedding_0,embedding_1\r\n7,1,2\r\n-2,3,4\r\n7,5,6\r\n")},
	} {
		l, err := Load(write(t, c.name, c.data), "", nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !slices.Equal(l.X.Data, wantX) || l.X.Cols != 2 || !slices.Equal(l.Labels()[0], []int64{7, -2, 7}) {
			t.Errorf("%s: %v, labels %v", c.name, l.X, l.Labels())
		}
	}
}

func TestLoadLabelsBeside(t *testing.T) {
	x := write(t, "x.npy", npy("'<f4'", "False", "(3, 2)", le32(wantX...)))
	two := write(t, "y.npy", npy("'|i1'", "False", "(3, 2)", []byte{1, 10, 2, 20, 1, 10}))
	l, err := Load(x, two, []string{"label_1", "label_0"})
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Labels(); !slices.Equal(got[0], []int64{10, 20, 10}) || !slices.Equal(got[1], []int64{1, 2, 1}) {
		t.Errorf("labels %v", got)
	}
	text := write(t, "y.csv", []byte("path,label,fine,split\na,bird,wren,test\nb,fish,eel,test\nc,bird,owl,test\n"))
	l, err = Load(x, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	ids, names := l.NamedLabels()
	if !slices.Equal(l.ColumnNames(), []string{"label", "fine"}) || !slices.Equal(ids[0], []int64{0, 1, 0}) ||
		names[0][1] != "fish" || names[1][2] != "wren" {
		t.Errorf("columns %v, ids %v, names %v", l.ColumnNames(), ids, names)
	}
}

// Text labels of queries and gallery are numbered together.
func TestLabelsWithAgreeAcrossFiles(t *testing.T) {
	q, err := Load(write(t, "q.csv", []byte("embedding_0,label\n1,b\n2,7\n")), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Load(write(t, "g.csv", []byte("embedding_0,label\n1,7\n2,9\n")), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	a, b, names, err := q.LabelsWith(g)
	if err != nil {
		t.Fatal(err)
	}
	if a[0][1] != b[0][0] || a[0][0] == b[0][1] || names[0][a[0][0]] != "b" {
		t.Errorf("queries %v, gallery %v, names %v", a, b, names)
	}
}

// Labels of another length than the embeddings, and matrices called labels, are named where labels are missed.
func TestLabelsOfAnotherShape(t *testing.T) {
	x := namedArray{"embeddings", &Array{DType: "<f4", Shape: []int{2, 1}, Floats: []float32{1, 2}}}
	for want, a := range map[string]*Array{
		"label is of 1 rows, where the embeddings have 2": {DType: "<i8", Shape: []int{1}, Ints: []int64{1}},
		"label is a matrix of floats [2 2]": {DType: "<f4", Shape: []int{2, 2},
			Floats: make([]float32, 4)},
	} {
		table, err := assembleTable([]namedArray{{"label", a}, x})
		if err != nil || table.X.Cols != 1 {
			t.Fatalf("%+v, %v", table, err)
		}
		if err := table.CheckLabel(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// Excel's line that names the separator is passed over.
func TestSeparatorLine(t *testing.T) {
	for _, text := range []string{"sep=;\nembedding_0;label\n1;a\n", "sep=,\r\nembedding_0,label\r\n1,a\r\n"} {
		table, err := parseCSV(strings.NewReader(text))
		if err != nil || table.X.Rows != 1 || table.Columns[0].Text[0] != "a" {
			t.Errorf("%q: %+v, %v", text, table, err)
		}
	}
}

func TestLoadRejects(t *testing.T) {
	x := write(t, "x.npy", npy("'<f4'", "False", "(3, 2)", le32(wantX...)))
	for _, c := range []struct{ name, embeddings, labels, want string }{
		{"counts", x, write(t, "y.npy", npy("'|i1'", "False", "(2,)", []byte{1, 2})), "2 labels in"},
		{"float labels", x, write(t, "y.npy", npy("'<f4'", "False", "(3, 1)", le32(1, 2, 3))),
			"labels must be integers"},
		{"float labels, one axis", x, write(t, "y.npy", npy("'<f4'", "False", "(3,)", le32(1, 2, 3))),
			"labels need an integer dtype"},
		{"no labels", x, "", "holds no labels: give a file of labels"},
		{"labels as embeddings", write(t, "y.npy", npy("'|i1'", "False", "(2,)", []byte{1, 2})), "",
			"holds labels but no embeddings"},
		{"extension", write(t, "x.txt", nil), "", `the extension ".txt" is not one of .npy`},
		{"missing", filepath.Join(t.TempDir(), "none.npy"), "", "no such file"},
		{"ambiguous labels", x, write(t, "y.csv", []byte("a,b\n1,2\n1,2\n1,2\n")), "name the ones to use"},
		{"empty CSV", write(t, "x.csv", nil), "", "empty: want a header line"},
		{"not a number", write(t, "x.csv", []byte("embedding_0,label\n1,2\nx,2\n")), "",
			`line 3: embedding_0 is "x", not a number`},
		{"decimal commas", write(t, "x.csv", []byte("embedding_0;label\n1,5;2\n")), "",
			`line 2: embedding_0 is "1,5", not a number: write decimals with a point`},
		{"ragged CSV", write(t, "x.csv", []byte("embedding_0,label\n1,2\n3\n")), "",
			"line 3: wrong number of fields: 1, where the header has 2"},
		{"comment above", write(t, "x.csv", []byte("# mine\nembedding_0,label\n1,2\n")), "",
			"line 2: wrong number of fields: 2, where the header has 1"},
		{"hole", write(t, "x.csv", []byte("embedding_0,embedding_2,label\n1,2,3\n")), "", "no column embedding_1"},
		{"column twice", write(t, "x.csv", []byte("embedding_0,embedding_0,label\n1,2,3\n")), "", "twice"},
		{"cut npz", write(t, "x.npz", npzFile(t)[:200]), "", "zip"},
		{"cut safetensors", write(t, "x.safetensors", []byte{1, 2, 3}), "", "safetensors"},
	} {
		_, err := Load(c.embeddings, c.labels, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func FuzzReadNPY(f *testing.F) {
	f.Add(npy("'<f4'", "True", "(2, 3)", le32(1, 2, 3, 4, 5, 6)))
	f.Add(npy("'>i2'", "False", "(1,)", []byte{1, 2}))
	f.Add(npy("'<f2'", "False", "(0, 0)", nil))
	f.Add(npy("'|O'", "False", "(99999999999,)", nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		var a, b *Array
		var err, errUnknown error
		budgettest.CheckBounded(t, len(data), func() {
			a, err = ReadNPY(bytes.NewReader(data), int64(len(data)))
			b, errUnknown = ReadNPY(bytes.NewReader(data), -1)
		})
		if (err == nil) != (errUnknown == nil) {
			t.Fatalf("with the size known: %v; unknown: %v", err, errUnknown)
		}
		if err != nil {
			return
		}
		n := 1
		for _, d := range a.Shape {
			n *= d
		}
		if len(a.Floats)+len(a.Ints) != n || len(b.Floats)+len(b.Ints) != n {
			t.Fatalf("%d values of shape %v", len(a.Floats)+len(a.Ints), a.Shape)
		}
	})
}

// FuzzNPYTable views what a .npy file holds as embeddings or labels.
func FuzzNPYTable(f *testing.F) {
	f.Add(npy("'<f4'", "True", "(2, 3)", le32(1, 2, 3, 4, 5, 6)))
	f.Add(npy("'>i2'", "False", "(2, 2)", make([]byte, 8)))
	f.Add(npy("'|u1'", "False", "(0, 500000000000000000)", nil))
	f.Add(npy("'|b1'", "False", "(3, 1)", []byte{1, 0, 1}))
	f.Fuzz(func(t *testing.T, data []byte) {
		budgettest.CheckBounded(t, len(data), func() {
			a, err := ReadNPY(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				return
			}
			table, err := a.table("label")
			if err != nil {
				return
			}
			if err := table.check(); err != nil {
				t.Fatal(err)
			}
			values := 0
			if table.X != nil {
				values = len(table.X.Data)
			}
			for _, c := range table.Columns {
				values += len(c.IDs)
			}
			if values != len(a.Floats)+len(a.Ints) {
				t.Fatalf("%d of %d values of shape %v in the table", values, len(a.Floats)+len(a.Ints), a.Shape)
			}
		})
	})
}

// FuzzTensorTable views what a safetensors file holds as embeddings and labels.
func FuzzTensorTable(f *testing.F) {
	for _, tensors := range [][]safetensors.Tensor{
		{safetensors.Float32("x", []int{3, 2}, wantX), safetensors.Int64("y", []int{3}, []int64{7, -2, 7})},
		{{Name: "b", DType: "BOOL", Shape: []int{2, 2}, Data: []byte{1, 0, 0, 1}}},
		{{Name: "u", DType: "U64", Shape: []int{1}, Data: bytes.Repeat([]byte{0xff}, 8)}},
		{{Name: "f", DType: "F8_E4M3", Shape: []int{1}, Data: []byte{1}}},
		{safetensors.Float32("x", []int{0, 1 << 50}, nil)},
	} {
		var b bytes.Buffer
		if err := (&safetensors.File{Tensors: tensors}).Write(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		budgettest.CheckBounded(t, len(data), func() {
			file, err := safetensors.Parse(data)
			if err != nil {
				return
			}
			if table, err := tensorTable(file); err == nil && table.X != nil {
				if err := table.check(); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
}

func FuzzParseCSV(f *testing.F) {
	f.Add([]byte("filename,embedding_0,label\na,1,2\n"))
	f.Add([]byte("label\n\"quoted\nline\"\n"))
	f.Add([]byte("embedding_1,embedding_0\n1e999,nan\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var table *Table
		var err error
		budgettest.CheckBounded(t, len(data), func() { table, err = parseCSV(bytes.NewReader(data)) })
		if err != nil {
			return
		}
		if err := table.check(); err != nil {
			t.Fatal(err)
		}
		for _, c := range table.Columns {
			if (c.IDs == nil) == (c.Text == nil) && c.Len() > 0 {
				t.Fatalf("column %q is both numbers and text, or neither", c.Name)
			}
		}
	})
}

func FuzzParseNPZ(f *testing.F) {
	f.Add(npzFile(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		budgettest.CheckBounded(t, len(data), func() {
			if table, err := parseNPZ(bytes.NewReader(data), int64(len(data))); err == nil {
				if err := table.check(); err != nil && table.X != nil {
					t.Fatal(err)
				}
			}
		})
	})
}

func TestCoarsePicksColumns(t *testing.T) {
	x := write(t, "x.npy", npy("'<f4'", "False", "(3, 2)", le32(wantX...)))
	for _, c := range []struct {
		csv, label, fine string
		want             []string
	}{
		{"path,label,coarse\na,1,0\nb,2,0\nc,3,1\n", "", "", []string{"coarse", "label"}},
		{"label,fine\n1,1\n1,2\n2,3\n", "", "", []string{"label", "fine"}},
		{"label,fine\n1,1\n1,1\n2,2\n", "", "", []string{"label"}},
		{"id\n1\n1\n2\n", "", "", []string{"id"}},
		{"a,b\n1,1\n1,2\n2,3\n", "a", "b", []string{"a", "b"}},
		{"label,coarse,other\n1,0,4\n2,0,5\n3,1,6\n", "coarse", "other", []string{"coarse", "other"}},
		{"label,coarse,fine\n1,0,4\n2,0,5\n3,1,6\n", "", "", []string{"coarse", "fine"}},
		{"label,coarse,fine\n1,0,4\n2,0,5\n3,1,6\n", "fine", "", []string{"fine"}},
		{"label,coarse,fine\n1,0,4\n2,0,5\n3,1,6\n", "label", "", []string{"label", "fine"}},
		{"label,coarse\n1,0\n2,0\n3,1\n", "label", "", []string{"label"}},
		{"coarse,a\n1,0\n2,0\n3,1\n", "", "", []string{"coarse"}},
	} {
		l, err := Formats{}.readLabelled(x, write(t, "y.csv", []byte(c.csv)))
		if err == nil {
			l, err = l.Coarse(c.label, c.fine)
		}
		if err != nil {
			t.Errorf("%q: %v", c.csv, err)
			continue
		}
		if got := l.ColumnNames(); !slices.Equal(got, c.want) {
			t.Errorf("%q: columns %v, want %v", c.csv, got, c.want)
		}
	}
}

// A table with semicolons is the same table, and what is wrong with a header is told of
// its line.
func TestCSVSeparators(t *testing.T) {
	for _, text := range []string{"path,label,embedding_0\na;b,x,1\nc,y,2.5\n",
		"\xef\xbb\xbfpath;label;embedding_0\r\n\"a;b\";x;1\r\nc;y;2.5\r\n"} {
		got, err := CSV.Read(strings.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Files, []string{"a;b", "c"}) || len(got.Columns) != 1 || got.Columns[0].At(1) != "y" ||
			got.X.At(1, 0) != 2.5 {
			t.Errorf("%q: %+v", text, got)
		}
	}
	if _, err := CSV.Read(strings.NewReader("\na;a\nx;y\n"), 9); err == nil || err.Error() !=
		`line 2: the column "a" appears twice` {
		t.Error(err)
	}
}
