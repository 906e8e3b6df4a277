package index

import (
	"encoding/json"
	"errors"
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

// A column of texts that is compared with a number says which value made it so.
func TestFilterNamesTheTextAmongNumbers(t *testing.T) {
	x := create(t, Config{Dim: 1})
	put := func(id, price string) {
		t.Helper()
		add(t, x, []Entry{{Item{ID: id, Fields: map[string]Value{"price": Text(price)}}, []float32{1}}}, AddOptions{})
	}
	want := func(reason string) {
		t.Helper()
		f, err := ParseFilter("price < 20")
		if err != nil {
			t.Fatal(err)
		}
		_, err = x.Search(t.Context(), Query{Vector: []float32{1}, K: 1, Filter: f})
		var wrong *FilterError
		if !errors.As(err, &wrong) || wrong.Column != 9 || !strings.Contains(wrong.Reason, reason) ||
			!strings.HasPrefix(wrong.Reason, "column price holds values of kind text, and this is of kind number; ") {
			t.Errorf("%v, want %q", err, reason)
		}
	}
	put("a", "1.5")
	want("all its values are numbers that were added as texts")
	put("b", "n/a")
	put("c", "?")
	want(`"n/a" of item "b" is no number`)
	if err := x.Compact(t.Context(), CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	want(`"n/a" of item "b" is no number`)
	if _, err := x.Remove(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	want(`"?" of item "c" is no number`)
	put("d", "x\x1b[2J"+strings.Repeat("y", 1000))
	if _, err := x.Remove(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	want(`"x\x1b[2Jyyy`)
	f, err := ParseFilter("id = 5")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.List(f, "", 1); err == nil || !strings.HasSuffix(err.Error(), "this is of kind number") {
		t.Error(err)
	}
}

// A value that would not come back as it was sent is refused.
func TestValueRefusesHalfACharacter(t *testing.T) {
	for text, want := range map[string]bool{`"\ud800"`: false, `"\ud83d\ude00"`: true, `"a\udc00"`: false, `null`: true} {
		var v Value
		if err := json.Unmarshal([]byte(text), &v); (err == nil) != want {
			t.Errorf("%s: %+v, %v", text, v, err)
		}
	}
}
