package escape

import "testing"

func TestCommand(t *testing.T) {
	if got, want := Command("kindred", "a b", "it's", "", "x=$1", "-q"),
		`kindred 'a b' 'it'\''s' '' 'x=$1' -q`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
