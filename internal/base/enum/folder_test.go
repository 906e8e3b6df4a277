package enum

import "testing"

func TestFolder(t *testing.T) {
	for name, want := range map[string]string{"EPS+Trip, n = 2": "eps-trip--n---2", "": "", "a-9": "a-9",
		"ä/..": "----"} {
		if got := FolderName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
