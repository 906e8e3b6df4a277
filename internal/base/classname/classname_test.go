package classname

import "testing"

// Only spaces at the ends do not count.
func TestClean(t *testing.T) {
	for text, want := range map[string]string{"cat": "cat", " cat ": "cat", "\u00a0cat\u00a0": "cat",
		"a  b":  "a  b",
		"2.10 ": "2.10",
		"Cat":   "Cat", "e\u0301": "e\u0301", "\u200bcat": "\u200bcat", " ": "", "": "", "01\t": "01\t"} {
		if have := Clean(text); have != want {
			t.Errorf("%q is read as %q, want %q", text, have, want)
		}
	}
	if !IsColumn("label") || !IsColumn("fine") || IsColumn("price") || IsColumn("") {
		t.Error("other columns hold classes")
	}
}
