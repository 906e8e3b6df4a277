package exact

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/kernel/scan"
)

// nthLargest is about the n-th largest score, counted from 1: at least n are above it, and
// where there are no ties no more. There are n, above low, and room for whole registers.
func (c *headFiller) nthLargest(scores []float32, n int, low float32) float32 {
	padded := c.padScores(scores)
	high, _ := scan.MaxBelow(scores, float32(math.Inf(1)))
	// n scores are above lo, but not above hi.
	lo, hi := orderedBits(low), orderedBits(high)
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		above, _ := dot16.CountRow(padded, float32(math.Inf(1)), fromOrderedBits(mid), c.open)
		switch {
		case above == n:
			return fromOrderedBits(mid)
		case above > n:
			lo = mid
		default:
			hi = mid
		}
	}
	return fromOrderedBits(lo)
}

// padScores fills up the last register, and makes room for a bit of each score.
func (c *headFiller) padScores(scores []float32) []float32 {
	whole := (len(scores) + 15) &^ 15
	padded := scores[:whole]
	for k := len(scores); k < whole; k++ {
		padded[k] = float32(math.Inf(-1))
	}
	c.open = slices.Grow(c.open[:0], whole/16)[:whole/16]
	return padded
}

// orderedBits turns a finite number into an integer of the same order.
func orderedBits(v float32) int64 {
	b := math.Float32bits(v)
	if b>>31 != 0 {
		return -int64(b &^ (1 << 31))
	}
	return int64(b)
}

// fromOrderedBits is the number that rising made an integer of.
func fromOrderedBits(k int64) float32 {
	if k < 0 {
		return -math.Float32frombits(uint32(-k))
	}
	return math.Float32frombits(uint32(k))
}

// sorter sorts the items of heads in time that grows with their number where scores
// spread about evenly.
type sorter struct {
	ends []int32
	out  []Item
}

// sort returns the items with their near scores, the largest first, in storage of its
// own.
func (s *sorter) sort(near []float32, rows []int32) []Item {
	n := len(near)
	s.out = slices.Grow(s.out[:0], n)[:n]
	s.ends = slices.Grow(s.ends[:0], n+1)[:n+1]
	if n == 0 {
		return s.out
	}
	clear(s.ends)
	high, low := near[0], near[0]
	for _, v := range near {
		high, low = max(high, v), min(low, v)
	}
	scale := 0.
	if d := float64(high) - float64(low); d > 0 {
		scale = float64(n-1) / d
	}
	for _, v := range near {
		s.ends[int((float64(high)-float64(v))*scale)+1]++
	}
	for b := range n {
		s.ends[b+1] += s.ends[b]
	}
	for k, v := range near {
		at := &s.ends[int((float64(high)-float64(v))*scale)]
		s.out[*at] = Item{Score: float64(v), Row: rows[k]}
		*at++
	}
	from := int32(0)
	for _, end := range s.ends[:n] {
		if end-from > 1 {
			sortFew(s.out[from:end])
		}
		from = end
	}
	return s.out
}

// sortFew is for the items of one bucket.
func sortFew(items []Item) {
	if len(items) > 24 {
		slices.SortFunc(items, compareItems)
		return
	}
	for i := 1; i < len(items); i++ {
		it := items[i]
		k := i
		for ; k > 0 && items[k-1].Score < it.Score; k-- {
			items[k] = items[k-1]
		}
		items[k] = it
	}
}
