package decide

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// voted is a class with its share of the vote.
type voted[K comparable] struct {
	class K
	share float64
}

// evidence returns the evidence of each of the nearest photos, by its likelihood ratio exp(odds). If the
// probe matches exactly one of the gallery's items, or with probability strangers none, it matches this
// item with probability each / all:
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

// votes returns the classes with their shares of the vote, the largest first, and ties in the order of
// their nearest photo. The share of a class is the share of its photos in all evidence.
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

// Vote turns the share of a vote in a gallery with a number of classes into a probability,
//
//	logistic(A + B logit(share) + C ln(classes / Classes))
type Vote struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
	C float64 `json:"c,omitzero"`
	// Classes is the geometric mean of the numbers of classes in the galleries of the fit.
	Classes float64 `json:"classes,omitzero"`
	// Reliability is the reliability of the probabilities of labels. Half of the probes have their
	// class in the gallery. Probabilities are fitted to some folds of classes and tested on the
	// others. It is the worst over galleries of all classes, of a quarter and of a sixteenth and, if
	// classes form groups, over strangers from the gallery's groups and from no group.
	Reliability Reliability `json:"reliability"`
}

func (v Vote) probability(share float64, classes int) float64 {
	at := v.A + v.B*logit(share)
	if v.Classes > 0 {
		at += v.C * (math.Log(float64(max(1, classes))) - math.Log(v.Classes))
	}
	return logistic(at)
}

// weight returns the weight of a probe, such that half of the weight is of known probes and half of
// strangers. kinds is the number of kinds of probes.
func (p *probe) weight(kinds int) float64 {
	if p.kind == knownProbe {
		return 1
	}
	return 1 / float64(kinds-1)
}

// fitVote fits A, B and C by maximum likelihood with a weak prior around 0, 1 and 0, after Platt (1999).
// It uses Newton's method.
func fitVote(probes []probe, kinds int) (v Vote) {
	v.B = 1
	var mass, middle float64
	for k := range probes {
		w := probes[k].weight(kinds)
		mass, middle = mass+w, middle+w*probes[k].size
	}
	if mass > 0 {
		middle /= mass
		v.Classes = math.Exp(middle)
	}
	const prior = 1
	for range 50 {
		g := [3]float64{-prior * v.A, -prior * (v.B - 1), -prior * v.C}
		h := mat.NewSymDense(3, []float64{prior, 0, 0, 0, prior, 0, 0, 0, prior})
		for k := range probes {
			e := &probes[k]
			x := [3]float64{1, e.odds, e.size - middle}
			p := logistic(v.A + v.B*x[1] + v.C*x[2])
			r, w := -p, e.weight(kinds)
			if e.right {
				r = 1 - p
			}
			for a := range x {
				g[a] += w * r * x[a]
				for b := a; b < len(x); b++ {
					h.SetSym(a, b, h.At(a, b)+w*p*(1-p)*x[a]*x[b])
				}
			}
		}
		var factor mat.Cholesky
		var d [3]float64
		if !factor.Factorize(h) || factor.SolveVecTo(mat.NewVecDense(3, d[:]), mat.NewVecDense(3, g[:])) != nil {
			break // not finite
		}
		size := math.Sqrt(d[0]*d[0] + d[1]*d[1] + d[2]*d[2])
		step := 1 / max(1, size) // at most 1
		v.A, v.B, v.C = v.A+step*d[0], max(v.B+step*d[1], 0.01), v.C+step*d[2]
		if size < 1e-9 {
			break
		}
	}
	return v
}

// fittedVote is fitVote with its reliability. fold is the fold of each probe's class.
func fittedVote(probes []probe, fold []int) Vote {
	kinds := 2
	for k := range probes {
		if probes[k].kind == outsideProbe {
			kinds = 3
		}
	}
	v := fitVote(probes, kinds)
	said := make([]float64, len(probes))
	for part := range foldCount {
		var others []probe
		for k := range probes {
			if fold[k] != part {
				others = append(others, probes[k])
			}
		}
		f := fitVote(others, kinds)
		for k := range probes {
			if fold[k] == part {
				said[k] = logistic(f.A + f.B*probes[k].odds + f.C*(probes[k].size-math.Log(f.Classes)))
			}
		}
	}
	for of := strangerProbe; int(of) < kinds; of++ {
		for part := range voteParts {
			r := reliability(func(yield func(p, right, wrong float64)) {
				for k := range probes {
					if e := &probes[k]; e.part == part && (e.kind == knownProbe || e.kind == of) {
						right := 0.0
						if e.right {
							right = 1
						}
						yield(said[k], right, 1-right)
					}
				}
			})
			if r.ECE >= v.Reliability.ECE {
				v.Reliability = r
			}
		}
	}
	return v
}
