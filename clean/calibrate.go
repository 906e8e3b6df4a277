package clean

import (
	"cmp"
	"math"
	"slices"
)

// weights are those of a logistic regression on standardised testimony.
type weights struct {
	w    [len(testimony{})]float64
	bias float64
	mean [len(testimony{})]float64
	sd   [len(testimony{})]float64
}

// learn tells wrong labels from those that are there: a logistic regression, by
// Newton's steps, with a small penalty. No witness may speak for a label by speaking
// against it: negative weights are 0.
func learn(asIs, wrong []testimony) *weights {
	out := &weights{}
	const m = len(testimony{})
	n := float64(len(asIs) + len(wrong))
	for _, list := range [][]testimony{asIs, wrong} {
		for _, t := range list {
			for j, v := range t {
				out.mean[j] += v / n
			}
		}
	}
	for _, list := range [][]testimony{asIs, wrong} {
		for _, t := range list {
			for j, v := range t {
				out.sd[j] += (v - out.mean[j]) * (v - out.mean[j]) / n
			}
		}
	}
	for j := range out.sd {
		out.sd[j] = math.Sqrt(out.sd[j]) + 1e-9
	}
	// Gradient descent with the Lipschitz constant's step: the problem has five
	// unknowns and is convex.
	const penalty = 1e-3
	step := 1 / (0.25*float64(m+1) + penalty)
	for range 300 {
		var g [m + 1]float64
		for k, list := range [][]testimony{asIs, wrong} {
			for _, t := range list {
				e := (1/(1+math.Exp(-out.score(t))) - float64(k)) / n
				for j, v := range t {
					g[j] += e * (v - out.mean[j]) / out.sd[j]
				}
				g[m] += e
			}
		}
		for j := range m {
			out.w[j] = max(out.w[j]-step*(g[j]+penalty*out.w[j]), 0)
		}
		out.bias -= step * g[m]
	}
	return out
}

// score is the logarithm of the odds that a label is a wrong one.
func (w *weights) score(t testimony) float64 {
	s := w.bias
	for j, v := range t {
		s += w.w[j] * (v - w.mean[j]) / w.sd[j]
	}
	return s
}

// best is the candidate that the witnesses, weighted, speak for, other than own.
func (w *weights) best(of []candidate, own int) int {
	best, top := -1, math.Inf(-1)
	for _, c := range of {
		s := (w.w[0]/w.sd[0]+w.w[1]/w.sd[1])*c.vote + (w.w[2]/w.sd[2]+w.w[3]/w.sd[3])*c.head
		if c.class != own && s > top {
			best, top = c.class, s
		}
	}
	return best
}

// rare is the share of wrong labels below which a score is too rare among them to
// tell how many there are.
const rare = 0.05

// calibrate turns scores of labels that are there into probabilities of their being
// wrong, given scores of wrong ones, and estimates how many are wrong. See Labels.
func calibrate(asIs, wrong []float64) (p []float64, share float64) {
	type point struct {
		score float64
		wrong bool
		at    int
	}
	var all []point
	for i, s := range asIs {
		all = append(all, point{s, false, i})
	}
	for i, s := range wrong {
		all = append(all, point{s, true, i})
	}
	slices.SortStableFunc(all, func(a, b point) int { return cmp.Compare(a.score, b.score) })
	// Adjacent violators are pooled: blocks with a rising ratio of the densities.
	type pool struct {
		wrong, there float64
		end          int // of the points
	}
	var pools []pool
	for k := 0; k < len(all); {
		var b pool
		for s := all[k].score; k < len(all) && all[k].score == s; k++ {
			if all[k].wrong {
				b.wrong += 1 / float64(len(wrong))
			} else {
				b.there += 1 / float64(len(asIs))
			}
		}
		b.end = k
		pools = append(pools, b)
		for l := len(pools); l > 1; l-- {
			a, b := pools[l-2], pools[l-1]
			if a.wrong*b.there < b.wrong*a.there {
				break
			}
			pools = append(pools[:l-2], pool{a.wrong + b.wrong, a.there + b.there, b.end})
		}
	}
	share = 1
	var tail pool
	for k := len(pools) - 1; k >= 0; k-- {
		// The ratio of the tails is at least that of the densities at their start, and
		// steadier. Of many ratios the least is low by chance as well: three standard
		// deviations are added.
		tail.wrong, tail.there = tail.wrong+pools[k].wrong, tail.there+pools[k].there
		if tail.wrong >= rare {
			n := float64(len(asIs))
			share = min(share, (tail.there+3*math.Sqrt((tail.there+1/n)/n))/tail.wrong)
		}
	}
	p = make([]float64, len(asIs))
	k := 0
	for at, q := range all {
		for at >= pools[k].end {
			k++
		}
		if !q.wrong {
			p[q.at] = min(1, share*pools[k].wrong/pools[k].there)
		}
	}
	return p, share
}
