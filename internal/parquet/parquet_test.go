package parquet

import (
	"slices"

	pq "github.com/parquet-go/parquet-go"

	"bytes"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/test/budgettest"
	"github.com/kindred-ml/kindred/matrix"
)

func file(t testing.TB) []byte {
	t.Helper()
	type row struct {
		Filename  string    `parquet:"filename"`
		Embedding []float32 `parquet:"embedding,list"`
		Label     int64     `parquet:"label"`
	}
	return fileOf(t, []row{{"a", []float32{1, 2}, 7}, {"b", []float32{3, 4}, -2},
		{"c", []float32{5, 6}, 7}})
}

func columnsFile(t testing.TB) []byte {
	t.Helper()
	type row struct {
		E1    float64 `parquet:"embedding_1"`
		E0    float64 `parquet:"embedding_0"`
		Label string  `parquet:"label"`
		Score float64 `parquet:"score"`
	}
	return fileOf(t, []row{{2, 1, "7", 0}, {4, 3, "-2", 0}, {6, 5, "7", 0}})
}

// row is a row of the usual columns with a label of text.
type row struct {
	Filename  string    `parquet:"filename"`
	Embedding []float32 `parquet:"embedding,list"`
	Label     string    `parquet:"label"`
}

// fileOf is a file of rows.
func fileOf[R any](t testing.TB, rows []R, options ...pq.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := pq.NewGenericWriter[R](&b, options...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRejectsRaggedLists(t *testing.T) {
	type row struct {
		Embedding []float32 `parquet:"embedding,list"`
	}
	b := fileOf(t, []row{{[]float32{1, 2}}, {[]float32{3}}})
	_, err := parse(bytes.NewReader(b), int64(len(b)), false)
	if err == nil || !strings.Contains(err.Error(), "row 2 has 1 coordinates, row 1 has 2") {
		t.Errorf("error %v", err)
	}
}

func TestStringLabelsAreNotMerged(t *testing.T) {
	b := fileOf(t, []row{{"a", []float32{1}, "7"}, {"b", []float32{2}, "07"}, {"c", []float32{3}, "7"}})
	got, err := Format{}.Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if c := got.Column("label"); !slices.Equal(c.Text, []string{"7", "07", "7"}) {
		t.Errorf("labels %v", c)
	}
}

// Embeddings as a list and as columns; a number for a label and its digits.
func TestReads(t *testing.T) {
	for name, b := range map[string][]byte{"list": file(t), "columns": columnsFile(t)} {
		got, err := Format{}.Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(got.X.Data, []float32{1, 2, 3, 4, 5, 6}) || got.X.Cols != 2 ||
			!slices.Equal(got.Column("label").IDs, []int64{7, -2, 7}) || len(got.Columns) != 1 {
			t.Errorf("%s: %v, labels %v", name, got.X, got.Columns)
		}
	}
	if _, err := (Format{}).Read(bytes.NewReader(file(t)[:100]), 100); err == nil {
		t.Error("a cut file was read")
	}
}

// A second column that names the items is a label like any other.
func TestSecondNameIsALabel(t *testing.T) {
	type row struct {
		File  string  `parquet:"file"`
		Path  string  `parquet:"path"`
		First float32 `parquet:"embedding_0"`
	}
	b := fileOf(t, []row{{"a", "x/a", 1}, {"b", "x/b", 2}})
	got, err := Format{}.Read(bytes.NewReader(b), int64(len(b)))
	if err != nil || !slices.Equal(got.Files, []string{"a", "b"}) || got.Column("path") == nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestNetwork: the metadata keep the network, and another text there is an error.
func TestNetwork(t *testing.T) {
	want := &embedding.Table{X: matrix.FromSlice(1, 2, []float32{1, 2}), Network: embedding.Network{Name: "net",
		Fingerprint: "k1:01", Preparation: "64 x 64"}}
	var b bytes.Buffer
	if err := (Format{}).Write(&b, want); err != nil {
		t.Fatal(err)
	}
	got, err := Format{}.Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || got.Network != want.Network {
		t.Errorf("%+v, %v", got, err)
	}
	bad := bytes.Replace(b.Bytes(), []byte(`"sum"`), []byte(`"som"`), 1)
	if _, err := (Format{}).Read(bytes.NewReader(bad), int64(len(bad))); err == nil ||
		!strings.Contains(err.Error(), embedding.MetadataKey) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(file(f))
	f.Add(fileOf(f, []struct {
		First float32 `parquet:"embedding_0"`
	}{{1}}, pq.KeyValueMetadata(embedding.MetadataKey, `{"name": "net", "sum": "k1:01"}`)))
	f.Add(columnsFile(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		budgettest.CheckBounded(t, len(data), func() {
			if table, err := parse(bytes.NewReader(data), int64(len(data)), false); err == nil {
				if table.X == nil && len(table.Columns) == 0 {
					t.Fatal("an empty table")
				}
			}
		})
	})
}
