package escape

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClip(t *testing.T) {
	long := strings.Repeat("x", Most)
	for _, c := range []struct{ in, clip, quote string }{
		{"", "", `""`},
		{"a\x1b\"b", "a\x1b\"b", `"a\x1b\"b"`},
		{"\u202e", "\u202e", `"\u202e"`},
		{long, long, `"` + long + `"`},
		{long + "y", long + "... (161 bytes)", `"` + long + `"... (161 bytes)`},
		{long[:Most-1] + "é", long[:Most-1] + "... (161 bytes)", `"` + long[:Most-1] + `"... (161 bytes)`},
		{long[:Most-2] + "猫猫", long[:Most-2] + "... (164 bytes)", `"` + long[:Most-2] + `"... (164 bytes)`},
		{long[:Most-4] + "\U0001f600!", long[:Most-4] + "\U0001f600... (161 bytes)",
			`"` + long[:Most-4] + "\U0001f600\"... (161 bytes)"},
	} {
		if got := Clip(c.in); got != c.clip {
			t.Errorf("Clip(%q) = %q, want %q", c.in, got, c.clip)
		}
		if got := Quote(c.in); got != c.quote {
			t.Errorf("Quote(%q) = %s, want %s", c.in, got, c.quote)
		}
	}
	if got := Line("a\x1b[2J" + long); got != `a\x1b[2J`+long[5:]+"... (165 bytes)" {
		t.Errorf("%q", got)
	}
	// Broken text is cut as well as it can be, and stays short.
	for _, c := range []string{"\x80", "\xff", "\x1b"} {
		s := strings.Repeat(c, 5<<20)
		if n := len(Line(s)); n > 5*Most || !utf8.ValidString(Line(s)) {
			t.Errorf("%d bytes became %d", len(s), n)
		}
	}
}

func TestNumbers(t *testing.T) {
	var many []int64
	for i := range 16 {
		many = append(many, int64(i))
	}
	if got := Numbers(many); got != fmt.Sprint(many) {
		t.Error(got)
	}
	if got := Numbers(append(many, 16)); got != "[0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 ...] (17 numbers)" {
		t.Error(got)
	}
	if got := Numbers([]int{}); got != "[]" {
		t.Error(got)
	}
}
