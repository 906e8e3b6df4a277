package exact

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
	"github.com/kindred-ml/kindred/internal/kernel/dot8"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// nearScorer gives scores in float32, called near scores, within share |s| + rest of the exact ones.
// Like every band, this has room for the slack of two scores, so only items whose order is decided
// differ by more.
type nearScorer struct {
	sp          *Space
	share, rest float64
	found       []float32
}

// rounded bounds the error of a score as a float32.
const rounded = 0x1p-23

// tiny bounds the error of subnormal numbers on the way to a score in float32.
const tiny = 1e-30

func newNearScorer(sp *Space) *nearScorer {
	c := &nearScorer{sp: sp, share: rounded, rest: 2*sp.slack + tiny}
	d := sp.g.Cols
	switch sp.dist {
	case Euclidean:
		c.share, c.rest = c.share+dot8.DistanceError(d), c.rest+tiny*sp.unit
	case Cosine:
		c.rest += dot8.Error(d)*1.001 + 0x1p-60
	default:
		reach := 1.001 + sp.length // of any row, before the shift
		c.rest += dot8.Error(d)*reach*reach + tiny*sp.unit
	}
	return c
}

// Fits reports whether float32 holds all scores of the space.
func (s *Space) Fits() bool {
	reach := 1.001 + s.length
	return reach*reach < 1e30
}

// score is the score of a pair, by sums of products in float32; rows that float32 cannot hold are
// scored exactly.
func (c *nearScorer) score(i, j int) float64 {
	s := c.sp
	x, y := s.q.Row(i), s.g.Row(j)
	var v float64
	switch s.dist {
	case Euclidean:
		v = -float64(dot8.SquaredDistance(x, y)) * s.unit
	case Cosine:
		f := s.qInv[i] * s.gInv[j]
		if tiny*f > 0x1p-60 {
			return s.exact(i, j)
		}
		v = float64(simd.Dot(x, y)) * f
	default:
		v = float64(simd.Dot(x, y)) * s.unit
	}
	if !(math.Abs(v) <= math.MaxFloat64) {
		return s.exact(i, j)
	}
	return v
}

// band bounds the error of a near score.
func (c *nearScorer) band(near float64) float64 { return c.share*math.Abs(near) + c.rest }

// upperBound and below bound the exact score of an item.
func (c *nearScorer) upperBound(near float32) float64 {
	s := float64(near)
	return s + c.band(s)
}

func (c *nearScorer) lowerBound(near float32) float64 {
	s := float64(near)
	return s - c.band(s)
}

// nearFloor returns a near score that every item with an exact score of at least floor reaches.
func (c *nearScorer) nearFloor(floor float64) float64 { return floor - 2*c.band(floor) }

// window bounds the near scores of items that may be on either side of an item with the
// given near score.
func (c *nearScorer) window(near float32) (lo, hi float32) {
	a, b := c.upperBound(near), c.lowerBound(near)
	return quantized.RoundDown(b - 2*c.band(b)), quantized.RoundUp(a + 2*c.band(a))
}

// scores are the near scores of query i and gallery rows at. They are overwritten by the
// next ones.
func (c *nearScorer) scores(i int, at []int32) []float32 {
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
		out[k] = float32(c.score(i, int(j)))
	}
	return out
}
