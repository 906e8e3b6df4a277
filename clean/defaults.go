package clean

import (
	"cmp"
	"slices"
)

// A default label is one that many wrong items share, such as the first entry of a form. Its items support each
// other: the more of them are wrong, the more of an item's neighbours have its wrong label. Wrong labels that are
// drawn at random have no such support, so a default label is compared with what the same label would look like on
// the items of all other labels.

// Limits of default labels.
const (
	maxDefaults     = 5
	minDefaultItems = 5 // least number of contradicted items, besides twice the expected one
)

// findDefaults returns the labels that may be default labels, the likeliest first. These have far more contradicted
// items than expected from the others, both by the number of labels and by the number of items. An item is
// contradicted if its score is not among the lowest quarter of the scores of wrong labels. If a third of all items
// is contradicted, right labels score like wrong ones, and no label stands out.
func (h *evidence) findDefaults(raw, given []float64) []int {
	least := slices.Sorted(slices.Values(given))[len(given)/4]
	count, size, total := make([]int, h.classes), make([]int, h.classes), 0
	for i, c := range h.y {
		size[c]++
		if raw[i] > least {
			count[c]++
			total++
		}
	}
	if total > len(h.y)/3 {
		return nil
	}
	var out []int
	for c, n := range count {
		others := total - n
		if n >= minDefaultItems+2*max(others/(h.classes-1), others*size[c]/(len(h.y)-size[c])) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(count[b], count[a]) })
	return out[:min(len(out), maxDefaults)]
}

// doubtDefaults raises the doubts of the items with default labels, and returns the sum of the increases.
func (h *evidence) doubtDefaults(w *weights, raw, doubt []float64) (sum float64) {
	for k, l := range h.defaults {
		var item []int
		var asIs, given []float64
		for i, c := range h.y {
			if c == l {
				item, asIs = append(item, i), append(asIs, raw[i])
			} else {
				given = append(given, w.score(h.ifDefault[k][i]))
			}
		}
		all, ratios := poolScores(asIs, given)
		for at, p := range wrongPosterior(all, ratios, len(asIs), boundWrongShare(ratios, len(asIs), 2)) {
			if more := p - doubt[item[at]]; more > 0 {
				doubt[item[at]] = p
				sum += more
			}
		}
	}
	return sum
}

// scoreDistrusted sets the scores of the items of a default label to their doubts if none of them is trusted:
// then nothing shows where the class is, and the model of labels cannot judge them.
func (h *evidence) scoreDistrusted(doubt, score []float64) {
	trusted := make([]bool, h.classes)
	for i, c := range h.y {
		trusted[c] = trusted[c] || isTrusted(h.trust[i])
	}
	for i, c := range h.y {
		if !trusted[c] && slices.Contains(h.defaults, c) {
			score[i] = doubt[i]
		}
	}
}
