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

// pairOf is a Confusion by the numbers of its classes.
type pairOf struct{ label, class int }

func (p pairOf) back() pairOf { return pairOf{p.class, p.label} }

// sorted returns the same value for a pair and its reverse.
func (p pairOf) sorted() pairOf { return pairOf{min(p.label, p.class), max(p.label, p.class)} }

// confused are the examined pairs: for each class, the labels that its items may have been given.
type confused [][]int

// Limits of the examined pairs.
const (
	leastConfused = 3 // least number of items that are confidently of the other class, in both directions
	mostLabels    = 8 // largest number of labels for a class
)

// mistakes finds confused pairs by the off-diagonal of the confident joint of Northcutt, Jiang and Chuang
// (2021). An item counts for the class with the largest weighted score of both classifiers, among the
// classes whose score is at least the mean score of the items with that label.
func mistakes(h *evidence, w *weights) confused {
	threshold, size := make([]float64, h.classes), make([]float64, h.classes)
	for i, c := range h.y {
		threshold[c] += h.trust[i] * w.of(h.own(i))
		size[c] += h.trust[i]
	}
	for c := range threshold {
		threshold[c] /= size[c]
	}
	count := map[pairOf]int{}
	for i, y := range h.y {
		best, top := y, math.Inf(-1)
		if s := w.of(h.own(i)); s >= threshold[y] {
			top = s
		}
		for _, c := range h.best[i] {
			if s := w.of(c); s >= threshold[c.class] && s > top {
				best, top = c.class, s
			}
		}
		if best != y {
			count[pairOf{y, best}]++
		}
	}
	seen := map[pairOf]bool{}
	var pairs []pairOf
	for p, n := range count {
		if !seen[p.sorted()] && n+count[p.back()] >= leastConfused {
			pairs, seen[p.sorted()] = append(pairs, p.sorted()), true
		}
	}
	slices.SortFunc(pairs, func(a, b pairOf) int {
		return cmp.Or(cmp.Compare(count[b]+count[b.back()], count[a]+count[a.back()]), cmp.Compare(a.label, b.label),
			cmp.Compare(a.class, b.class))
	})
	out := make(confused, h.classes)
	for _, p := range pairs { // both directions are needed to separate the clouds
		if len(out[p.class]) < mostLabels && len(out[p.label]) < mostLabels {
			out[p.class], out[p.label] = append(out[p.class], p.label), append(out[p.label], p.class)
		}
	}
	return out
}

// own returns the evidence for the label of an item.
func (h *evidence) own(i int) candidate {
	t := h.asIs[i]
	return candidate{h.y[i], 1 - t[1], 1 - t[3]}
}

// compare computes the evidence for the class of an item less the evidence for the labels that the class is
// confused with.
func (h *evidence) compare(i int, votes []float64, row []float32) {
	if h.asked == nil {
		return
	}
	c := h.y[i]
	for _, l := range h.asked[c] {
		h.ahead[i] = append(h.ahead[i], candidate{l, votes[c] - votes[l], float64(row[c] - row[l])})
	}
}

// scale holds the scores of a class less those of a label for the items labelled with the class, ascending.
type scale struct {
	said  []float64
	trust []float64 // cumulative trust of the items; the last element is the total
	cut   float64   // the middle between the items of the class and those with the label
	known int       // number of items beyond the cut
}

// scales returns the scales of all pairs.
func (h *evidence) scales(w *weights) map[pairOf]*scale {
	type level struct{ said, trust float64 }
	levels, mean := map[pairOf][]level{}, map[pairOf]float64{}
	for i, y := range h.y {
		for _, a := range h.ahead[i] {
			p := pairOf{a.class, y}
			l := level{w.of(a), h.trust[i]}
			levels[p] = append(levels[p], l)
			mean[p] += l.said
		}
	}
	out := map[pairOf]*scale{}
	for p, list := range levels {
		slices.SortStableFunc(list, func(a, b level) int { return cmp.Compare(a.said, b.said) })
		s := &scale{trust: make([]float64, 1, len(list)+1)}
		s.cut = (mean[p]/float64(len(list)) - mean[p.back()]/float64(len(levels[p.back()]))) / 2
		for _, l := range list {
			s.said = append(s.said, l.said)
			s.trust = append(s.trust, s.trust[len(s.trust)-1]+l.trust)
			if l.said > s.cut {
				s.known++
			}
		}
		out[p] = s
	}
	return out
}

// place returns the share of the class's own items, by trust, between the middle and the score of another
// item. It is spread evenly over 0 to 1 for items of the class, whatever their label, and near 0 for other
// items. Items with the class's label before the middle may be wrong themselves and are left out.
func (s *scale) place(said float64) float64 {
	first := len(s.said) - s.known
	if said <= s.cut || s.known == 0 {
		return 0
	}
	low := sort.SearchFloat64s(s.said, said)
	high := low + sort.Search(len(s.said)-low, func(k int) bool { return s.said[low+k] > said })
	below := (s.trust[low]+s.trust[high])/2 - s.trust[first]
	return max(below, 0) / (s.trust[len(s.said)] - s.trust[first])
}

// Conditions for judging a pair separately.
const (
	leastKnown = 8    // least number of items of each class on their side of the middle
	knownShare = 0.65 // least share of the class's items on their side
	leastDeep  = 3    // least number of items with the other label beyond half of the class's own
)

// tells reports whether the clouds of a pair overlap so little that items with the other label can be
// recognised. deep of these items are beyond half of the class's own items, and shallow ones beyond a
// tenth. For items that belong there, shallow is four fifths of that up to the square root of the number;
// for overlapping clouds it is much larger. usual is the number of deep items expected by chance.
func tells(there, back *scale, deep, shallow, usual float64) bool {
	for _, s := range []*scale{there, back} {
		if s == nil || s.known < leastKnown || float64(s.known) <= knownShare*float64(len(s.said)) {
			return false
		}
	}
	return gap(there, back) && deep >= max(leastDeep, 2*usual+2) && shallow <= 1.2*deep+2.2*math.Sqrt(deep)
}

// within counts the items whose scores are within off of a place.
func (s *scale) within(at, off float64) float64 {
	lo := sort.Search(len(s.said), func(k int) bool { return s.said[k] >= at-off })
	hi := sort.Search(len(s.said), func(k int) bool { return s.said[k] > at+off })
	return float64(hi - lo)
}

// middle returns the median score of the items of the class on their side.
func (s *scale) middle() float64 { return s.said[len(s.said)-s.known+s.known/2] }

// gap reports whether a pair's items form two clusters: half way between their middles there are, plus a
// standard deviation, at most half as many items as around each middle. For normal clouds this holds from a
// distance of three deviations. Nearer clouds cannot be distinguished from one cloud with mixed labels.
func gap(there, back *scale) bool {
	a, b := there.middle(), -back.middle()
	off := (a - b) / 8
	count := func(at float64) float64 { return there.within(at, off) + back.within(-at, off) }
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
	suggested, places := make([]pairOf, len(h.y)), make([]float64, len(h.y))
	deep, shallow := map[pairOf]float64{}, map[pairOf]float64{}
	for i, y := range h.y {
		best := w.candidate(h.best[i], y)
		suggested[i] = pairOf{y, best.class}
		s := scales[suggested[i]]
		if s == nil {
			continue
		}
		places[i] = s.place(w.of(best) - w.of(h.own(i)))
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
		there, back := scales[pair], scales[pair.back()]
		if there == nil || back == nil {
			continue
		}
		usual := share * float64(len(there.said)+len(back.said)) / float64(h.classes-1) / 2
		if tells(there, back, deep[pair.sorted()], shallow[pair.sorted()], usual) {
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
	all, ratios := pools(at, even)
	wrong = evenly(at)
	for k, q := range posterior(all, ratios, len(at), wrong/float64(len(at))) {
		p[item[k]] = q
	}
	return p, wrong / float64(len(h.y))
}

// evenly returns the largest number of places that may be spread evenly over 0 to 1, plus a standard
// deviation.
func evenly(at []float64) float64 {
	sorted := slices.Sorted(slices.Values(at))
	out := float64(len(at))
	for k := 1; k <= 12; k++ { // too few are beyond
		t := float64(k) / 20
		above := float64(len(at) - sort.Search(len(at), func(i int) bool { return sorted[i] > t }))
		out = min(out, (above+math.Sqrt(above+1))/(1-t))
	}
	return out
}

// likely returns the pairs of a label and a class whose probabilities of a wrong label add up to at least
// one item, the largest first.
func likely(y []int, ids []int64, suggested []int64, p []float64) []Confusion {
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
