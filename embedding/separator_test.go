package embedding

import "testing"

func TestSeparator(t *testing.T) {
	for text, want := range map[string]rune{
		"": ',', "path": ',', "path,label\na;b,c;d;e": ',', "path;label": ';', "path;label\na,b,c;x": ';',
		"\r\n\npath;label\r\n": ';', `"path";"label"`: ';', "a,b;c": ',', ";": ';',
		"path\tlabel\nx,y\tz": '\t', "a,b\tc": ',', "a\tb;c\td": '\t',
	} {
		if got := Separator([]byte(text)); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
