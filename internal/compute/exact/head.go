package exact

import (
	"math"

	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
)

// head holds the items that may be among the first of one query's ranking. Items come in a
// random order, so those seen so far give an estimate of how near the depth-th nearest of
// all will be. Items farther than a cautious guess of it are left out. The guess is
// checked at the end.
type head struct {
	depth int
	near  []float32 // near scores of the items that are kept, in no order
	row   []int32   // and their rows
	floor float64   // items below it are left out
	least float32   // and those whose near score is below this
	// guessed is the highest floor that was a guess.
	guessed float64
	// Where so many items tie that the list stays full, it holds the best depth of those
	// seen by exact scores; last is the last of these.
	hasTies bool
	last    Item
}

// listLen is the length of the list of a head.
func listLen(depth int) int { return (depth + depth/2 + 256) &^ 15 }

// keptBytes is the storage of an item of a list.
const keptBytes = 8

// reset forgets all items.
func (h *head) reset() {
	h.near, h.row, h.hasTies = h.near[:0], h.row[:0], false
	h.floor, h.guessed, h.least = math.Inf(-1), math.Inf(-1), -math.MaxFloat32
}

// headFiller fills heads.
type headFiller struct {
	*nearScorer
	open   []uint32
	sorted sorter
}

// offerAll shows a head gallery rows, and returns how many of them it keeps.
func (c *headFiller) offerAll(h *head, i int, at []int32) (kept int) {
	scores := c.scores(i, at)
	for len(at) > 0 && !h.hasTies {
		// An item below the floor is overwritten by the next. That is hard to predict,
		// so there is no branch on it.
		n := len(h.near)
		some := min(len(at), cap(h.near)-n)
		near, rows, least := h.near[n:n+some], h.row[n:n+some], h.least
		k := 0
		for e, s := range scores[:some] {
			near[k], rows[k] = s, at[e]
			if s >= least {
				k++
			}
		}
		h.near, h.row = h.near[:n+k], h.row[:n+k]
		kept += k
		at, scores = at[some:], scores[some:]
		if len(h.near) == cap(h.near) {
			c.prune(h, i)
		}
	}
	for k, s := range scores {
		if c.offerTied(h, i, at[k], s) {
			kept++
		}
	}
	return kept
}

// offerTied is for a head whose list was full of ties.
func (c *headFiller) offerTied(h *head, i int, j int32, near float32) bool {
	if near < h.least {
		return false
	}
	if c.lowerBound(near) <= h.last.Score {
		if it := c.sp.Item(i, j); c.sp.Compare(i, &it, &h.last) > 0 {
			return false
		}
	}
	h.near, h.row = append(h.near, near), append(h.row, j)
	if len(h.near) == cap(h.near) {
		c.prune(h, i)
	}
	return true
}

// prune makes room in a full list.
func (c *headFiller) prune(h *head, i int) {
	c.raiseFloor(h, h.depth)
	if len(h.near) <= cap(h.near)-cap(h.near)/8 {
		return
	}
	items := make([]Item, len(h.near))
	for k, j := range h.row {
		items[k] = c.sp.Item(i, j)
	}
	c.sp.Sort(i, items)
	h.near, h.row = h.near[:0], h.row[:0]
	for _, it := range items[:h.depth] {
		h.near, h.row = append(h.near, float32(it.Score)), append(h.row, it.Row)
	}
	h.hasTies, h.last = true, items[h.depth-1]
	c.setFloor(h, h.last.Score)
}

// guessFirstFloor guesses the first floor from approximate scores of some of all items.
func (c *headFiller) guessFirstFloor(h *head, scores []float32, half float32, all int) {
	n := rankBound(h.depth, float64(len(scores))/float64(all))
	if n < len(scores) {
		c.setFloor(h, float64(c.nthLargest(scores, n, -math.MaxFloat32))-float64(half))
		h.guessed = h.floor
	}
}

// guessFloor raises the floor when the given share of all items has been seen.
func (c *headFiller) guessFloor(h *head, seen float64) {
	if !h.hasTies && c.raiseFloor(h, rankBound(h.depth, seen)) {
		h.guessed = h.floor
	}
}

// rankBound returns a number that is almost never reached by the number of the first depth items that are in a random
// share of all items.
func rankBound(depth int, seen float64) int {
	mean := float64(depth) * seen
	return int(mean+3.5*math.Sqrt(mean*(1-seen))) + 3
}

// raiseFloor lifts the floor to a score that the n-th best item certainly reaches, if that is higher.
func (c *headFiller) raiseFloor(h *head, n int) bool {
	if len(h.near) < n {
		return false
	}
	floor := c.lowerBound(c.nthLargest(h.near, n, nextBelow(h.least)))
	if floor <= h.floor {
		return false
	}
	c.dropBelow(h, floor)
	return true
}

// dropBelow sets the floor and leaves out what is below it.
func (c *headFiller) dropBelow(h *head, floor float64) {
	c.setFloor(h, floor)
	k := 0
	for e, s := range h.near {
		h.near[k], h.row[k] = s, h.row[e]
		if s >= h.least {
			k++
		}
	}
	h.near, h.row = h.near[:k], h.row[:k]
}

// setFloor sets the floor.
func (c *headFiller) setFloor(h *head, floor float64) {
	h.floor, h.least = floor, quantized.RoundDown(c.nearFloor(floor))
}

// dropExcess drops the items that are certainly not among the first depth, and reports whether all of
// the first are there: whether as many reach each floor that was a guess.
func (c *headFiller) dropExcess(h *head) bool {
	if len(h.near) < h.depth {
		return false
	}
	if floor := c.lowerBound(c.nthLargest(h.near, h.depth, nextBelow(h.least))); floor >= h.guessed {
		c.dropBelow(h, floor)
		return true
	}
	return h.hasTies && h.last.Score >= h.guessed
}

// nextBelow is the number below v.
func nextBelow(v float32) float32 { return math.Nextafter32(v, float32(math.Inf(-1))) }
