package loss

import "github.com/kindred-ml/kindred/internal/base/option"

// IntraPairVariance pulls outlying similarities towards the batch's means:
//
//	L = E[ ((1-e) E[S_ap] - S_ap)_+² ] + E[ (S_an - (1+e) E[S_an])_+² ]
//
// with means E over the chosen positive pairs and negative pairs of the batch.
// Use it together with another loss. Terms are pairs; since the means are part
// of the definition, only the reduction sum, the default, makes sense.
//
// Yu and Tao 2019, "Deep metric learning with tuplet margin loss".
//
// Use it together with another loss, to even out similarities. Alone it trains nothing.
//
// Inside a class: it narrows the spread of positive similarities: distances within classes become alike rather than
// small.
type IntraPairVariance struct {
	PosEpsilon *float64 // default 0.01
	NegEpsilon *float64 // default 0.01
}

// Traits implements Loss.
func (IntraPairVariance) Traits() Traits { return Traits{Reduction: Sum, Passes: 2, Sums: 4} }

// Terms implements Loss.
func (l IntraPairVariance) Terms() Terms { return SetTerms(l) }

// Summary implements MultiPass: first the sums and numbers of similarities,
// then the sums of the values that are squared.
func (l IntraPairVariance) Summary(pass int, s *Set, out []float64) {
	if pass == 0 {
		for _, x := range s.Pos {
			out[0] += float64(x)
		}
		for _, x := range s.Neg {
			out[2] += float64(x)
		}
		out[1], out[3] = float64(len(s.Pos)), float64(len(s.Neg))
		return
	}
	p, n := l.bounds(s)
	for _, x := range s.Pos {
		out[0] += max(0, p-float64(x))
	}
	for _, x := range s.Neg {
		out[1] += max(0, float64(x)-n)
	}
}

// bounds returns (1-e) E[S_ap] and (1+e) E[S_an].
func (l IntraPairVariance) bounds(s *Set) (pos, neg float64) {
	t := s.Total[0]
	return (1 - option.OrDefault(l.PosEpsilon, 0.01)) * t[0] / max(t[1], 1),
		(1 + option.OrDefault(l.NegEpsilon, 0.01)) * t[2] / max(t[3], 1)
}

// Set implements Sets.
func (l IntraPairVariance) Set(s *Set) {
	p, n := l.bounds(s)
	np, nn := max(s.Total[0][1], 1), max(s.Total[0][3], 1)
	// What every pair gains because it moves the mean.
	dp := 2 * (1 - option.OrDefault(l.PosEpsilon, 0.01)) * s.Total[1][0] / (np * np)
	dn := -2 * (1 + option.OrDefault(l.NegEpsilon, 0.01)) * s.Total[1][1] / (nn * nn)
	for k, x := range s.Pos {
		v := max(0, p-float64(x))
		s.Term(v * v / np)
		s.DPos[k] = float32(-2*v/np + dp)
	}
	for k, x := range s.Neg {
		v := max(0, float64(x)-n)
		s.Term(v * v / nn)
		s.DNeg[k] = float32(2*v/nn + dn)
	}
}
