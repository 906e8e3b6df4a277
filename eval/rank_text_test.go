package eval

import (
	"encoding"
	"strings"
	"testing"
)

var _ encoding.TextMarshaler = Euclidean

func TestDistancesAsText(t *testing.T) {
	for d, name := range map[Distance]string{Euclidean: "euclidean", Cosine: "cosine", Dot: "dot"} {
		b, err := d.MarshalText()
		if err != nil || string(b) != name || d.String() != name || d.Check() != nil {
			t.Errorf("%d: %q, %v", int(d), b, err)
		}
		var got Distance
		if err := got.UnmarshalText([]byte(name)); err != nil || got != d {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
	for d, want := range map[Distance]float64{Euclidean: 2, Cosine: -3, Dot: -4} {
		if got := d.FromValue(4); got != want {
			t.Errorf("a value of 4 is the %v distance %v", d, got)
		}
	}
	if got := Euclidean.FromValue(-1e-9); got != 0 {
		t.Errorf("a squared distance rounded below 0 is %v", got)
	}
	for _, d := range []Distance{-1, 3} {
		if b, err := d.MarshalText(); err == nil || d.Check() == nil {
			t.Errorf("%v was written as %q", d, b)
		}
	}
	d := Cosine
	err := d.UnmarshalText([]byte("euclidian"))
	if err == nil || !strings.Contains(err.Error(), `did you mean "euclidean"`) || d != Cosine {
		t.Errorf("%v, %v", d, err)
	}
}
