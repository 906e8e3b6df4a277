package onnxnet

import "testing"

// Values lie in the same way if there are as many positions and channels, and these come in
// the same order; of one position or one channel there is one order only.
func TestFormsThatAreTheSame(t *testing.T) {
	for _, c := range []struct {
		f, g imageLayout
		want bool
	}{
		{imageLayout{h: 2, w: 3, c: 4}, imageLayout{h: 3, w: 2, c: 4}, true},
		{imageLayout{h: 2, w: 3, c: 4}, imageLayout{h: 2, w: 3, c: 5}, false},
		{imageLayout{h: 2, w: 3, c: 4}, imageLayout{h: 2, w: 2, c: 4}, false},
		{imageLayout{h: 2, w: 3, c: 4}, imageLayout{h: 2, w: 3, c: 4, first: true}, false},
		{imageLayout{h: 1, w: 1, c: 4}, imageLayout{h: 1, w: 1, c: 4, first: true}, true},
		{imageLayout{h: 2, w: 3, c: 1}, imageLayout{h: 6, w: 1, c: 1, first: true}, true},
		{imageLayout{h: 1, w: 1, c: 4}, imageLayout{h: 1, w: 1, c: 5, first: true}, false},
		{imageLayout{h: 2, w: 1, c: 1}, imageLayout{h: 1, w: 1, c: 1}, false},
	} {
		if c.f.equals(c.g) != c.want || c.g.equals(c.f) != c.want {
			t.Errorf("%+v and %+v: %v and %v, want %v", c.f, c.g, c.f.equals(c.g), c.g.equals(c.f), c.want)
		}
	}
}

// A place in memory is of the position and channel that lie there, in both orders.
func TestPlacesOfForms(t *testing.T) {
	for _, f := range []imageLayout{{h: 2, w: 3, c: 5}, {h: 2, w: 3, c: 5, first: true}} {
		seen := map[[2]int]bool{}
		for at := range f.len() {
			p, c := f.place(at)
			if f.offset(p, c) != at || p >= 6 || c >= 5 {
				t.Errorf("%+v: %d is position %d, channel %d, at %d", f, at, p, c, f.offset(p, c))
			}
			seen[[2]int{p, c}] = true
		}
		if len(seen) != 30 {
			t.Errorf("%+v: %d places", f, len(seen))
		}
	}
}
