package store

import (
	"maps"
	"math"
	"strings"
	"testing"
)

func TestIsNumber(t *testing.T) {
	for _, s := range []string{"0", "-0", "7", "-1.5", "0.30000000000000004", "1e-05", "1E+20", "1e+16",
		"5e-324", "0e9", "1.7976931348623157e+308", "1.000000000000000056e-01", "-0.0",
		"999999999999999", "12345678901234567890.0",
		"3.14e2", "0.0e-999"} {
		if !IsNumber(s) {
			t.Errorf("%s is no number", s)
		}
	}
	for _, s := range []string{"", "007", "+1", ".5", "1.", "1e", "e5", "1e5.0", "0x10", "1_000", "nan", "NaN", "inf",
		"-inf", "Infinity", "1,5", " 1", "1 ", "--1", "1e400", "-1e400", "1e-400", "1000000000000000",
		"9007199254740993", "0x1p-2", "1d5", "\u0661", "1\n"} {
		if IsNumber(s) {
			t.Errorf("%q is a number", s)
		}
	}
}

// What a table holds becomes a value of a kind and is written back as it was; nothing is
// no value of any kind.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		text string
		want any
		back string
	}{
		{Text, "007", "007", "007"}, {Text, "", nil, ""}, {Number, "", nil, ""}, {Bool, "", nil, ""},
		{Number, "1e-05", 1e-05, "1e-05"}, {Number, "2.50", 2.5, "2.5"}, {Number, "-0", 0.0, "0"},
		{Bool, "TRUE", true, "true"}, {Bool, "False", false, "false"},
	} {
		v, err := ParseValue(c.kind, c.text)
		if err != nil || v != c.want || FormatValue(v) != c.back {
			t.Errorf("%s %q is %v and written %q, %v", c.kind, c.text, v, FormatValue(v), err)
		}
		if want := c.kind; v != nil && KindOf(v) != want || v == nil && KindOf(v) != "" {
			t.Errorf("%v is of kind %q", v, KindOf(v))
		}
		if f, ok := v.(float64); ok && math.Signbit(f) {
			t.Errorf("%q has the sign of a zero", c.text)
		}
	}
	for text, kind := range map[string]Kind{"x": Number, "nan": Number, "1e999": Number, "1": Bool, "yes": Bool} {
		if v, err := ParseValue(kind, text); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s %q is %v, %v", kind, text, v, err)
		}
	}
	if KindOf(1) != "" || FormatValue(1) != "" {
		t.Error("a whole number is no value of a column")
	}
}

// The id and the path are columns to a filter, and an empty path is missing.
func TestItemValue(t *testing.T) {
	it := Item{ID: "a", Path: "p.jpg", Columns: map[string]any{"id": 1.0, "path": 2.0, "price": 3.0}}
	if it.Value("id") != "a" || it.Value("path") != "p.jpg" || it.Value("price") != 3.0 || it.Value("x") != nil {
		t.Errorf("%v %v %v %v", it.Value("id"), it.Value("path"), it.Value("price"), it.Value("x"))
	}
	if it.Path = ""; it.Value("path") != nil {
		t.Error("a path that is empty")
	}
}

// Numbers of every type become float64s, in a map of the item's own; a number that float64 cannot hold is refused.
func TestCheckConverts(t *testing.T) {
	type price int16
	type brand string
	given := map[string]any{"int": 7, "int8": int8(-8), "uint64": uint64(1) << 60, "float32": float32(0.5),
		"price": price(3), "brand": brand("x"), "text": "t", "number": 1.5}
	it := Item{ID: "a", Columns: given}
	if err := it.Check(0); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"int": 7.0, "int8": -8.0, "uint64": float64(1 << 60), "float32": 0.5, "price": 3.0,
		"brand": "x", "text": "t", "number": 1.5}
	if !maps.Equal(it.Columns, want) {
		t.Errorf("%v", it.Columns)
	}
	if given["int"] != 7 {
		t.Error("the caller's map was changed")
	}
	for _, v := range []any{int64(1)<<53 + 1, uint64(math.MaxUint64), int64(math.MaxInt64)} {
		it := Item{ID: "a", Columns: map[string]any{"n": v}}
		if err := it.Check(0); err == nil || !strings.Contains(err.Error(), "float64 cannot hold this number") {
			t.Errorf("%v: %v, %v", v, err, it.Columns)
		}
	}
	class := Item{ID: "a", Columns: map[string]any{"label": 12}}
	if err := ConvertClasses(&class, nil); err != nil || class.Columns["label"] != "12" {
		t.Errorf("a class: %v, %v", class.Columns, err)
	}
}

// Of several columns at fault the first by its name is told of, each time.
func TestCheckNamesTheFirst(t *testing.T) {
	it := Item{ID: "é", Columns: map[string]any{"b": []int{1}, "c": nil, "a": math.NaN(), "d": "\xff", "": 1.0,
		"x\n": true}}
	for _, want := range []string{"the name of a column is empty", "column a is NaN",
		"column b is []int: must be text", "column c is <nil>: must be text", "column d is not UTF-8",
		"the name of a column has the control character U+000A", ""} {
		for range 5 {
			err := it.Check(0)
			if want == "" && err == nil {
				continue
			}
			if err == nil || !strings.HasPrefix(err.Error(), `item "é": `+want) {
				t.Fatalf("%v, want %s", err, want)
			}
		}
		least := "~"
		for name := range it.Columns {
			least = min(least, name)
		}
		delete(it.Columns, least)
	}
}
