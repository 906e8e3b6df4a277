package enum

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// colour is a type with names.
type colour uint8

var colours = New[colour]("Colour", "colour", "red", "green", "blue")

func TestNames(t *testing.T) {
	for k, name := range colours.List {
		got, err := colours.Parse(name)
		if got != colour(k) || err != nil {
			t.Errorf("%s is %d, %v", name, got, err)
		}
		if text, err := colours.Marshal(got); string(text) != name || err != nil || colours.Name(got) != name {
			t.Errorf("number %d is %s, %s, %v", k, text, colours.Name(got), err)
		}
		var set colour
		if err := colours.Unmarshal(&set, []byte(name)); err != nil || set != got {
			t.Errorf("%s sets %d, %v", name, set, err)
		}
	}
	set := colour(2)
	err := colours.Unmarshal(&set, []byte("gren"))
	want := `unknown colour "gren" (did you mean "green"?); there are red, green, blue`
	if err == nil || err.Error() != want || set != 2 {
		t.Errorf("%v, want %s; it is set to %d", err, want, set)
	}
	for _, far := range []string{"octarine", ""} {
		if _, err := colours.Parse(far); err == nil || strings.Contains(err.Error(), "mean") {
			t.Errorf("%q: %v", far, err)
		}
	}
	for _, k := range []colour{3, 255} {
		if _, err := colours.Marshal(k); err == nil || colours.Name(k) != fmt.Sprintf("Colour(%d)", k) {
			t.Errorf("number %d: %v", k, err)
		}
	}
	less := New[int]("Int", "number", "zero")
	if _, err := less.Marshal(-1); err == nil || less.Name(-1) != "Int(-1)" {
		t.Errorf("-1 is %s, %v", less.Name(-1), err)
	}
}

// TestSuggest: a word is proposed if no more than half of the letters and
// one differ, and of several the nearest.
func TestSuggest(t *testing.T) {
	names := []string{"abcdefgh", "abcdxxxx", "z"}
	for word, want := range map[string]string{
		"abcdefgx":  "abcdefgh",
		"abcdexxx":  "abcdxxxx",
		"abc":       "", // five to add
		"qqqqqfgh":  "abcdefgh",
		"qqqqqqgh":  "",
		"qqqqqqqqq": "",
		"zz":        "z",
	} {
		got := Suggest(word, names)
		if want == "" && got != "" || want != "" && !strings.Contains(got, strconv.Quote(want)) {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
