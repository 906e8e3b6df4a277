package rank

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/kernel/dot8"
)

// head is what may be among the first items of one query's ranking. Items come in a
// random order, so that those seen so far tell about how near the depth-th nearest of
// all will be: what is farther than a cautious guess of that is left out. The guess is
// checked at the end.
type head struct {
	depth   int
	items   []item  // with near scores, in no order
	floor   float64 // items below it are left out
	guessed float64 // the highest floor that was a guess
	// Where so many items tie that the list stays full, it holds the best depth of those
	// seen, of which last is the last, by exact scores.
	crowded bool
	last    item
}

// roomFor is the length of the list of a head.
func roomFor(depth int) int { return depth + depth/2 + 256 }

// itemBytes is the storage of an item.
const itemBytes = 16

// closeness gives near scores of the items for one query after the other.
type closeness struct {
	p     *problem
	sp    *space
	share float64 // a near score s is within share |s| + rest of the exact one
	rest  float64
	work  []float64
	some  []float32
	found []float64
}

func newCloseness(p *problem, sp *space) *closeness {
	c := &closeness{p: p, sp: sp}
	d := p.g.X.Cols
	switch sp.dist {
	case Euclidean:
		c.share, c.rest = dot8.DistanceError(d)*(1+0x1p-20), tiny*sp.unit
	case Cosine:
		c.rest = dot8.Error(d)*1.001 + 0x1p-60
	default:
		reach := 1.001 + sp.length
		c.rest = dot8.Error(d)*reach*reach + tiny*sp.unit
	}
	return c
}

// above and below bound the exact score of an item whose near score is s.
func (c *closeness) above(s float64) float64 { return s + c.share*math.Abs(s) + c.rest }
func (c *closeness) below(s float64) float64 { return s - c.share*math.Abs(s) - c.rest }

// near is the near score of a pair.
func (c *closeness) near(i, j int) float64 {
	s, band := c.sp.near(i, j)
	if band > c.share*math.Abs(s)+c.rest {
		return c.sp.exact(i, j)
	}
	return s
}

// nears are the near scores of query i and gallery rows at.
func (c *closeness) nears(i int, at []int32) []float64 {
	c.found = slices.Grow(c.found[:0], len(at))[:len(at)]
	if c.sp.dist != Euclidean {
		for k, j := range at {
			c.found[k] = c.near(i, int(j))
		}
		return c.found
	}
	g := c.sp.g
	c.some = slices.Grow(c.some[:0], len(at))[:len(at)]
	dot8.SquaredDistances(c.some, c.sp.q.Row(i), g.Data, g.Stride, at)
	for k, v := range c.some {
		if c.found[k] = -float64(v) * c.sp.unit; v > math.MaxFloat32 {
			c.found[k] = c.sp.exact(i, int(at[k]))
		}
	}
	return c.found
}

// takeAll shows a head gallery rows, and tells how many of them it keeps.
func (c *closeness) takeAll(h *head, i int, at []int32) (kept int) {
	for k, s := range c.nears(i, at) {
		if c.take(h, i, int(at[k]), s) {
			kept++
		}
	}
	return kept
}

// take is told of gallery row j and its near score, and tells whether it keeps it.
func (c *closeness) take(h *head, i, j int, s float64) bool {
	if c.above(s) < h.floor {
		return false
	}
	if h.crowded && c.below(s) <= h.last.score {
		if compareItems(item{c.sp.exact(i, j), int32(j)}, h.last) > 0 {
			return false
		}
	}
	h.items = append(h.items, item{s, int32(j)})
	if len(h.items) == cap(h.items) {
		c.prune(h, i)
	}
	return true
}

// prune makes room in a full list.
func (c *closeness) prune(h *head, i int) {
	c.raise(h, h.depth)
	if len(h.items) <= cap(h.items)-cap(h.items)/8 {
		return
	}
	for k, it := range h.items {
		h.items[k].score = c.sp.exact(i, int(it.row))
	}
	slices.SortFunc(h.items, compareItems)
	h.items = h.items[:h.depth]
	h.crowded, h.last, h.floor = true, h.items[h.depth-1], h.items[h.depth-1].score
}

// guess raises the floor when the given share of all items has been seen.
func (c *closeness) guess(h *head, seen float64) {
	if !h.crowded && c.raise(h, expected(h.depth, seen)) {
		h.guessed = h.floor
	}
}

// expected is a number that the items among the first depth which are also in a random
// share of all hardly ever reach.
func expected(depth int, seen float64) int {
	mean := float64(depth) * seen
	return int(mean+3.5*math.Sqrt(mean*(1-seen))) + 3
}

// start guesses the first floor from the scores of some of all items.
func (c *closeness) start(h *head, scores []float32, half float32, all int) {
	n := expected(h.depth, float64(len(scores))/float64(all))
	if n > len(scores) {
		return
	}
	c.work = c.work[:0]
	for _, s := range scores {
		c.work = append(c.work, float64(s))
	}
	h.floor = nthLargest(c.work, n) - float64(half)
	h.guessed = h.floor
}

// raise lifts the floor to what the n-th best item is sure to reach, if that is higher.
func (c *closeness) raise(h *head, n int) bool {
	if len(h.items) < n {
		return false
	}
	c.work = c.work[:0]
	for _, it := range h.items {
		c.work = append(c.work, it.score)
	}
	floor := c.below(nthLargest(c.work, n))
	if floor <= h.floor {
		return false
	}
	h.floor = floor
	h.items = slices.DeleteFunc(h.items, func(it item) bool { return c.above(it.score) < floor })
	return true
}

// begin forgets all items.
func (h *head) begin() {
	h.items, h.crowded = h.items[:0], false
	h.floor, h.guessed = math.Inf(-1), math.Inf(-1)
}
