package parquet

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestFractions: with Fractions numbers keep all their digits; without, such columns are
// passed over. Missing values are empty.
func TestFractions(t *testing.T) {
	type row struct {
		ID     string   `parquet:"id"`
		Price  *float64 `parquet:"price,optional"`
		Weight float32  `parquet:"weight"`
		Stock  *int64   `parquet:"stock,optional"`
		New    bool     `parquet:"new"`
	}
	p, n := 19.99, int64(3)
	b := fileOf(t, []row{{"a", &p, 0.1, &n, true}, {"b", nil, 1e-9, nil, false}})
	got := func(f Format) string {
		table, err := f.Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return err.Error()
		}
		var out []string
		for i := range table.Columns {
			c := &table.Columns[i]
			out = append(out, c.Name+": "+c.At(0)+", "+c.At(1))
		}
		return strings.Join(out, "; ")
	}
	if s := got(Format{Fractions: true}); s !=
		"price: 19.99, ; weight: 0.1, 1e-09; stock: 3, ; new: true, false" {
		t.Error(s)
	}
	if s := got(Format{}); s != "stock: 3, ; new: true, false" {
		t.Error(s)
	}
	table, err := Format{}.Read(bytes.NewReader(b), int64(len(b)))
	if err == nil {
		table, err = table.Select("stock")
	}
	if err != nil || !slices.Equal(table.UnlabelledRows(), []int{1}) ||
		table.WithoutRows([]int{1}).Columns[0].IDs[0] != 3 {
		t.Errorf("%+v, %v", table, err)
	}
}

// TestFloatLabel: a column label of floats is named in the error.
func TestFloatLabel(t *testing.T) {
	type row struct {
		Label float64 `parquet:"label"`
		Shop  string  `parquet:"shop"`
		X     float32 `parquet:"embedding_0"`
	}
	b := fileOf(t, []row{{1, "a", 1}, {2, "b", 2}})
	table, err := Format{}.Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Select(); err == nil || !strings.Contains(err.Error(), "the column label holds floating-point") {
		t.Error(err)
	}
	if table, err = table.Select("shop"); err != nil || table.Columns[0].At(1) != "b" {
		t.Errorf("%+v, %v", table, err)
	}
}
