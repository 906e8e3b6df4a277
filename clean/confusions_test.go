package clean

import (
	"math"
	"reflect"
	"slices"
	"testing"
)

// predicted is an item whose evidence comes from the neighbours alone: its label, their vote
// for it, and their vote for another class.
type predicted struct {
	label int
	own   float64
	other candidate
}

func newEvidence(classes int, items ...predicted) *evidence {
	h := &evidence{classes: classes, ahead: make([][]candidate, len(items))}
	for _, it := range items {
		h.y, h.trust = append(h.y, it.label), append(h.trust, 1)
		h.asIs = append(h.asIs, margins{it.other.vote - it.own, 1 - it.own, 0, 1})
		h.candidates = append(h.candidates, []candidate{it.other})
	}
	return h
}

// repeatItem repeats an item.
func repeatItem(n int, it predicted) []predicted { return slices.Repeat([]predicted{it}, n) }

// A pair is looked at from three items on that are confidently of the other class, both
// ways together: at least as much is said for it as for its own items on average.
func TestMistakes(t *testing.T) {
	w := plainWeights(1)
	sure := func(label int) predicted { return predicted{label, 0.75, candidate{label, 0.75, 0}} }
	as := func(label, other int, vote float64) predicted {
		return predicted{label, 0.125, candidate{other, vote, 0}}
	}
	for name, c := range map[string]struct {
		items []predicted
		want  confusablePairs
	}{
		"three": {slices.Concat(repeatItem(9, sure(0)), repeatItem(3, as(0, 1, 0.75)), repeatItem(8, sure(1)),
			repeatItem(2, sure(2))),
			confusablePairs{{1}, {0}, nil}},
		"two": {slices.Concat(repeatItem(9, sure(0)), repeatItem(2, as(0, 1, 0.75)), repeatItem(8, sure(1)),
			repeatItem(2, sure(2))),
			confusablePairs{nil, nil, nil}},
		"two and one back": {slices.Concat(repeatItem(9, sure(0)), repeatItem(2, as(0, 1, 0.75)),
			repeatItem(8, sure(1)),
			[]predicted{as(1, 0, 0.75)}, repeatItem(2, sure(2))), confusablePairs{{1}, {0}, nil}},
		"less than for its own": {slices.Concat(repeatItem(9, sure(0)), repeatItem(3, as(0, 1, 0.7)),
			repeatItem(8, sure(1)),
			repeatItem(2, sure(2))), confusablePairs{nil, nil, nil}},
		"as much as for the label": {slices.Concat(repeatItem(9, predicted{0, 0.75, candidate{1, 0.75, 0}}),
			repeatItem(8, sure(1)), repeatItem(2, sure(2))), confusablePairs{nil, nil, nil}},
		"more than for the label": {slices.Concat(repeatItem(9, predicted{0, 0.75, candidate{1, 0.875, 0}}),
			repeatItem(8, sure(1)), repeatItem(2, sure(2))), confusablePairs{{1}, {0}, nil}},
	} {
		if got := findConfusablePairs(newEvidence(3, c.items...), w); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	// Doubtful items have less of a say in what is said for their label on average.
	h := newEvidence(2, slices.Concat(repeatItem(4, sure(0)), repeatItem(3, as(0, 1, 0.5)), repeatItem(4, sure(1)),
		repeatItem(4, predicted{1, 0.25, candidate{1, 0.25, 0}}))...)
	if got := findConfusablePairs(h, w); !reflect.DeepEqual(got, confusablePairs{{1}, {0}}) { // 0.5 on average
		t.Errorf("%v", got)
	}
	for i := 11; i < 15; i++ {
		h.trust[i] = 0.5
	}
	if got := findConfusablePairs(h, w); !reflect.DeepEqual(got, confusablePairs{nil, nil}) {
		t.Errorf("by items of less trust: %v", got)
	}
}

// Of a class with many look-alikes the eight are looked at with which most items are
// confused, those of equally many in their order.
func TestMistakesOfMany(t *testing.T) {
	for many, want := range map[int][]int{0: {11, 10, 9, 8, 1, 2, 3, 4}, 11: {0, 1, 2, 3, 4, 5, 6, 7}} {
		number := func(c int) int { return max(many-c, c-many) } // the other classes, from 1 on
		items := repeatItem(9, predicted{many, 0.75, candidate{many, 0.75, 0}})
		for k := 1; k <= 11; k++ {
			c := number(k)
			items = append(items, repeatItem(20, predicted{c, 0.75, candidate{c, 0.75, 0}})...)
			n := 3
			if k > 7 {
				n = k
			}
			items = append(items, repeatItem(n, predicted{c, 0.125, candidate{many, 0.75, 0}})...)
		}
		got := findConfusablePairs(newEvidence(12, items...), plainWeights(1))
		if !slices.Equal(got[many], want) {
			t.Errorf("class %d: %v, want %v", many, got[many], want)
		}
		for k := 1; k <= 11; k++ {
			c := number(k)
			if have := slices.Equal(got[c], []int{many}); have != slices.Contains(got[many], c) {
				t.Errorf("class %d: %v", c, got[c])
			}
		}
	}
}

// What is said for an item's own class less what is said for the labels that the class
// is confused with, by both classifiers.
func TestCompare(t *testing.T) {
	h := &evidence{y: []int{1}, confusable: confusablePairs{nil, {2, 0}, {1}}, ahead: make([][]candidate, 1)}
	h.compare(0, []float64{0.25, 0.625, 0.125}, []float32{0.5, 0.25, -0.25})
	if want := []candidate{{2, 0.5, 0.5}, {0, 0.375, -0.25}}; !slices.Equal(h.ahead[0], want) {
		t.Errorf("%v, want %v", h.ahead[0], want)
	}
	h = &evidence{y: []int{1}, ahead: make([][]candidate, 1)}
	if h.compare(0, []float64{0, 1}, []float32{0, 1}); h.ahead[0] != nil {
		t.Errorf("nothing was asked: %v", h.ahead[0])
	}
}

// The scale of a pair has what is said for the class over the label, of the class's items
// in ascending order; its cut is half way between the means of both classes' items.
func TestScales(t *testing.T) {
	h := &evidence{y: []int{0, 0, 0, 0, 1, 1}, trust: []float64{1, 0.5, 0.25, 1, 1, 0.75}}
	for i, v := range []float64{3, 1, 5, -1, 4, 2} { // of class 0 over label 1, or of 1 over 0
		h.ahead = append(h.ahead, []candidate{{1 - h.y[i], v, 0}})
	}
	got := h.scales(plainWeights(1))
	want := map[classPair]*pairScale{
		// Means of 2 and 3: items of class 1 say -3 of class 0.
		{1, 0}: {scores: []float64{-1, 1, 3, 5}, trust: []float64{0, 1, 1.5, 2.5, 2.75}, cut: -0.5, numKnown: 3},
		{0, 1}: {scores: []float64{2, 4}, trust: []float64{0, 0.75, 1.75}, cut: 0.5, numKnown: 2},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v and %+v", got[classPair{1, 0}], got[classPair{0, 1}])
	}
	h.ahead[0][0].vote, h.ahead[1][0].vote = -0.5, 2.5 // at the cut itself, which stays
	h.ahead[2][0].vote = 7
	if got := h.scales(plainWeights(1))[classPair{1, 0}]; got.cut != -0.5 || got.numKnown != 2 {
		t.Errorf("%+v", got)
	}
}

// The place among a class's own items is the share of those beyond the middle that are
// below, half of its equals being so.
func TestPlace(t *testing.T) {
	s := &pairScale{scores: []float64{-1, 0, 1, 2, 2, 3}, trust: []float64{0, 1, 2, 3, 3.5, 4, 5}, cut: 0, numKnown: 4}
	for said, want := range map[float64]float64{-5: 0, 0: 0, 0.5: 0, 1: 0.5 / 3, 1.5: 1. / 3, 2: 1.5 / 3, 2.5: 2. / 3,
		3: 2.5 / 3, 9: 1} {
		requireNear(t, "place", s.placeOf(said), want, 1e-12)
	}
	none := &pairScale{scores: []float64{-1, 0}, trust: []float64{0, 1, 2}, cut: 5}
	requireNear(t, "none beyond the middle", none.placeOf(9), 0, 0)
}

// A pair is judged where both classes have eight items and nearly two thirds on their
// side, and where so many items with the other label lie deep as are more than chance, and
// the others no more than these let expect.
func TestTells(t *testing.T) {
	of := func(known, n int) *pairScale {
		s := &pairScale{numKnown: known}
		for i := range n { // in two heaps, around -1 and 1
			v := 1.0
			if i < n-known {
				v = -1
			}
			s.scores = append(s.scores, v)
		}
		return s
	}
	good := of(20, 24)
	for _, c := range []struct {
		name                 string
		there, back          *pairScale
		deep, shallow, usual float64
		want                 bool
	}{
		{"all is well", good, good, 9, 5, 1, true},
		{"no scale", nil, good, 9, 5, 1, false},
		{"no scale back", good, nil, 9, 5, 1, false},
		{"eight known", of(8, 8), good, 9, 5, 1, true},
		{"seven known", of(7, 7), good, 9, 5, 1, false},
		{"seven known, back", good, of(7, 7), 9, 5, 1, false},
		{"13 of 20", of(13, 20), good, 9, 5, 1, false},
		{"14 of 20", good, of(14, 20), 9, 5, 1, true},
		{"three deep", good, good, 3, 0, 0.5, true},
		{"two deep", good, good, 2, 0, 0, false},
		{"three deep where chance has nearly as many", good, good, 3, 0, 0.51, false},
		{"twice chance and two more", good, good, 12, 0, 5, true},
		{"fewer", good, good, 11, 0, 5, false},
		{"as many shallow as expected", good, good, 25, 41, 1, true},
		{"more shallow than expected", good, good, 25, 42, 1, false},
		{"of few", good, good, 4, 9, 1, true},
		{"more of few", good, good, 4, 10, 1, false},
	} {
		if got := isSeparable(c.there, c.back, c.deep, c.shallow, c.usual); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// The number of places that may be spread evenly is bounded by how few lie beyond any.
func TestEvenly(t *testing.T) {
	for _, c := range []struct {
		at   []float64
		want float64
	}{
		{slices.Repeat([]float64{1}, 50), 50},
		{slices.Repeat([]float64{0}, 50), 1 / 0.95},
		{[]float64{0}, 1},
		{slices.Repeat([]float64{0.58}, 50), 1 / 0.4},
		{slices.Repeat([]float64{0.61}, 50), 50},
		{slices.Repeat([]float64{0.5}, 50), 1 / 0.5}, // none lies beyond a half
		{append(slices.Repeat([]float64{0}, 50), 1, 1, 1), (3 + 2) / 0.95},
	} {
		requireNear(t, "evenly", maxEvenlySpread(c.at), c.want, 1e-12)
	}
}

// Pairs are listed from one expected item on, the most first, of equals the first seen.
func TestLikely(t *testing.T) {
	y := []int{1, 1, 0, 0, 0, 2, 2, 2}
	suggested := []int64{50, 50, 60, 60, 70, 60, 50, 50}
	p := []float64{0.5, 0.5, 0.75, 0.5, 0.875, 0, 0.5, 0.5}
	got := likelyConfusions(y, []int64{50, 60, 70}, suggested, p)
	want := []Confusion{{50, 60, 3, 1.25}, {60, 50, 2, 1}, {70, 50, 3, 1}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Items with the other class's label are as probably wrong as their places are even, and
// no item of other pairs is.
func TestJudgePairs(t *testing.T) {
	w := plainWeights(1)
	var h evidence
	h.classes = 3
	item := func(label, class int, own, other float64) {
		h.y, h.trust = append(h.y, label), append(h.trust, 1)
		h.candidates = append(h.candidates, []candidate{{class, other, 0}})
		h.asIs = append(h.asIs, margins{other - own, 1 - own, 0, 1})
		h.ahead = append(h.ahead, nil)
		if label < 2 {
			h.ahead[len(h.ahead)-1] = []candidate{{class, own - other, 0}}
		}
	}
	for i := range 20 { // of their class
		item(0, 1, 1, float64(i)/64)
		item(1, 0, 1, float64(i)/64)
		item(2, 0, 0, 1)
	}
	for i := range 4 { // of class 1, but labelled 0, among 1's own
		item(0, 1, float64(4+i)/64, 1)
	}
	p, wrong := h.judgePairs(w, 0)
	// Four lie beyond any place, of the 44 items of the pair.
	requireNear(t, "share", wrong, (4+math.Sqrt(5))/0.95/64, 1e-12)
	at, even := make([]float64, 40, 44), make([]float64, 64)
	for i := range 4 {
		at = append(at, (15.5-float64(i))/20)
	}
	for i := range even {
		even[i] = (float64(i) + 0.5) / 64
	}
	all, ratios := poolScores(at, even)
	want := wrongPosterior(all, ratios, 44, wrong*64/44)
	for i, v := range p {
		if i >= 60 {
			requireNear(t, "of class 1 with the label of 0", v, want[i-20], 1e-12)
		} else if requireNear(t, "of its class", v, 0, 0.05); h.y[i] == 2 && v != 0 {
			t.Errorf("item %d of a class that is not asked about: %g", i, v)
		}
	}
	if p[60] < 0.5 {
		t.Errorf("of class 1 with the label of 0: %g", p[60])
	}
	if _, wrong := h.judgePairs(w, 0.5); wrong != 0 { // that many would be there by chance
		t.Errorf("the share %g of what chance explains", wrong)
	}
}
