package decide

import (
	"math"
	"slices"
)

// voted is a class with its share of the vote.
type voted[K comparable] struct {
	class K
	share float64
}

// evidence is what each of the nearest photos says, by its likelihood ratio exp(odds): were
// the probe like exactly one of the gallery's items, or, with probability strangers, like
// none, then it would be like this one with probability each / all,
//
//	each = (1 - strangers) / items exp(odds)
//	all  = strangers + sum of each
func evidence(odds []float64, items, strangers float64) (each []float64, all float64) {
	each, all = make([]float64, len(odds)), strangers
	for k, o := range odds {
		each[k] = (1 - strangers) / items * math.Exp(o)
		all += each[k]
	}
	return each, all
}

// votes lets the nearest photos vote: the share of a class is that of its photos' evidence
// in all of it. The classes come with the largest share first, and ties in the order of
// their nearest photo.
func votes[K comparable](class []K, odds []float64, items, strangers float64) []voted[K] {
	at := make(map[K]int)
	var out []voted[K]
	each, all := evidence(odds, items, strangers)
	for k, c := range class {
		i, ok := at[c]
		if !ok {
			i = len(out)
			at[c] = i
			out = append(out, voted[K]{class: c})
		}
		out[i].share += each[k]
	}
	for i := range out {
		if all > 0 {
			out[i].share /= all
		}
	}
	slices.SortStableFunc(out, func(a, b voted[K]) int {
		switch {
		case a.share > b.share:
			return -1
		case a.share < b.share:
			return 1
		}
		return 0
	})
	return out
}

// Vote turns the share of a vote into a probability, logistic(A + B logit(share)).
type Vote struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
	// Reliability is that of the probabilities of labels, on probes of which half have
	// their class in the gallery, fitted to half of them and looked at on the others.
	Reliability Reliability `json:"reliability"`
}

func (v Vote) probability(share float64) float64 { return logistic(v.A + v.B*logit(share)) }

// fitVote fits A and B by maximum likelihood with a weak prior around 0 and 1, after
// Platt (1999), by Newton's method.
func fitVote(probes []probe) (v Vote) {
	v.B = 1
	const prior = 1
	for range 50 {
		ga, gb := -prior*v.A, -prior*(v.B-1)
		haa, hab, hbb := float64(prior), 0.0, float64(prior)
		for _, e := range probes {
			p := logistic(v.A + v.B*e.odds)
			r := -p
			if e.right {
				r = 1 - p
			}
			w := p * (1 - p)
			ga, gb = ga+r, gb+r*e.odds
			haa, hab, hbb = haa+w, hab+w*e.odds, hbb+w*e.odds*e.odds
		}
		det := haa*hbb - hab*hab
		da, db := (hbb*ga-hab*gb)/det, (haa*gb-hab*ga)/det
		step := 1 / max(1, math.Hypot(da, db)) // never further than 1
		v.A, v.B = v.A+step*da, max(v.B+step*db, 0.01)
		if math.Hypot(da, db) < 1e-9 {
			break
		}
	}
	return v
}

// fittedVote is fitVote with its reliability. Probes are in the order of their classes,
// and the halves take turns of whole runs of these.
func fittedVote(probes []probe) Vote {
	v := fitVote(probes)
	half := len(probes) / 2
	v.Reliability = reliability(func(yield func(p, right, wrong float64)) {
		for _, part := range [][2][]probe{{probes[:half], probes[half:]}, {probes[half:], probes[:half]}} {
			if len(part[0]) == 0 {
				continue
			}
			f := fitVote(part[0])
			for _, e := range part[1] {
				right := 0.0
				if e.right {
					right = 1
				}
				yield(logistic(f.A+f.B*e.odds), right, 1-right)
			}
		}
	})
	return v
}
