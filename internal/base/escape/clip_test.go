package escape

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClip(t *testing.T) {
	long := strings.Repeat("x", MaxLen)
	for _, c := range []struct{ in, clip, quote string }{
		{"", "", `""`},
		{"a\x1b\"b", "a\x1b\"b", `"a\x1b\"b"`},
		{"\u202e", "\u202e", `"\u202e"`},
		{long, long, `"` + long + `"`},
		{long + "y", long + "... (161 bytes)", `"` + long + `"... (161 bytes)`},
		{long[:MaxLen-1] + "é", long[:MaxLen-1] + "... (161 bytes)", `"` + long[:MaxLen-1] + `"... (161 bytes)`},
		{long[:MaxLen-2] + "猫猫", long[:MaxLen-2] + "... (164 bytes)", `"` + long[:MaxLen-2] + `"... (164 bytes)`},
		{long[:MaxLen-4] + "\U0001f600!", long[:MaxLen-4] + "\U0001f600... (161 bytes)",
			`"` + long[:MaxLen-4] + "\U0001f600\"... (161 bytes)"},
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
		if n := len(Line(s)); n > 5*MaxLen || !utf8.ValidString(Line(s)) {
			t.Errorf("%d bytes became %d", len(s), n)
		}
	}
}

func TestMessage(t *testing.T) {
	long := strings.Repeat("猫", 2_000_000)
	got := Message("model.onnx: " + long + ": export it again")
	if len(got) > 4200 || !utf8.ValidString(got) || !strings.HasPrefix(got, "model.onnx: 猫") ||
		!strings.HasSuffix(got, "猫: export it again") || !strings.Contains(got, " bytes left out) ... ") {
		t.Errorf("%d bytes, valid %v: %.40s ... %s", len(got), utf8.ValidString(got), got, got[max(0, len(got)-60):])
	}
	for _, s := range []string{"", "short", strings.Repeat("x", head+tail)} {
		if Message(s) != s {
			t.Errorf("%d bytes are cut", len(s))
		}
	}
	if got := Message(strings.Repeat("\x80", 1<<20)); len(got) > 4200 {
		t.Errorf("%d bytes", len(got))
	}
	if got := ClipTo("abcdef", 3); got != "abc... (6 bytes)" {
		t.Error(got)
	}
	if got := ClipTo("é", 1); got != "... (2 bytes)" && got != "\xc3... (2 bytes)" {
		t.Errorf("%q", got)
	}
}

func TestShort(t *testing.T) {
	base := errors.New("why")
	if Shorten(nil) != nil || Shorten(base) != base {
		t.Error("what is short is wrapped")
	}
	err := Shorten(fmt.Errorf("%s: %w", strings.Repeat("x", 1<<20), base))
	if len(err.Error()) > 4200 || !errors.Is(err, base) || !strings.HasSuffix(err.Error(), "x: why") {
		t.Errorf("%d bytes, %v", len(err.Error()), errors.Is(err, base))
	}
}
