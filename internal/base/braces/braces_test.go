package braces

import (
	"strings"
	"testing"
)

// TestExpand: what bash makes of the same words.
func TestExpand(t *testing.T) {
	for text, want := range map[string]string{
		"plain.tar": "plain.tar", "": "", "a{1,2}b": "a1b a2b",
		"s-{008..011}.tar": "s-008.tar s-009.tar s-010.tar s-011.tar",
		"{3..1}":           "3 2 1", "{9..11}": "9 10 11", "{1..002}": "001 002", "{a,b}/{0..1}": "a/0 a/1 b/0 b/1",
		"x{,y}": "x xy", "{5..5}": "5", "{0..1}": "0 1",
	} {
		got, err := Expand(text)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %q, %v, want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"a{1..2": "opening brace", "a}b": "closing brace", "{a{b,c}}": "opening brace", "{a}": "neither words",
		"{a..b}": "neither words", "{1..}": "neither words", "{..3}": "neither words", "{-1..3}": "neither words",
		"{0..1000000}": "more than 1000000", "{0..999}{0..999}{0..9}": "more than 1000000",
		strings.Repeat("x", 1000) + "{0..999999}":          "bytes in all",
		"{0..499999}{a," + strings.Repeat("x", 1000) + "}": "bytes in all",
		"{0..999999}" + strings.Repeat("x", 1000):          "bytes in all",
		"{0..99999999999999999999}":                        "neither words", "{0..9223372036854775807}": "more than",
	} {
		if got, err := Expand(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %d names, %v, want %s", text, len(got), err, want)
		}
	}
	long := strings.Repeat("x", 10_000)
	for _, text := range []string{"s-{1..999999}" + long, "{" + strings.Repeat("0", 10_000) + "..999999}", "{" + long} {
		if _, err := Expand(text); err == nil || len(err.Error()) > 1000 ||
			text[1] != 'x' && !strings.Contains(err.Error(), "bytes in all") {
			t.Errorf("%.20q: %.200v", text, err)
		}
	}
	most := testing.AllocsPerRun(1, func() {
		_, err := Expand(strings.Repeat("{1..2}.", 5000))
		if err == nil || !strings.Contains(err.Error(), "1000000 names") {
			t.Error(err)
		}
	})
	if most > 1000 { // nothing is put together first
		t.Errorf("%v allocations", most)
	}
	if got, err := Expand("{0..999}{000..999}"); err != nil || len(got) != 1_000_000 || got[999_999] != "999999" {
		t.Errorf("%d names, %v", len(got), err)
	}
}

func TestHas(t *testing.T) {
	for text, want := range map[string]bool{"": false, "a{b": false, "a}{": false, "{}": true, "s{1..2}.tar": true} {
		if HasBraces(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
