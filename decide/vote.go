package decide

import (
	"math"
	"slices"
)

// classVote is a class with its share of the vote.
type classVote[K comparable] struct {
	class K
	share float64
}

// likelihoodRatios returns the evidence of each of the nearest photos, by its likelihood ratio exp(odds).
// With probability strangers a probe has no class of the gallery, and otherwise each of the classes with the
// same probability and, in this, one of the class's items, which it matches:
//
//	each = (1 - strangers) / (classes items) exp(odds)
//	all  = strangers + sum of each
//
// So a class does not win by its number of items. items has the number of items of the class of each photo.
func likelihoodRatios(odds, items []float64, classes int, strangers float64) (each []float64, all float64) {
	each, all = make([]float64, len(odds)), strangers
	for k, o := range odds {
		each[k] = (1 - strangers) / (float64(classes) * max(1, items[k])) * math.Exp(o)
		all += each[k]
	}
	return each, all
}

// countVotes returns the classes with their shares of the vote, the largest first, and ties in the order of
// their nearest photo. The share of a class is the share of its photos in all evidence.
func countVotes[K comparable](class []K, odds, items []float64, classes int, strangers float64) []classVote[K] {
	at := make(map[K]int)
	var out []classVote[K]
	each, all := likelihoodRatios(odds, items, classes, strangers)
	for k, c := range class {
		i, ok := at[c]
		if !ok {
			i = len(out)
			at[c] = i
			out = append(out, classVote[K]{class: c})
		}
		out[i].share += each[k]
	}
	for i := range out {
		if all > 0 {
			out[i].share /= all
		}
	}
	slices.SortStableFunc(out, func(a, b classVote[K]) int {
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
	// Reliability is the reliability of the probabilities, which are fitted to some folds of classes and tested on
	// the others.
	Reliability Reliability `json:"reliability"`
}

func (v Vote) probability(share float64) float64 { return logistic(v.A + v.B*logit(share)) }

// voteProbe is a searched photo: the log-odds of the winning label, and whether the label is right.
type voteProbe struct {
	odds  float64
	right bool
}

// fitVote fits A and B by maximum likelihood with a weak prior around 0 and 1, after Platt (1999). It uses Newton's
// method.
func fitVote(probes []voteProbe) (v Vote) {
	v.B = 1
	const prior = 1
	for range 50 {
		ga, gb := -prior*v.A, -prior*(v.B-1)
		haa, hab, hbb := float64(prior), 0.0, float64(prior)
		for k := range probes {
			e := &probes[k]
			p := logistic(v.A + v.B*e.odds)
			r, w := -p, p*(1-p)
			if e.right {
				r = 1 - p
			}
			ga, gb = ga+r, gb+r*e.odds
			haa, hab, hbb = haa+w, hab+w*e.odds, hbb+w*e.odds*e.odds
		}
		det := haa*hbb - hab*hab
		da, db := (hbb*ga-hab*gb)/det, (haa*gb-hab*ga)/det
		size := math.Hypot(da, db)
		step := 1 / max(1, size) // at most 1
		v.A, v.B = v.A+step*da, max(v.B+step*db, 0.01)
		if size < 1e-9 {
			break
		}
	}
	return v
}
