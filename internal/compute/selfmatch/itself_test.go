package selfmatch

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// A file is compared by what it holds, and an embedding where one of both has no file.
func TestIs(t *testing.T) {
	dir := t.TempDir()
	path := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	photo, copied, other := path("photo", "abc"), path("copy", "abc"), path("other", "abd")
	here, there := []float32{1, 2}, []float32{1, 3}
	for _, c := range []struct {
		query, item string
		vector      []float32
		want        bool
	}{
		{photo, photo, there, true}, {photo, copied, there, true}, {photo, other, here, false}, {"", photo, here, true},
		{photo, filepath.Join(dir, "gone"), here, true}, {photo, "", there, false}, {"", "", there, false},
		{photo, dir, here, true}, {photo, dir, there, false},
	} {
		if got := New(c.query, here).IsItem(c.item, c.vector); got != c.want {
			t.Errorf("%q is %q: %v", c.query, c.item, got)
		}
	}
	if IsSame([]float32{0}, []float32{float32(math.Copysign(0, -1))}) || IsSame(here, here[:1]) {
		t.Error("other bits are the same")
	}
	says := func(same, known bool) Evidence { return func() (bool, bool) { return same, known } }
	for _, c := range []struct {
		evidence []Evidence
		bits     []float32
		want     bool
	}{
		{nil, here, true}, {nil, there, false}, {[]Evidence{says(true, true)}, there, true},
		{[]Evidence{says(false, true), says(true, true)}, here, false},
		{[]Evidence{says(true, false), says(false, true)}, here, false}, {[]Evidence{says(true, false)}, there, false},
	} {
		if got := IsSame(here, c.bits, c.evidence...); got != c.want {
			t.Errorf("%d evidences: %v, want %v", len(c.evidence), got, c.want)
		}
	}
}
