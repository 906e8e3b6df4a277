package store

import (
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

// Of several columns at fault the first by its name is told of, each time.
func TestCheckNamesTheFirst(t *testing.T) {
	it := Item{ID: "é", Columns: map[string]any{"b": 1, "c": nil, "a": math.NaN(), "d": "\xff", "": 1.0, "x\n": true}}
	for _, want := range []string{"the name of a column is empty", "column a is NaN", "column b is not text",
		"column c is not text", "column d is not UTF-8", "the name of a column has the control character U+000A",
		""} {
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
