package classname

import (
	"slices"
	"testing"
)

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name string
		have []string
		want string
	}{
		{"fine", []string{"label", "coarse"}, "label"},
		{"fine", []string{"label", "fine"}, "fine"},
		{"label", []string{"fine", "coarse"}, "fine"},
		{"label", []string{"coarse"}, "label"},
		{"coarse", []string{"label"}, "coarse"},
		{"", []string{"label"}, ""},
	} {
		if got := Find(c.name, func(n string) bool { return slices.Contains(c.have, n) }); got != c.want {
			t.Errorf("%q of %q: %q, want %q", c.name, c.have, got, c.want)
		}
	}
}
