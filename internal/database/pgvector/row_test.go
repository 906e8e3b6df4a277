package pgvector

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"
)

// row is a row of a table, as it is scanned.
type row []any

func (r row) Scan(to ...any) error {
	if len(to) != len(r) {
		return errors.New("other columns")
	}
	for i := range to {
		reflect.ValueOf(to[i]).Elem().Set(reflect.ValueOf(r[i]))
	}
	return nil
}

// What a table holds comes back as it is, or not at all.
func TestItemsOfRows(t *testing.T) {
	for _, c := range []struct {
		columns string
		want    map[string]any // nil with wrong: it is refused
		wrong   bool
	}{
		{`{}`, nil, false},
		{`{"n":1.5,"b":true,"s":"é"}`, map[string]any{"n": 1.5, "b": true, "s": "é"}, false},
		{`{"s":"\ud800"}`, nil, true}, {"{\"s\":\"\xff\"}", nil, true}, {`{"\udfff":1}`, nil, true}, {`{`, nil, true},
	} {
		it, err := scanItem(row{"x", "p", []byte(c.columns), "[1,2.5]"}, true, nil)
		if (err != nil) != c.wrong {
			t.Errorf("%s: %+v, %v", c.columns, it, err)
		}
		if err == nil && (it.ID != "x" || it.Path != "p" || !reflect.DeepEqual(it.Columns, c.want) ||
			!reflect.DeepEqual(it.Vector, []float32{1, 2.5})) {
			t.Errorf("%s: %+v", c.columns, it)
		}
	}
	distance := 0.0
	it, err := scanItem(row{"x", "", []byte(`{}`), "no vector", 0.5}, false, &distance)
	if err != nil || it.Vector != nil || distance != 0.5 {
		t.Errorf("without a vector: %+v, %v, at %g", it, err, distance)
	}
	if it, err := scanItem(row{"x", "", []byte(`{}`), "[1,x]"}, true, nil); err == nil {
		t.Errorf("an invalid vector: %+v", it)
	}
	if _, err := scanItem(row{}, false, nil); err == nil {
		t.Error("a row that cannot be scanned is an item")
	}
}

// Every number of a vector comes back as it was written.
func TestVectorsAsText(t *testing.T) {
	for _, v := range [][]float32{{0}, {1, -2.5, 3e-45},
		{math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32}, {0.1, 1.0 / 3, 16777217}} {
		if got, err := parseVector(formatVector(v)); err != nil || !slices.Equal(got, v) {
			t.Errorf("%v is written %s and read as %v, %v", v, formatVector(v), got, err)
		}
	}
	for _, text := range []string{"", "[]", "[1,]", "[1,,2]", "[1;2]", "[1e99]"} {
		if got, err := parseVector(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
