package field

import (
	"encoding"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// One triplet in each direction, two along the edges and one that stays.
func TestMoved(t *testing.T) {
	still := Scatter{AP: make([]float64, 8), AN: make([]float64, 8)}
	after := Scatter{AP: []float64{1, 1, -1, -1, 0, 0.5, -0.5, 0}, AN: []float64{1, -1, 1, -1, 0, 0, 0, -0.5}}
	for k, want := range []Direction{TopRight, BottomRight, TopLeft, BottomLeft, 99, TopRight, TopLeft, BottomRight} {
		one := Scatter{AP: after.AP[k : k+1], AN: after.AN[k : k+1]}
		m := CompareMoves(Scatter{AP: still.AP[:1], AN: still.AN[:1]}, one)
		for _, d := range Directions() {
			share := 0.0
			if d == want {
				share = 1
			}
			if m.Share(d) != share {
				t.Errorf("triplet %d: %+v, want %v", k, m, want)
			}
		}
	}
	if m := CompareMoves(still, after); m != (Moves{2. / 7, 2. / 7, 1. / 7, 2. / 7}) {
		t.Errorf("%+v", m)
	}
	if m := CompareMoves(Scatter{}, Scatter{}); m != (Moves{}) {
		t.Errorf("of none: %+v", m)
	}
	b, err := json.Marshal(Moves{TopRight: 0.5, BottomLeft: 0.5})
	if want := `{"top_right":0.5,"top_left":0,"bottom_left":0.5,"bottom_right":0}`; err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
}

func TestTexts(t *testing.T) {
	type text interface {
		encoding.TextMarshaler
		encoding.TextUnmarshaler
	}
	for _, c := range []struct {
		v     text
		names []string
	}{
		{new(Rule), []string{"root", "product"}},
		{new(Direction), []string{"top right", "top left", "bottom left", "bottom right"}},
	} {
		for _, name := range c.names {
			err := c.v.UnmarshalText([]byte(name))
			b, err2 := c.v.MarshalText()
			if err := errors.Join(err, err2); err != nil || string(b) != name {
				t.Errorf("%s became %s, %v", name, b, err)
			}
		}
		if err := c.v.UnmarshalText([]byte("x")); err == nil || !strings.Contains(err.Error(), c.names[0]) {
			t.Errorf("%v", err)
		}
	}
	if b, err := Rule(2).MarshalText(); err == nil || Rule(2).String() != "Rule(2)" {
		t.Errorf("%s, %v", b, err)
	}
	if b, err := Direction(4).MarshalText(); err == nil || Direction(4).String() != "Direction(4)" {
		t.Errorf("%s, %v", b, err)
	}
}

func TestGammaOfAnEdge(t *testing.T) {
	for _, s := range [][2]float64{{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 1}} {
		if g, err := Gamma(s[0], s[1], 0); err == nil || !strings.Contains(err.Error(), "not defined") {
			t.Errorf("%v: %g, %v", s, g, err)
		}
	}
}
