package exact

import (
	"cmp"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/cosine"
)

// Item is a gallery row with its nearness to a query.
type Item struct {
	Score float64
	Row   int32
	// IsFinal reports whether the score is a cosine rounded once.
	IsFinal bool
}

// compareItems orders the nearest first, ties by the lowest row. It holds for items whose
// scores are settled or farther apart than rounding can bring them.
func compareItems(a, b Item) int {
	if a.Score != b.Score {
		return cmp.Compare(b.Score, a.Score)
	}
	return cmp.Compare(a.Row, b.Row)
}

// isAmbiguous reports whether rounding may have changed the order of two scores.
func (s *scorer) isAmbiguous(a, b float64) bool { return s.slack > 0 && math.Abs(a-b) <= 2*s.slack }

// finalize makes the score of an item of query i final.
func (s *scorer) finalize(i int, it *Item) {
	if it.IsFinal = it.IsFinal || s.qInv[i] == 0; !it.IsFinal { // a row of zeros has cosine 0 with all
		it.Score, it.IsFinal = cosine.Similarity(s.q.Row(i), s.g.Row(int(it.Row))), true
	}
}

// Compare is compareItems for items of query i whose scores may be close. It settles these,
// unless their rows are parallel.
func (s *scorer) Compare(i int, a, b *Item) int {
	if s.isAmbiguous(a.Score, b.Score) {
		if s.areParallel(a, b) {
			return cmp.Compare(a.Row, b.Row)
		}
		s.finalize(i, a)
		s.finalize(i, b)
	}
	return compareItems(*a, *b)
}

// areParallel reports whether the rows of two items differ only in length: then they have equal
// cosines. That is faster than settling, and it holds for most items where embeddings have collapsed.
func (s *scorer) areParallel(a, b *Item) bool {
	if a.Row == b.Row {
		return true
	}
	if s.knowsDirections() {
		return s.direction[a.Row] == s.direction[b.Row]
	}
	s.looks.Add(1)
	return cosine.IsParallel(s.g.Row(int(a.Row)), s.g.Row(int(b.Row)))
}

// SameDirection reports whether two gallery rows are known to be parallel, without comparing them.
func (s *scorer) SameDirection(a, b int32) bool {
	return s.knowsDirections() && s.direction[a] == s.direction[b]
}

// knowsDirections reports whether the directions of all rows are known. They are found once as many pairs were
// compared as there are rows.
func (s *scorer) knowsDirections() bool {
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
			hash[j] = cosine.DirectionHash(s.g.Row(j))
		}
	})
	s.direction = make([]int32, n)
	first := make(map[uint64][]int32, n)
	for j := range n {
		rows := first[hash[j]]
		k := slices.IndexFunc(rows, func(r int32) bool { return cosine.IsParallel(s.g.Row(int(r)), s.g.Row(j)) })
		if k < 0 {
			k = len(rows)
			rows = append(rows, int32(j))
			first[hash[j]] = rows
		}
		s.direction[j] = rows[k]
	}
}

// Sort puts items of query i in the order of Compare, in the time of a sort where few scores
// are close.
func (s *scorer) Sort(i int, items []Item) {
	slices.SortFunc(items, compareItems)
	if s.slack > 0 {
		SortClose(items, len(items), s.slack, func(it *Item) { s.finalize(i, it) }, s.areParallel, compareItems)
	}
}

// SortClose sorts items, which are in the order of their cosines, by cosines rounded once. It sorts runs
// that begin among the first n and whose cosines are so close that rounding (bounded by slack) may have
// changed their order. Parallel items have the same cosine.
func SortClose(items []Item, n int, slack float64, settle func(*Item), parallel func(a, b *Item) bool,
	order func(a, b Item) int) {
	for from := 0; from < min(n, len(items)); {
		to := from + 1
		for to < len(items) && math.Abs(items[to-1].Score-items[to].Score) <= 2*slack {
			to++
		}
		if to-from > 1 {
			settle(&items[from])
			for k := from + 1; k < to; k++ {
				if before := items[k-1]; parallel(&before, &items[k]) {
					items[k].Score, items[k].IsFinal = before.Score, true
					continue
				}
				settle(&items[k])
			}
			slices.SortFunc(items[from:to], order)
		}
		from = to
	}
}

// IsExtreme reports whether a cosine may be 1 or -1: it is reported only after it is settled.
func IsExtreme(cosine, slack float64) bool { return slack > 0 && math.Abs(cosine) >= 1-2*slack }

// value returns the score that is reported for an item. A cosine that may be 1 or -1 is settled first.
func (s *scorer) value(i int, it Item) float64 {
	if IsExtreme(it.Score, s.slack) {
		s.finalize(i, &it)
	}
	return it.Score
}
