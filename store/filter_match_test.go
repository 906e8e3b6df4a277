package store

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func parseFilterOf(t *testing.T, text string) *Filter {
	t.Helper()
	f, err := ParseFilter(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return f
}

// What passes, with missing values, values of another kind, and negations of both.
func TestMatch(t *testing.T) {
	items := append(samples(), Item{ID: "5", Columns: map[string]any{"a": math.Copysign(0, -1), "b": "Zoë"}})
	for text, want := range map[string]string{
		"a = 1": "2", "a != 1": "3 4 5", "not a = 1": "1 3 4 5", "a < 1": "3 5", "a <= 1": "2 3 5", "a > 0": "2",
		"a >= 0": "2 5", "a = 0": "5", "a = -0": "5", "a in (0, 1)": "2 5", "a not in (0, 1)": "3 4",
		"not a in (0)": "1 2 3 4",
		"a is missing": "1", "a is not missing": "2 3 4 5", "b = ''": "3", "b > 'Z'": "2 5", "b not in ('x')": "3 5",
		"b < 'a'": "3 5", "c": "2", "not c": "1 3 4 5", "c = false": "3", "c != false": "2", "c in (true)": "2",
		"path is missing": "1 3 4 5", "path > 'p'": "2", "id >= '3'": "3 4 5", "id in ('1', '4')": "1 4",
		"path != 'x'": "2", "a = 1 or a < 0 and b = ''": "2 3", "(a = 1 or a < 0) and b = ''": "3",
		"not (a = 1 or c = false)": "1 4 5", "nowhere is missing": "1 2 3 4 5", "nowhere = 1": "",
	} {
		f := parseFilterOf(t, text)
		var ids []string
		for i := range items {
			if f.Match(&items[i]) {
				ids = append(ids, items[i].ID)
			}
		}
		if have := strings.Join(ids, " "); have != want {
			t.Errorf("%s: %q pass, want %q", text, have, want)
		}
	}
}

// Columns that are not there, or hold values of another kind, are told of.
func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		"a < 1 and b = 'x' and not c and id = 'x' and path is missing": "",
		"aa = 1":               `1: no column aa (did you mean "a"?): the columns are id, path, a, b, c`,
		"a = 1 or (b = 2)":     "",
		"b != true":            "",
		"a = 1 or (b < 2)":     "15: column b has values of kind text, but this value is of kind number",
		"b > true":             "5: column b has values of kind text, but this value is of kind bool",
		"a in ('x', 'y')":      "7: column a has values of kind number, but this value is of kind text",
		"not b":                "5: column b has values of kind text: compare it with one",
		"c < true":             "1: column c is true or false: compare it by = or !=",
		"c != false and c = 0": "20: column c has values of kind bool, but this value is of kind number",
	} {
		err := parseFilterOf(t, text).Check(columns())
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasSuffix(err.Error(), ": column "+want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		var wrong *FilterError
		texts := ""
		if strings.HasSuffix(want, "kind text, but this value is of kind number") {
			texts = "b"
		}
		if errors.As(err, &wrong) && wrong.Texts != texts {
			t.Errorf("%s: column of texts %q, want %q", text, wrong.Texts, texts)
		}
	}
}

// Operators compare as numbers and texts do.
func TestOp(t *testing.T) {
	signs := []Op{Less, AtMost, Equal, Unequal, AtLeast, Greater}
	for order, want := range map[int][]Op{-1: {Less, AtMost, Unequal}, 0: {AtMost, Equal, AtLeast},
		1: {Unequal, AtLeast, Greater}} {
		for _, op := range signs {
			if op.Compare(order) != slices.Contains(want, op) {
				t.Errorf("%v of %d", op, order)
			}
		}
	}
}

// A column of texts is compared with numbers and truth values as the filter writes them, and only for equality.
func TestLiteralsAreTexts(t *testing.T) {
	classes := []string{"2.1", "2.10", "1", "1e0", "01", "-0", "0", "true", "True", ""}
	for text, want := range map[string]string{
		"label = 2.10": "2.10", "label = 2.1": "2.1", "label = 1": "1", "label in (1e0, 01)": "1e0 01",
		"label = -0": "-0", "label = 0": "0", "label = true": "true", "label = True": "True",
		"label in (true, false)": "true", "not label != 2.10": "2.10", "label < 5": "",
		"label not in (2.1, 2.10, 1, 1e0, 01, -0, 0)": "true True ", "id = 7": "2.1 2.10 1 1e0 01 -0 0 true True ",
		"id != 7": "", "path = 7.0": "", "path in (7)": "2.1 2.10 1 1e0 01 -0 0 true True ",
	} {
		f := parseFilterOf(t, text)
		var have []string
		for _, c := range classes {
			if f.Match(&Item{ID: "7", Path: "7", Columns: map[string]any{"label": c}}) {
				have = append(have, c)
			}
		}
		if strings.Join(have, " ") != want {
			t.Errorf("%s: %q pass, want %q", text, have, want)
		}
	}
	if c := (&Condition{Column: "n", Values: []any{2.5}}); c.TextValue(0) != "2.5" || !c.MatchesText("2.5") {
		t.Error("a condition that no filter was parsed to has no texts")
	}
}
