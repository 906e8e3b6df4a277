package rank

import (
	"cmp"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/cosine"
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

// open tells whether rounding may have changed the order of two scores.
func (s *scorer) open(a, b float64) bool { return s.slack > 0 && math.Abs(a-b) <= 2*s.slack }

// settle makes the score of an item of query i final.
func (s *scorer) settle(i int, it *item) {
	if it.settled = it.settled || s.qInv[i] == 0; !it.settled { // a row of zeros has cosine 0 with all
		it.score, it.settled = cosine.Of(s.q.Row(i), s.g.Row(int(it.row))), true
	}
}

// compare is compareItems for items of query i whose scores may be close. It settles these,
// unless their rows are parallel.
func (s *scorer) compare(i int, a, b *item) int {
	if s.open(a.score, b.score) {
		if s.parallel(a, b) {
			return cmp.Compare(a.row, b.row)
		}
		s.settle(i, a)
		s.settle(i, b)
	}
	return compareItems(*a, *b)
}

// parallel tells whether the rows of two items are the same but for their lengths: then so are their
// cosines. That takes less time than settling, and where embeddings have collapsed it is so for most.
func (s *scorer) parallel(a, b *item) bool {
	if a.row == b.row {
		return true
	}
	if s.compared() {
		return s.direction[a.row] == s.direction[b.row]
	}
	s.looks.Add(1)
	return cosine.Parallel(s.g.Row(int(a.row)), s.g.Row(int(b.row)))
}

// compared tells whether the directions of all rows are known. They are found once as many pairs were
// compared as there are rows.
func (s *scorer) compared() bool {
	if s.looks.Load() <= int64(s.g.Rows) {
		return false
	}
	s.once.Do(s.findDirections)
	return true
}

// findDirections writes for each gallery row the first row that is parallel to it.
func (s *scorer) findDirections() {
	n := s.g.Rows
	hash := make([]uint64, n)
	par.For(n, 64, func(lo, hi int) {
		for j := lo; j < hi; j++ {
			hash[j] = cosine.Direction(s.g.Row(j))
		}
	})
	s.direction = make([]int32, n)
	first := make(map[uint64][]int32, n)
	for j := range n {
		rows := first[hash[j]]
		k := slices.IndexFunc(rows, func(r int32) bool { return cosine.Parallel(s.g.Row(int(r)), s.g.Row(j)) })
		if k < 0 {
			k = len(rows)
			rows = append(rows, int32(j))
			first[hash[j]] = rows
		}
		s.direction[j] = rows[k]
	}
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
				if before := items[k-1]; s.parallel(&before, &items[k]) {
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
