package loss

import (
	"testing"
)

// TestHinges: a pair or triplet exactly at its bound has no loss, is not active
// and is not moved; one just inside is.
//
// Long: it is a table.
func TestHinges(t *testing.T) {
	const inside = 1.0 / 128
	type term struct {
		value    float64
		active   int
		pos, neg float32
	}
	tuple := func(l Tuples) func(p, n float32) term {
		return func(p, n float32) term {
			val, dap, dan := []float32{9}, []float32{9}, []float32{9}
			l.Tuples([]float32{p}, []float32{n}, val, dap, dan)
			r := term{value: float64(val[0]), pos: dap[0], neg: dan[0]}
			if val[0] != 0 {
				r.active = 1
			}
			return r
		}
	}
	couple := func(l Pairs, positive bool) func(p, n float32) term {
		return func(p, n float32) term {
			val, dx := []float32{9}, []float32{9}
			x := n
			if positive {
				x = p
			}
			param := l.Pairs(0, positive, []float32{x}, val, dx)
			r := term{value: float64(val[0]), neg: dx[0]}
			if positive {
				r.pos, r.neg = dx[0], 0
			}
			if val[0] != 0 {
				r.active = 1
			}
			if _, ok := l.(*Margin); ok && param != -float64(dx[0]) {
				t.Errorf("%T: the derivative of beta is %v, that of the distance %v", l, param, dx[0])
			}
			return r
		}
	}
	set := func(l Sets, pos, neg bool) func(p, n float32) term {
		return func(p, n float32) term {
			s := &Set{Sq: 1}
			if pos {
				s.Pos, s.DPos = []float32{p}, []float32{0}
			}
			if neg {
				s.Neg, s.DNeg = []float32{n}, []float32{0}
			}
			l.Set(s)
			r := term{value: s.Value, active: s.Active}
			if pos {
				r.pos = s.DPos[0]
			}
			if neg {
				r.neg = s.DNeg[0]
			}
			return r
		}
	}
	margin := &Margin{Alpha: new(0.25), Beta: new(1.0)}
	if err := margin.Learn(1, 1, 1); err != nil {
		t.Fatal(err)
	}
	ranked := RankedList{Alpha: new(1.0), Margin: new(0.25)}
	for name, tc := range map[string]struct {
		at   func(p, n float32) term
		p, n float32 // the bound: positives are inside above p, negatives below n
		pos  bool
		neg  bool
	}{
		"triplet":               {tuple(Triplet{Margin: new(0.25)}), 0.5, 0.75, true, true},
		"contrastive":           {couple(Contrastive{Margin: new(0.5)}, false), 0, 0.5, false, true},
		"contrastive positives": {couple(Contrastive{}, true), 0, 0, true, false},
		"margin positives":      {couple(margin, true), 0.75, 0, true, false},
		"margin negatives":      {couple(margin, false), 0, 1.25, false, true},
		"ranked list positives": {set(ranked, true, false), 0.75, 0, true, false},
		"ranked list negatives": {set(ranked, false, true), 0, 1, false, true},
		"snr negatives":         {set(SNRContrastive{Margin: new(1.0)}, false, true), 0, 1, false, true},
		"generalized lifted":    {set(GeneralizedLifted{Margin: new(0.25)}, true, true), 0.5, 0.75, true, true},
	} {
		if r := tc.at(tc.p, tc.n); r.value != 0 || r.active != 0 || name != "contrastive positives" &&
			(r.pos != 0 || r.neg != 0) {
			t.Errorf("%s at its bound: %+v", name, r)
		}
		for what, r := range map[string]term{"positive": tc.at(tc.p+inside, tc.n),
			"negative": tc.at(tc.p, tc.n-inside)} {
			if what == "positive" && !tc.pos || what == "negative" && !tc.neg {
				continue
			}
			if !(r.value > 0) || r.active != 1 || tc.pos && !(r.pos > 0) || tc.neg && !(r.neg < 0) {
				t.Errorf("%s, its %s just inside: %+v", name, what, r)
			}
		}
	}
}
