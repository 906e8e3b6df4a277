package clean

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// Confusion is a label, with the class to which some items with that label probably belong.
type Confusion struct {
	Label, Class int64
	Items        int     // number of items with the label
	Wrong        float64 // estimated number of these items that belong to the class: the sum of probabilities
}

// classPair is a Confusion by the numbers of its classes.
type classPair struct{ label, class int }

func (p classPair) reversed() classPair { return classPair{p.class, p.label} }

// sorted returns the same value for a pair and its reverse.
func (p classPair) sorted() classPair { return classPair{min(p.label, p.class), max(p.label, p.class)} }

// confusablePairs are the examined pairs: for each class, the labels that its items may have been given.
type confusablePairs [][]int

// Limits of the examined pairs.
const (
	minConfused = 3 // least number of items that are confidently of the other class, in both directions
	maxLabels   = 8 // largest number of labels for a class
)

// findConfusablePairs finds confused pairs by the off-diagonal of the confident joint of Northcutt, Jiang and Chuang
// (2021). An item counts for the class with the largest weighted score of both classifiers, among the
// classes whose score is at least the mean score of the items with that label.
func findConfusablePairs(h *evidence, w *weights) confusablePairs {
	threshold, size := make([]float64, h.classes), make([]float64, h.classes)
	for i, c := range h.y {
		threshold[c] += h.trust[i] * w.candidateScore(h.ownEvidence(i))
		size[c] += h.trust[i]
	}
	for c := range threshold {
		threshold[c] /= size[c]
	}
	count := map[classPair]int{}
	for i, y := range h.y {
		best, top := y, math.Inf(-1)
		if s := w.candidateScore(h.ownEvidence(i)); s >= threshold[y] {
			top = s
		}
		for _, c := range h.candidates[i] {
			if s := w.candidateScore(c); s >= threshold[c.class] && s > top {
				best, top = c.class, s
			}
		}
		if best != y {
			count[classPair{y, best}]++
		}
	}
	seen := map[classPair]bool{}
	var pairs []classPair
	for p, n := range count {
		if !seen[p.sorted()] && n+count[p.reversed()] >= minConfused {
			pairs, seen[p.sorted()] = append(pairs, p.sorted()), true
		}
	}
	slices.SortFunc(pairs, func(a, b classPair) int {
		return cmp.Or(cmp.Compare(count[b]+count[b.reversed()], count[a]+count[a.reversed()]),
			cmp.Compare(a.label, b.label),
			cmp.Compare(a.class, b.class))
	})
	out := make(confusablePairs, h.classes)
	for _, p := range pairs { // both directions are needed to separate the clouds
		if len(out[p.class]) < maxLabels && len(out[p.label]) < maxLabels {
			out[p.class], out[p.label] = append(out[p.class], p.label), append(out[p.label], p.class)
		}
	}
	return out
}

// ownEvidence returns the evidence for the label of an item.
func (h *evidence) ownEvidence(i int) candidate {
	t := h.asIs[i]
	return candidate{h.y[i], 1 - t[1], 1 - t[3]}
}

// compare computes the evidence for the class of an item less the evidence for the labels that the class is
// confused with.
func (h *evidence) compare(i int, votes []float64, row []float32) {
	if h.confusable == nil {
		return
	}
	c := h.y[i]
	for _, l := range h.confusable[c] {
		h.ahead[i] = append(h.ahead[i], candidate{l, votes[c] - votes[l], float64(row[c] - row[l])})
	}
}

// pairScale holds the scores of a class less those of a label for the items labelled with the class, ascending.
type pairScale struct {
	scores   []float64
	trust    []float64 // cumulative trust of the items; the last element is the total
	cut      float64   // the middle between the items of the class and those with the label
	numKnown int       // number of items beyond the cut
}

// scales returns the scales of all pairs.
func (h *evidence) scales(w *weights) map[classPair]*pairScale {
	type level struct{ said, trust float64 }
	levels, mean := map[classPair][]level{}, map[classPair]float64{}
	for i, y := range h.y {
		for _, a := range h.ahead[i] {
			p := classPair{a.class, y}
			l := level{w.candidateScore(a), h.trust[i]}
			levels[p] = append(levels[p], l)
			mean[p] += l.said
		}
	}
	out := map[classPair]*pairScale{}
	for p, list := range levels {
		slices.SortStableFunc(list, func(a, b level) int { return cmp.Compare(a.said, b.said) })
		s := &pairScale{trust: make([]float64, 1, len(list)+1)}
		s.cut = (mean[p]/float64(len(list)) - mean[p.reversed()]/float64(len(levels[p.reversed()]))) / 2
		for _, l := range list {
			s.scores = append(s.scores, l.said)
			s.trust = append(s.trust, s.trust[len(s.trust)-1]+l.trust)
			if l.said > s.cut {
				s.numKnown++
			}
		}
		out[p] = s
	}
	return out
}

// placeOf returns the share of the class's own items, by trust, between the middle and the score of another
// item. It is spread evenly over 0 to 1 for items of the class, whatever their label, and near 0 for other
// items. Items with the class's label before the middle may be wrong themselves and are left out.
func (s *pairScale) placeOf(said float64) float64 {
	first := len(s.scores) - s.numKnown
	if said <= s.cut || s.numKnown == 0 {
		return 0
	}
	low := sort.SearchFloat64s(s.scores, said)
	high := low + sort.Search(len(s.scores)-low, func(k int) bool { return s.scores[low+k] > said })
	below := (s.trust[low]+s.trust[high])/2 - s.trust[first]
	return max(below, 0) / (s.trust[len(s.scores)] - s.trust[first])
}

// Conditions for judging a pair separately.
const (
	minKnown      = 8    // least number of items of each class on their side of the middle
	minKnownShare = 0.65 // least share of the class's items on their side
	minDeep       = 3    // least number of items with the other label beyond half of the class's own
)

// isSeparable reports whether the clouds of a pair overlap so little that items with the other label can be
// recognised. deep of these items are beyond half of the class's own items, and shallow ones beyond a
// tenth. For items that belong there, shallow is four fifths of that up to the square root of the number;
// for overlapping clouds it is much larger. usual is the number of deep items expected by chance.
func isSeparable(there, back *pairScale, deep, shallow, usual float64) bool {
	for _, s := range []*pairScale{there, back} {
		if s == nil || s.numKnown < minKnown || float64(s.numKnown) <= minKnownShare*float64(len(s.scores)) {
			return false
		}
	}
	return hasGap(there, back) && deep >= max(minDeep, 2*usual+2) && shallow <= 1.2*deep+2.2*math.Sqrt(deep)
}

// countWithin counts the items whose scores are within off of a place.
func (s *pairScale) countWithin(at, off float64) float64 {
	lo := sort.Search(len(s.scores), func(k int) bool { return s.scores[k] >= at-off })
	hi := sort.Search(len(s.scores), func(k int) bool { return s.scores[k] > at+off })
	return float64(hi - lo)
}

// middle returns the median score of the items of the class on their side.
func (s *pairScale) middle() float64 { return s.scores[len(s.scores)-s.numKnown+s.numKnown/2] }

// hasGap reports whether a pair's items form two clusters: half way between their middles there are, plus a
// standard deviation, at most half as many items as around each middle. For normal clouds this holds from a
// distance of three deviations. Nearer clouds cannot be distinguished from one cloud with mixed labels.
func hasGap(there, back *pairScale) bool {
	a, b := there.middle(), -back.middle()
	off := (a - b) / 8
	count := func(at float64) float64 { return there.countWithin(at, off) + back.countWithin(-at, off) }
	between := count((a + b) / 2)
	return between+math.Sqrt(between) <= (count(a)+count(b))/4
}

// judgePairs returns the probability that an item's label is wrong, for items of pairs whose clouds can be
// separated, and 0 for others. It also returns the share of all labels that are wrong in this way. share is
// the estimate of that share without pairs.
//
// The places of the items are pooled over the pairs. The places of items with wrong labels are spread
// evenly, so their number w follows from the number of items beyond any place.
func (h *evidence) judgePairs(w *weights, share float64) (p []float64, wrong float64) {
	scales := h.scales(w)
	suggested, places := make([]classPair, len(h.y)), make([]float64, len(h.y))
	deep, shallow := map[classPair]float64{}, map[classPair]float64{}
	for i, y := range h.y {
		best := w.bestCandidate(h.candidates[i], y)
		suggested[i] = classPair{y, best.class}
		s := scales[suggested[i]]
		if s == nil {
			continue
		}
		places[i] = s.placeOf(w.candidateScore(best) - w.candidateScore(h.ownEvidence(i)))
		switch both := suggested[i].sorted(); {
		case places[i] > 0.5:
			deep[both]++
		case places[i] > 0.1:
			shallow[both]++
		}
	}
	var item []int
	var at []float64
	for i, pair := range suggested {
		there, back := scales[pair], scales[pair.reversed()]
		if there == nil || back == nil {
			continue
		}
		usual := share * float64(len(there.scores)+len(back.scores)) / float64(h.classes-1) / 2
		if isSeparable(there, back, deep[pair.sorted()], shallow[pair.sorted()], usual) {
			item, at = append(item, i), append(at, places[i])
		}
	}
	p = make([]float64, len(h.y))
	if len(item) == 0 {
		return p, 0
	}
	even := make([]float64, len(h.y))
	for k := range even {
		even[k] = (float64(k) + 0.5) / float64(len(even))
	}
	all, ratios := poolScores(at, even)
	wrong = maxEvenlySpread(at)
	for k, q := range wrongPosterior(all, ratios, len(at), wrong/float64(len(at))) {
		p[item[k]] = q
	}
	return p, wrong / float64(len(h.y))
}

// maxEvenlySpread returns the largest number of places that may be spread evenly over 0 to 1, plus a standard
// deviation.
func maxEvenlySpread(at []float64) float64 {
	sorted := slices.Sorted(slices.Values(at))
	out := float64(len(at))
	for k := 1; k <= 12; k++ { // too few are beyond
		t := float64(k) / 20
		above := float64(len(at) - sort.Search(len(at), func(i int) bool { return sorted[i] > t }))
		out = min(out, (above+math.Sqrt(above+1))/(1-t))
	}
	return out
}

// likelyConfusions returns the pairs of a label and a class whose probabilities of a wrong label add up to at least
// one item, the largest first.
func likelyConfusions(y []int, ids []int64, suggested []int64, p []float64) []Confusion {
	size := make([]int, len(ids))
	at := map[[2]int64]int{}
	var all []Confusion
	for i, c := range y {
		size[c]++
		if p[i] == 0 {
			continue
		}
		key := [2]int64{ids[c], suggested[i]}
		k, ok := at[key]
		if !ok {
			k = len(all)
			at[key] = k
			all = append(all, Confusion{Label: key[0], Class: key[1]})
		}
		all[k].Wrong += p[i]
	}
	var out []Confusion
	for _, pair := range all {
		c, _ := slices.BinarySearch(ids, pair.Label)
		if pair.Items = size[c]; pair.Wrong >= 1 {
			out = append(out, pair)
		}
	}
	slices.SortStableFunc(out, func(a, b Confusion) int { return cmp.Compare(b.Wrong, a.Wrong) })
	return out
}
