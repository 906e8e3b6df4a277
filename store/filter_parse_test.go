package store

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

// There is one zero: -0 is written and compared as 0.
func TestNoMinusZero(t *testing.T) {
	for _, text := range []string{"n = -0", "n = -0.0", "n in (-0, 1)", "n = 0"} {
		f, err := ParseFilter(text)
		if err != nil {
			t.Fatal(err)
		}
		test, _ := f.Expr().(*Condition)
		if v, ok := test.Values[0].(float64); !ok || v != 0 || math.Signbit(v) {
			t.Errorf("%s: %v", text, test.Values)
		}
	}
}

// The error of a filter has the position of the wrong character.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		" ":                  "2: expected a column, not the end",
		"price <":            "8: expected a number, a text in quotes, true or false, not the end",
		"price < 2 and":      "14: expected a column, not the end",
		"price = shoe":       `9: expected a number, a text in quotes, true or false ("shoe" would be a text), not shoe`,
		"price 5":            "7: expected =, !=, <, <=, >, >=, in or is after price, not 5",
		"(price < 2":         "11: expected ) to close the ( before it, not the end",
		"price < 1-2":        "10: expected and, or, or the end, not -2",
		"price < 1+2":        "10: expected and, or, or the end, not +2",
		"price < 2)":         "10: expected and, or, or the end, not )",
		"price in 2":         "10: expected ( after in, not 2",
		"price in (2":        "12: expected , or ), not the end",
		"price in ()":        "11: expected a number, a text in quotes, true or false, not )",
		"price not 2":        "11: expected in, not 2",
		"price is 2":         "10: expected missing, not 2",
		`a = "x\"`:           `5: a text does not end: " is missing`,
		`a = "x\`:            `7: \ is allowed only before a quote or another \`,
		"ä = 'x":             "5: a text does not end: ' is missing",
		`a = "\n"`:           `6: \ is allowed only before a quote or another \`,
		"a = 1e999":          `5: "1e999" is not a number`,
		"a = -":              `5: "-" is not a number`,
		"a ~ 1":              "3: '~' is not a part of a filter",
		"``= 1":              "1: a name in backquotes is empty or lacks its second backquote",
		"a in (1, 'x')":      "10: this value is of kind text, but the list begins with one of kind number",
		"a not in (true, 1)": "17: this value is of kind number, but the list begins with one of kind bool",
		"id < 5": "6: column id has values of kind text, but this value is of kind " +
			"number",
		"not (a or path >= 1)": "19: column path has values of kind text, but this value is of kind " +
			"number",
		"id":                                   "1: column id has values of kind text: compare it with one",
		"a = '\xff'":                           "1: the text is not UTF-8",
		strings.Repeat("(", 500):               "201: nested more than 200 deep",
		strings.Repeat("not ", maxDepth) + "a": "801: nested more than 200 deep",
		strings.Repeat(" ", maxText+1):         "1: 65537 bytes: must be at most 65536",
	} {
		_, err := ParseFilter(text)
		var wrong *FilterError
		if !errors.As(err, &wrong) || wrong.Filter != text ||
			!strings.HasSuffix(err.Error(), ": column "+want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
	if f, err := ParseFilter(""); f != nil || err != nil {
		t.Errorf("no filter is %v, %v", f, err)
	}
}

// parenthesised is an expression with all its parentheses.
func parenthesised(e Expr) string {
	several := func(parts []Expr, word string) string {
		texts := make([]string, len(parts))
		for i, p := range parts {
			texts[i] = parenthesised(p)
		}
		return "(" + strings.Join(texts, word) + ")"
	}
	switch e := e.(type) {
	case And:
		return several(e, " and ")
	case Or:
		return several(e, " or ")
	case Not:
		return "not " + parenthesised(e.Expr)
	case *Condition:
		return writtenCondition(e)
	}
	return fmt.Sprintf("%T", e)
}

func writtenCondition(e *Condition) string {
	column, _ := FilterName(e.Column) // Parse makes no others
	values := make([]string, len(e.Values))
	for i, v := range e.Values {
		if values[i] = e.TextValue(i); KindOf(v) == Text {
			values[i] = FilterValue(v)
		}
	}
	list := strings.Join(values, ", ")
	switch e.Op {
	case True:
		return column
	case Missing, Present:
		return fmt.Sprint(column, " ", e.Op)
	case In, NotIn:
		return fmt.Sprint(column, " ", e.Op, " (", list, ")")
	}
	return fmt.Sprint(column, " ", e.Op, " ", list)
}

// columns are those of samples.
func columns() []Column {
	return []Column{{Name: "a", Kind: Number}, {Name: "b", Kind: Text}, {Name: "c", Kind: Bool}}
}

// samples have values of every kind in every column, and none.
func samples() []Item {
	return []Item{
		{ID: "1"}, {ID: "2", Path: "p/2.jpg", Columns: map[string]any{"a": 1.0, "b": "x", "c": true}},
		{ID: "3", Columns: map[string]any{"a": -2500.0, "b": "", "c": false}},
		{ID: "4", Columns: map[string]any{"a": "x", "b": true, "c": 1.0}},
	}
}

func FuzzFilter(f *testing.F) {
	for _, s := range []string{"price < 20 and category = \"shoe\"", "not (a or b) and c in (1, -2.5e3)",
		"`unit price` >= 1", "x is not missing", "a not in ('it\\'s', \"b\")", "(((", "a = ", "é < 1", "\"", "a = 1 or",
		"true", "a = true", "a < 1 and (b = 'x' or c) and not c", "a in (1, 2) or b not in ('x')", "id > '2'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseFilter(text)
		if err != nil {
			var at *FilterError
			if !errors.As(err, &at) || at.Column < 1 || at.Column > utf8.RuneCountInString(text)+1 || at.Reason == "" {
				t.Fatalf("%q: %#v", text, err)
			}
			return
		}
		known := p.Check(columns()) == nil
		again, err := ParseFilter(parenthesised(p.Expr()))
		if err != nil {
			low := strings.ToLower(text)
			if len(text) > maxText/4 || strings.Count(low, "not")+strings.Count(low, "(") > 50 {
				return // written with all its parentheses it is beyond the bounds
			}
			t.Fatalf("%q is written as %s: %v", text, parenthesised(p.Expr()), err)
		}
		if have, want := parenthesised(again.Expr()), parenthesised(p.Expr()); have != want {
			t.Fatalf("%q became %s, and that %s", text, want, have)
		}
		if (again.Check(columns()) == nil) != known {
			t.Fatalf("%q and %s fit other columns", text, parenthesised(p.Expr()))
		}
		for _, it := range samples() {
			if p.Match(&it) != again.Match(&it) {
				t.Fatalf("%q and %s differ on item %s", text, parenthesised(p.Expr()), it.ID)
			}
		}
	})
}

// An error repeats the beginning and the end of what is wrong, however long a filter may be.
func TestReasonsAreShort(t *testing.T) {
	for _, long := range []string{strings.Repeat("x", maxText-100), strings.Repeat("`\x1b`", 1)} {
		for _, text := range []string{long + " = 1", "a = " + long, "a " + long, "b = 'x' " + long} {
			f, err := ParseFilter(text)
			if err == nil {
				err = f.Check(columns())
			}
			var wrong *FilterError
			if !errors.As(err, &wrong) || len(wrong.Reason) > 5000 {
				t.Errorf("%.20q of %d bytes: %.300v", text, len(text), err)
			}
		}
	}
	most := "a = 1" + strings.Repeat(" ", maxText-5)
	if _, err := ParseFilter(most); err != nil {
		t.Errorf("%d bytes: %v", len(most), err)
	}
	if _, err := ParseFilter(most + " "); err == nil {
		t.Errorf("%d bytes are a filter", len(most)+1)
	}
}

// A date or a time is a text without quotes. A text that only begins like a date is an error.
func TestDates(t *testing.T) {
	it := Item{ID: "x", Columns: map[string]any{"a": "2024-05-01T12:30:05", "b": 2.0}}
	for text, passes := range map[string]bool{
		"a >= 2024-05-01": true, "a<2024-05-01T12:30 and b=2": false, "a > 2024-05-01T12:30 and b=2": true,
		"a = 2024-05-01T12:30:05": true, "a < 2024-05-01T12:30:05.123Z": true, "a in (2024-05-01, 'x')": false,
		"a in ('x',2024-05-01T12:30:05)": true, "(a > 2024-05-02)": false, "b < 2024 and b > -1": true,
	} {
		f, err := ParseFilter(text)
		if err != nil || f.Match(&it) != passes {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"not a = 2024-05-01 or 2024-05-01", "a = 2024-5-1", "a = 2024-05-01T12",
		"a = 2024-05-011", "a = 2024-05-01 12:30", "a in (2024-05-01, 5)", "2024-05-01 < a",
		"a = 2024-05-01T12:30:05.123Z missing"} {
		if f, err := ParseFilter(text); err == nil {
			t.Errorf("%s is a filter: %v", text, f.Expr())
		}
	}
}
