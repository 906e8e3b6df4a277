package clean

import (
	"cmp"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/internal/compute/detection"
)

// weights are those of a logistic regression on standardised margins.
type weights struct {
	w    [len(margins{})]float64
	bias float64
	mean [len(margins{})]float64
	sd   [len(margins{})]float64
}

// fitWeights fits a logistic regression that separates wrong labels from the actual ones, by gradient descent
// with a small penalty. Negative weights become 0, because evidence against a label cannot count for it.
func fitWeights(asIs, wrong []margins) *weights {
	out := &weights{}
	const m = len(margins{})
	n := float64(len(asIs) + len(wrong))
	for _, list := range [][]margins{asIs, wrong} {
		for _, t := range list {
			for j, v := range t {
				out.mean[j] += v / n
			}
		}
	}
	for _, list := range [][]margins{asIs, wrong} {
		for _, t := range list {
			for j, v := range t {
				out.sd[j] += (v - out.mean[j]) * (v - out.mean[j]) / n
			}
		}
	}
	for j := range out.sd {
		out.sd[j] = math.Sqrt(out.sd[j]) + 1e-9
	}
	// The problem is convex and has five unknowns, so gradient descent uses the step of the Lipschitz
	// constant.
	const penalty = 1e-3
	step := 1 / (0.25*float64(m+1) + penalty)
	for range 300 {
		var g [m + 1]float64
		for k, list := range [][]margins{asIs, wrong} {
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

// score returns the log-odds that a label is wrong.
func (w *weights) score(t margins) float64 {
	s := w.bias
	for j, v := range t {
		s += w.w[j] * (v - w.mean[j]) / w.sd[j]
	}
	return s
}

// bestCandidate returns the class other than own with the largest weighted score of both classifiers.
func (w *weights) bestCandidate(of []candidate, own int) candidate {
	best, top := candidate{class: -1}, math.Inf(-1)
	for _, c := range of {
		if s := w.candidateScore(c); c.class != own && s > top {
			best, top = c, s
		}
	}
	return best
}

// candidateScore returns the weighted score of both classifiers for a candidate.
func (w *weights) candidateScore(c candidate) float64 {
	return (w.w[0]/w.sd[0]+w.w[1]/w.sd[1])*c.vote + (w.w[2]/w.sd[2]+w.w[3]/w.sd[3])*c.head
}

// certainty returns the difference between the largest and the second largest score of the classes of an
// item, whatever its label.
func (w *weights) certainty(of []candidate) float64 {
	first, second := math.Inf(-1), math.Inf(-1)
	seen := -1
	for _, c := range of {
		s := w.candidateScore(c)
		switch {
		case c.class == seen: // suggested by both classifiers
		case s > first:
			first, second, seen = s, first, c.class
		case s > second:
			second = s
		}
	}
	if math.IsInf(second, -1) {
		return 0
	}
	return first - second
}

// rareShare is the share of wrong labels below which a score is too rare to estimate their number.
const rareShare = 0.05

// With fewer than smallClass items of a class, the bound of the share of wrong labels is the tighter, the
// less sharply the scores separate wrong labels. The area under the ROC curve is between blurred and sharp.
const (
	smallClass               = 12
	smallSet                 = 120 // number of items of a set that does not count as sharp
	blurredShare, sharpShare = 0.9, 0.97
)

// boundDeviations returns the number of deviations that are added to the bound of the share of wrong labels. In
// large classes it is 3, which finds all wrong labels if scores are clear. In small classes, whose items
// support each other less, right labels score like wrong ones and would raise the bound.
func boundDeviations(asIs, wrong []float64, classes int) float64 {
	const most, least = 3, 0.5
	if len(asIs) >= smallClass*classes || len(asIs) < smallSet {
		return most
	}
	given := make([]bool, len(asIs)+len(wrong))
	for i := range wrong {
		given[len(asIs)+i] = true
	}
	_, area := detection.PrecisionAndArea(slices.Concat(asIs, wrong), given)
	// Some of the actual labels are wrong, and no score separates these from the wrong labels given here.
	_, ratios := poolScores(asIs, wrong)
	share := boundWrongShare(ratios, len(asIs), 0)
	area = (area - share/2) / max(1-share, 0.1)
	return least + (most-least)*min(max((area-blurredShare)/(sharpShare-blurredShare), 0), 1)
}

// scorePoint is a score of an item with its actual label or with a wrong one.
type scorePoint struct {
	score float64
	wrong bool
	item  int
}

// pool is a range of scores in which the ratio of the densities is assumed to be constant.
type pool struct {
	wrong, actual float64 // shares of the wrong labels and of the actual labels
	end           int     // end of the range of points
}

// poolScores sorts scores and pools adjacent ones until the ratio of the density of wrong labels to that of
// actual labels rises.
func poolScores(asIs, wrong []float64) ([]scorePoint, []pool) {
	var all []scorePoint
	for i, s := range asIs {
		all = append(all, scorePoint{s, false, i})
	}
	for i, s := range wrong {
		all = append(all, scorePoint{s, true, i})
	}
	slices.SortStableFunc(all, func(a, b scorePoint) int { return cmp.Compare(a.score, b.score) })
	var out []pool
	for k := 0; k < len(all); {
		var b pool
		for s := all[k].score; k < len(all) && all[k].score == s; k++ {
			if all[k].wrong {
				b.wrong += 1 / float64(len(wrong))
			} else {
				b.actual += 1 / float64(len(asIs))
			}
		}
		b.end = k
		out = append(out, b)
		for l := len(out); l > 1; l-- {
			a, b := out[l-2], out[l-1]
			if a.wrong*b.actual < b.wrong*a.actual {
				break
			}
			out = append(out[:l-2], pool{a.wrong + b.wrong, a.actual + b.actual, b.end})
		}
	}
	return all, out
}

// boundWrongShare returns the largest share of wrong labels among n for which no probability is negative. It uses
// the ratio of the tails, which is at least that of the densities at their start, and steadier. The least
// of many ratios is low by chance too, so a number of standard deviations is added.
func boundWrongShare(of []pool, n int, deviations float64) float64 {
	share := 1.0
	var tail pool
	for _, p := range slices.Backward(of) {
		tail.wrong, tail.actual = tail.wrong+p.wrong, tail.actual+p.actual
		if tail.wrong >= rareShare {
			n := float64(n)
			share = min(share, (tail.actual+deviations*math.Sqrt((tail.actual+1/n)/n))/tail.wrong)
		}
	}
	return share
}

// The share of wrong labels is estimated from up to maxParts parts of the items, divided by certainty, of
// at least partSize items each.
const (
	maxParts = 5
	partSize = 250
)

// calibrateScores turns scores of actual labels into doubts, given scores of wrong labels. A doubt is the
// probability that a label is wrong if no right label scores like wrong ones. In tails and overlaps right
// labels do score like that, so doubts are only used to weight items when others are judged. calibrate
// also estimates the share of wrong labels, under the same condition. sure is the certainty of the items.
func calibrateScores(asIs, wrong, sure []float64, deviations float64) (p []float64, share float64) {
	all, ratios := poolScores(asIs, wrong)
	share = boundWrongShare(ratios, len(asIs), deviations)
	for _, part := range splitByCertainty(sure) {
		_, own := poolScores(lists.At(asIs, part), lists.At(wrong, part))
		share = min(share, boundWrongShare(own, len(part), 2))
	}
	return wrongPosterior(all, ratios, len(asIs), share), share
}

// wrongPosterior returns the probability that each item's label is wrong, given the share of wrong labels.
func wrongPosterior(all []scorePoint, ratios []pool, items int, share float64) []float64 {
	// A pool of few items proves little, so a right item is added to each. Higher scores are at least as
	// probable.
	n := float64(items)
	probability := make([]float64, len(ratios))
	least := 0.0
	for k, r := range ratios {
		expected := share * r.wrong * n
		least = max(least, expected/(max(expected, r.actual*n)+1))
		probability[k] = least
	}
	p := make([]float64, items)
	k := 0
	for at, q := range all {
		for at >= ratios[k].end {
			k++
		}
		if !q.wrong {
			p[q.item] = probability[k]
		}
	}
	return p
}

// splitByCertainty divides items into parts of the same size, the most certain last. It returns nil if there
// are too few items for two parts.
func splitByCertainty(sure []float64) [][]int {
	parts := min(maxParts, len(sure)/partSize)
	if parts < 2 {
		return nil
	}
	at := lists.Indices(len(sure))
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(sure[a], sure[b]) })
	var out [][]int
	for k := range parts {
		out = append(out, at[k*len(at)/parts:(k+1)*len(at)/parts])
	}
	return out
}
