package exact

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/compute/exact/coded"
	"github.com/kindred-ml/kindred/internal/kernel/dot8"
)

// nearness gives scores in float32, called near scores, of many items at a time: within
// share |s| + rest of the exact ones.
type nearness struct {
	sp          *Space
	share, rest float64
	found       []float32
}

// rounded bounds what a score loses as a float32.
const rounded = 0x1p-23

func newNearness(sp *Space) *nearness {
	c := &nearness{sp: sp, share: rounded}
	d := sp.g.Cols
	switch sp.dist {
	case Euclidean:
		c.share, c.rest = c.share+dot8.DistanceError(d), tiny*sp.unit
	case Cosine:
		c.rest = dot8.Error(d)*1.001 + 0x1p-60 + 2*sp.slack
	default:
		reach := 1.001 + sp.length
		c.rest = dot8.Error(d)*reach*reach + tiny*sp.unit
	}
	c.rest += tiny // of subnormal numbers
	return c
}

// Fits tells whether float32 holds all scores of the space.
func (s *Space) Fits() bool {
	reach := 1.001 + s.length
	return reach*reach < 1e30
}

// above and below bound the exact score of an item.
func (c *nearness) above(near float32) float64 {
	s := float64(near)
	return s + c.share*math.Abs(s) + c.rest
}

func (c *nearness) below(near float32) float64 {
	s := float64(near)
	return s - c.share*math.Abs(s) - c.rest
}

// least is at most the near score of every item whose exact one is at least floor.
func (c *nearness) least(floor float64) float64 {
	return floor - 2*c.share*math.Abs(floor) - 2*c.rest
}

// window bounds the near scores of items that may stand on either side of one with the
// given near score.
func (c *nearness) window(near float32) (lo, hi float32) {
	a, b := c.above(near), c.below(near)
	return coded.Below(b - 2*(c.share*math.Abs(b)+c.rest)), coded.Above(a + 2*(c.share*math.Abs(a)+c.rest))
}

// scores are the near scores of query i and gallery rows at. They are overwritten by the
// next ones.
func (c *nearness) scores(i int, at []int32) []float32 {
	out := slices.Grow(c.found[:0], len(at))[:len(at)]
	c.found = out
	if c.sp.dist == Euclidean {
		g := c.sp.g
		dot8.SquaredDistances(out, c.sp.q.Row(i), g.Data, g.Stride, at)
		for k, v := range out {
			if out[k] = float32(-float64(v) * c.sp.unit); v > math.MaxFloat32 {
				out[k] = float32(c.sp.exact(i, int(at[k])))
			}
		}
		return out
	}
	for k, j := range at {
		s, band := c.sp.near(i, int(j))
		if band > c.rest {
			s = c.sp.exact(i, int(j))
		}
		out[k] = float32(s)
	}
	return out
}
