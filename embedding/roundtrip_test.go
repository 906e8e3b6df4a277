package embedding_test

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	pq "github.com/parquet-go/parquet-go"
	"github.com/sbinet/npyio"
	"github.com/sbinet/npyio/npz"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/parquet"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// formats are all there are; those but .npy hold a whole table.
var (
	formats = []embedding.Format{embedding.NPY, embedding.NPZ, embedding.Safetensors, embedding.CSV, parquet.Format{}}
	whole   = formats[1:]
	files   = embedding.Formats{parquet.Format{}}
)

// table is a small one with everything that makes trouble.
func table() *embedding.Table {
	x := matrix.New(4, 5).RowRange(0, 4)
	x.Cols = 3 // rows that do not touch
	for i, row := range [][]float32{{1, -2.5, 1e-40}, {float32(math.Inf(1)), float32(math.Inf(-1)), 3e38},
		{0.1, float32(math.Copysign(0, -1)), 16777217}, {math.SmallestNonzeroFloat32, 1. / 3, -1e10}} {
		copy(x.Row(i), row)
	}
	return &embedding.Table{
		X:     x,
		ID:    &embedding.Column{Name: "id", IDs: []int64{3, 1, math.MaxInt64, -7}},
		Files: []string{"cats/a b.jpg", `C:\x,"y".png`, "größe/日本/🙂.webp", " lines\nof\tname "},
		Columns: []embedding.Column{
			{Name: "label", Text: []string{"cat, big", "", "07", "cat, big"}},
			{Name: "coarse", IDs: []int64{math.MinInt64, 0, math.MaxInt64, 0}},
			{Name: "a column", Text: []string{"7", "-7", "007", "x"}},
		},
	}
}

// same compares tables by what they say.
func same(t *testing.T, what string, got, want *embedding.Table) {
	t.Helper()
	var problems []string
	if (got.X == nil) != (want.X == nil) || got.Rows() != want.Rows() {
		problems = append(problems, fmt.Sprintf("%d rows, want %d", got.Rows(), want.Rows()))
	} else if want.X != nil {
		for i := range want.X.Rows {
			for j, v := range want.X.Row(i) {
				if math.Float32bits(got.X.At(i, j)) != math.Float32bits(v) {
					problems = append(problems, fmt.Sprintf("(%d, %d) is %v, want %v", i, j, got.X.At(i, j), v))
				}
			}
		}
	}
	if !slices.Equal(got.Files, want.Files) {
		problems = append(problems, fmt.Sprintf("files %q, want %q", got.Files, want.Files))
	}
	if !reflect.DeepEqual(got.ID, want.ID) {
		problems = append(problems, fmt.Sprintf("identity %v, want %v", got.ID, want.ID))
	}
	if len(got.Columns) != len(want.Columns) || len(want.Columns) > 0 && !reflect.DeepEqual(got.Columns, want.Columns) {
		problems = append(problems, fmt.Sprintf("columns %v, want %v", got.Columns, want.Columns))
	}
	if len(problems) > 0 {
		t.Errorf("%s: %s", what, strings.Join(problems, "; "))
	}
}

func TestRoundTrip(t *testing.T) {
	bare := &embedding.Table{X: table().X}
	text := table()
	text.ID = &embedding.Column{Name: "id", Text: []string{"d", "c", "b", "a"}}
	labels := table()
	labels.X = nil
	many := &embedding.Table{X: matrix.New(1000, 2), ID: &embedding.Column{Name: "id"}}
	for i := range many.X.Rows {
		many.X.Row(i)[0], many.X.Row(i)[1] = float32(i), -float32(i)
		many.ID.IDs = append(many.ID.IDs, int64(i))
		many.Files = append(many.Files, fmt.Sprintf("photos/%04d.jpg", i))
	}
	twice := &embedding.Table{X: matrix.FromSlice(2, 1, []float32{1, 2}),
		Columns: []embedding.Column{{Name: "id", IDs: []int64{5, 5}}}}
	for name, want := range map[string]*embedding.Table{
		"everything": table(), "embeddings alone": bare, "identity of text": text, "no embeddings": labels,
		"many rows": many, "an id that is none": twice,
		"one empty text": {Columns: []embedding.Column{{Name: "label", Text: []string{"", "a", ""}}}},
		"one row":        {X: matrix.FromSlice(1, 1, []float32{7}), Files: []string{"a"}},
		"two rows":       {X: matrix.FromSlice(2, 1, []float32{7, 8}), Files: []string{"", "a"}},
	} {
		for _, f := range whole {
			path := filepath.Join(t.TempDir(), "e"+f.Extension())
			if err := files.Write(path, want); err != nil {
				t.Errorf("%s, %s: %v", name, f.Extension(), err)
				continue
			}
			got, err := files.Read(path)
			if err != nil {
				t.Errorf("%s, %s: %v", name, f.Extension(), err)
				continue
			}
			same(t, name+", "+f.Extension(), got, want)
		}
	}
	path := filepath.Join(t.TempDir(), "E.NPY")
	if err := embedding.Write(path, table()); err != nil {
		t.Fatal(err)
	}
	got, err := embedding.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	same(t, ".npy", got, bare)
}

// A .npy file of labels alone.
func TestColumnAsNPY(t *testing.T) {
	for name, c := range map[string]embedding.Column{
		"numbers": {Name: "label", IDs: []int64{math.MinInt64, 7}}, "text": {Name: "label", Text: []string{"", "日本"}},
	} {
		var b bytes.Buffer
		if err := embedding.NPY.Write(&b, &embedding.Table{Columns: []embedding.Column{c}}); err != nil {
			t.Fatal(err)
		}
		got, err := embedding.Decode(embedding.NPY, &b)
		if err != nil || len(got.Columns) != 1 || !reflect.DeepEqual(got.Columns[0], c) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	two := &embedding.Table{Columns: []embedding.Column{{Name: "a", IDs: []int64{1}}, {Name: "b", IDs: []int64{1}}}}
	if err := embedding.NPY.Write(io.Discard, two); err == nil {
		t.Error("two columns were written to one array")
	}
}

// A stream, a file system and one whose files can only be read in order give
// what the path gives.
func TestEveryWayToRead(t *testing.T) {
	disk := fstest.MapFS{}
	for _, f := range formats {
		var b bytes.Buffer
		if err := f.Write(&b, table()); err != nil {
			t.Fatal(err)
		}
		disk["in/e"+f.Extension()] = &fstest.MapFile{Data: b.Bytes()}
	}
	for _, f := range formats {
		name := "in/e" + f.Extension()
		want, err := f.Read(bytes.NewReader(disk[name].Data), int64(len(disk[name].Data)))
		if err != nil {
			t.Fatal(err)
		}
		stream, err := embedding.Decode(f, io.MultiReader(bytes.NewReader(disk[name].Data)))
		if err != nil {
			t.Fatal(err)
		}
		same(t, name+" as a stream", stream, want)
		for how, fsys := range map[string]fs.FS{"file system": disk, "in order": inOrder{disk}} {
			got, err := files.ReadFS(fsys, name)
			if err != nil {
				t.Errorf("%s, %s: %v", how, name, err)
				continue
			}
			same(t, name+" of a "+how, got, want)
		}
		cut := disk[name].Data[:len(disk[name].Data)/2]
		if _, err := embedding.Decode(f, bytes.NewReader(cut)); err == nil {
			t.Errorf("half of %s was read", name)
		}
	}
	for name, want := range map[string]string{"none.npy": "not exist", "in/e.txt": `extension ".txt"`,
		"in": `extension ""`} {
		if _, err := files.ReadFS(disk, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	disk["folder.npy/x"] = &fstest.MapFile{}
	if _, err := files.ReadFS(disk, "folder.npy"); err == nil || !strings.Contains(err.Error(), "a folder") {
		t.Errorf("a folder: %v", err)
	}
}

// inOrder hides that files can be read anywhere.
type inOrder struct{ fs.FS }

func (f inOrder) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	return struct{ fs.File }{file}, err
}

func TestSameTableSameBytes(t *testing.T) {
	for _, f := range formats {
		var a, b bytes.Buffer
		if err := f.Write(&a, table()); err != nil {
			t.Fatal(err)
		}
		if err := f.Write(&b, table()); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s: two writings differ", f.Extension())
		}
	}
}

// What others make of the files.
func TestOtherReaders(t *testing.T) {
	want := table()
	var flat []float32
	for i := range want.X.Rows {
		flat = append(flat, want.X.Row(i)...)
	}
	path := func(f embedding.Format) string {
		p := filepath.Join(t.TempDir(), "e"+f.Extension())
		if err := files.Write(p, want); err != nil {
			t.Fatal(err)
		}
		return p
	}
	var x []float32
	file, err := os.Open(path(embedding.NPY))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := npyio.Read(file, &x); err != nil || !slices.Equal(x, flat) {
		t.Errorf(".npy: %v, %v", x, err)
	}
	var ids []int64
	z, err := npz.Open(path(embedding.NPZ))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if err := z.Read("embeddings.npy", &x); err != nil || !slices.Equal(x, flat) {
		t.Errorf(".npz: %v, %v", x, err)
	}
	if err := z.Read("coarse.npy", &ids); err != nil || !slices.Equal(ids, want.Columns[1].IDs) {
		t.Errorf(".npz: %v, %v", ids, err)
	}
	f, err := safetensors.Read(path(embedding.Safetensors))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.Tensor("embeddings").Float32s(); err != nil || !slices.Equal(got, flat) {
		t.Errorf(".safetensors: %v, %v", got, err)
	}
	if got, err := f.Tensor("label").Int64s(); err != nil || !slices.Equal(got, []int64{2, 0, 1, 2}) {
		t.Errorf(".safetensors: labels %v, %v", got, err)
	}
	text, err := os.ReadFile(path(embedding.CSV))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	header := []string{"id", "path", "label", "coarse", "a column", "embedding_0", "embedding_1", "embedding_2"}
	if err != nil || len(lines) != 5 || !slices.Equal(lines[0], header) ||
		!slices.Equal(lines[1][:6], []string{"3", "cats/a b.jpg", "cat, big", "-9223372036854775808", "7", "1"}) {
		t.Errorf(".csv: %q, %v", lines, err)
	}
	type row struct {
		ID        int64     `parquet:"id"`
		Path      string    `parquet:"path"`
		Label     string    `parquet:"label"`
		Coarse    int64     `parquet:"coarse"`
		Column    string    `parquet:"a column"`
		Embedding []float32 `parquet:"embedding,list"`
	}
	rows, err := pq.ReadFile[row](path(parquet.Format{}))
	if err != nil || len(rows) != 4 {
		t.Fatal(rows, err)
	}
	for i, r := range rows {
		if r.ID != want.ID.IDs[i] || r.Path != want.Files[i] || r.Label != want.Columns[0].Text[i] ||
			r.Coarse != want.Columns[1].IDs[i] || r.Column != want.Columns[2].Text[i] ||
			!slices.Equal(r.Embedding, want.X.Row(i)) {
			t.Errorf(".parquet: row %d is %+v", i, r)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	x := matrix.FromSlice(2, 1, []float32{1, 2})
	labels := func(c ...embedding.Column) *embedding.Table { return &embedding.Table{X: x, Columns: c} }
	both := embedding.Column{Name: "y", IDs: []int64{1, 2}, Text: []string{"a", "b"}}
	b := embedding.Column{Name: "b", IDs: []int64{1, 2}}
	for want, table := range map[string]*embedding.Table{
		"neither embeddings nor labels":        {Files: []string{"a"}},
		"0 embeddings of 3 numbers":            {X: matrix.New(0, 3)},
		"2 embeddings of 0 numbers":            {X: matrix.New(2, 0)},
		"1 file names for 2 rows":              {X: x, Files: []string{"a"}},
		`1 labels in "id" for 2 rows`:          {X: x, ID: &embedding.Column{Name: "id", IDs: []int64{1}}},
		`1 labels in "y" for 2 rows`:           labels(embedding.Column{Name: "y", IDs: []int64{1}}),
		"both numbers and text":                labels(both),
		`called "": the name is empty`:         labels(embedding.Column{IDs: []int64{1, 2}}),
		`called "b": the name is empty`:        labels(b, b),
		`called "embedding_7": files`:          labels(embedding.Column{Name: "embedding_7", IDs: []int64{1, 2}}),
		`called "embeddings": files`:           labels(embedding.Column{Name: "embeddings", IDs: []int64{1, 2}}),
		`called "embedding": files`:            labels(embedding.Column{Name: "embedding", IDs: []int64{1, 2}}),
		`called "file": files`:                 labels(embedding.Column{Name: "file", IDs: []int64{1, 2}}),
		`row 2 of the column "y" is "a\x00"`:   labels(embedding.Column{Name: "y", Text: []string{"b", "a\x00"}}),
		`row 1 of the column "path" is "\xff"`: {X: x, Files: []string{"\xff", "b"}},
	} {
		for _, f := range formats {
			dir := t.TempDir()
			err := files.Write(filepath.Join(dir, "e"+f.Extension()), table)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one with %q", f.Extension(), err, want)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("%s: %v was left", want, left)
			}
		}
	}
	for _, name := range []string{"e.txt", "e", "npy", "e.npy.gz"} {
		if err := files.Write(filepath.Join(t.TempDir(), name), table()); err == nil ||
			!strings.Contains(err.Error(), "is not one of .npy, .npz, .safetensors, .csv, .parquet") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := embedding.Standard(".x").Write(io.Discard, table()); err == nil {
		t.Error("an unknown format was written")
	}
	if _, err := embedding.Standard(".x").Read(strings.NewReader(""), 0); err == nil {
		t.Error("an unknown format was read")
	}
}

// A file that cannot be written whole does not take the place of another.
func TestWriteIsAtomic(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "e.csv")
	if err := embedding.Write(path, table()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := table()
	bad.Files[3] = "a\r\nb"
	if err := embedding.Write(path, bad); err == nil || !strings.Contains(err.Error(), "carriage return") {
		t.Errorf("error %v", err)
	}
	after, err := os.ReadFile(path)
	if left, _ := os.ReadDir(dir); err != nil || !bytes.Equal(before, after) || len(left) != 1 {
		t.Errorf("%d bytes, then %d: %v; %v", len(before), len(after), err, left)
	}
}

// What is written is read, or refused.
func FuzzRoundTrip(f *testing.F) {
	f.Add("label", "a\nb", "path/x", int64(3), []byte{1, 2, 3, 4, 5, 6, 7, 8})
	f.Add("id", "7\n07", "\ufeff", int64(-1), []byte{0, 0, 192, 127, 0, 0, 128, 255})
	f.Add("y", "\r", "\"", int64(1), []byte{})
	f.Add(";;;;", "7\n07", "file", int64(-1), []byte{0, 0, 192, 127, 0, 0, 128, 255}) // not what stands between columns
	f.Fuzz(func(t *testing.T, name, texts, file string, id int64, data []byte) {
		column := embedding.NewColumn(name, strings.SplitN(texts, "\n", 20))
		n := column.Len()
		want := &embedding.Table{Columns: []embedding.Column{column}, ID: &embedding.Column{Name: "id"}}
		for i := range n {
			want.Files = append(want.Files, strings.Repeat(file, i%3))
			want.ID.IDs = append(want.ID.IDs, id+int64(i))
		}
		if d := len(data) / 4 / n; d > 0 {
			want.X = matrix.New(n, d)
			for k := range want.X.Data {
				want.X.Data[k] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*k:]))
				if v := want.X.Data[k]; v != v { // one NaN is like another
					want.X.Data[k] = float32(math.NaN())
				}
			}
		}
		if name == "labels" || name == "y" || name == "Y" {
			return // read as label
		}
		for _, f := range whole {
			var b bytes.Buffer
			if err := f.Write(&b, want); err != nil {
				all := strings.Join([]string{name, texts, file}, " ")
				reserved := []string{"", "id", "path", "file", "filename"}
				if utf8.ValidString(all) && !strings.ContainsAny(all, "\x00\r\ufeff") &&
					!slices.Contains(reserved, name) && !strings.HasPrefix(name, "embedding") &&
					!strings.Contains(name, ";") {
					t.Fatalf("%s refused: %v", f.Extension(), err)
				}
				continue
			}
			got, err := embedding.Decode(f, &b)
			if err != nil {
				t.Fatalf("%s: %v", f.Extension(), err)
			}
			same(t, f.Extension(), got, want)
		}
	})
}
