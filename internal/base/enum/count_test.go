package enum

import "testing"

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n           int
		thing, want string
	}{{0, "item", "0 items"}, {1, "class", "1 class"}, {2, "class", "2 classes"}, {1200, "kind", "1200 kinds"}} {
		if got := Count(c.n, c.thing); got != c.want {
			t.Errorf("%d %s: %q, want %q", c.n, c.thing, got, c.want)
		}
	}
	if one, two := Number(1, "class is", "classes are"), Number(2, "class is", "classes are"); one != "1 class is" ||
		two != "2 classes are" {
		t.Errorf("%q, %q", one, two)
	}
}
