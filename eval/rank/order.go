package rank

import (
	"cmp"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/kernel/dot16"
)

// item is a gallery row with its nearness to a query.
type item struct {
	score float64
	row   int32
	// settled tells that the score is a cosine rounded once.
	settled bool
}

// compareItems orders the nearest first, ties by the lowest row. It holds for items whose
// scores are settled or farther apart than rounding can bring them.
func compareItems(a, b item) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	return cmp.Compare(a.row, b.row)
}

// cosineSlack bounds how far a score of Cosine is from the cosine: a sum has one rounding for
// every 16 of the d coordinates and four for the lanes, the lengths have half of that each,
// and root, quotient and products six.
func cosineSlack(d int) float64 { return 0x1p-53 * float64(2*(d/16+6)+8) }

// open tells whether rounding may have changed the order of two scores.
func (s *scorer) open(a, b float64) bool { return s.slack > 0 && math.Abs(a-b) <= 2*s.slack }

// settle makes the score of an item of query i final.
func (s *scorer) settle(i int, it *item) {
	if !it.settled {
		it.score, it.settled = cosineOf(s.q.Row(i), s.g.Row(int(it.row))), true
	}
}

// compare is compareItems for items of query i whose scores may be close. It settles these,
// unless their rows are the same.
func (s *scorer) compare(i int, a, b *item) int {
	if s.open(a.score, b.score) {
		if s.twins(a, b) {
			return cmp.Compare(a.row, b.row)
		}
		s.settle(i, a)
		s.settle(i, b)
	}
	return compareItems(*a, *b)
}

// twins tells whether the rows of two items are the same. That takes a twentieth of settling, and
// where embeddings have collapsed it is so for most.
func (s *scorer) twins(a, b *item) bool {
	return a.row == b.row || dot16.SquaredDistance(s.g.Row(int(a.row)), s.g.Row(int(b.row))) == 0
}

// sort puts items of query i in the order of compare, in the time of a sort where few scores
// are close.
func (s *scorer) sort(i int, items []item) {
	slices.SortFunc(items, compareItems)
	if s.slack == 0 {
		return
	}
	for from := 0; from < len(items); {
		to := from + 1
		for to < len(items) && s.open(items[to-1].score, items[to].score) {
			to++
		}
		if to-from > 1 {
			s.settle(i, &items[from])
			for k := from + 1; k < to; k++ {
				if before := items[k-1]; s.twins(&before, &items[k]) {
					items[k].score, items[k].settled = before.score, true
					continue
				}
				s.settle(i, &items[k])
			}
			slices.SortFunc(items[from:to], compareItems)
		}
		from = to
	}
}

// value is the score that is told of an item: a cosine that may be 1 or -1 is settled.
func (s *scorer) value(i int, it item) float64 {
	if s.slack > 0 && math.Abs(it.score) >= 1-2*s.slack {
		s.settle(i, &it)
	}
	return it.score
}
