package spell

import (
	"strconv"
	"strings"
	"testing"
)

var colours = []string{"red", "green", "blue"}

func TestIndex(t *testing.T) {
	for k, name := range colours {
		if got, err := Index("colour", name, colours); got != k || err != nil {
			t.Errorf("%s is %d, %v", name, got, err)
		}
		if got := Name("Colour", k, colours); got != name {
			t.Errorf("number %d is %s", k, got)
		}
		if got, err := Text("colour", k, colours); string(got) != name || err != nil {
			t.Errorf("number %d is %s, %v", k, got, err)
		}
	}
	_, err := Index("colour", "gren", colours)
	want := `unknown colour "gren" (did you mean "green"?); there are red, green, blue`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	for _, far := range []string{"octarine", ""} {
		if _, err := Index("colour", far, colours); err == nil || strings.Contains(err.Error(), "mean") {
			t.Errorf("%q: %v", far, err)
		}
	}
	for _, k := range []int{-1, 3, 255} {
		if _, err := Text("colour", k, colours); err == nil || Name("Colour", 3, colours) != "Colour(3)" {
			t.Errorf("number %d: %v", k, err)
		}
	}
}

// TestDidYouMean: a word is proposed if no more than half of the letters and
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
