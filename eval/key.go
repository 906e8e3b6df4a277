package eval

import (
	"math"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/mat"
)

// key is a distance rounded up to 20 significant bits: the upper bits of a float64, so
// that keys are ordered as the distances are, and the number after a key is the next of
// 20 bits. Negative distances, which products have, are negative keys.
type key int32

// dropped is the number of low bits of a float64 that a key does without.
const dropped = 52 - 19

const signBit = 1 << 63

// up is the smallest key whose value is at least d.
func up(d float64) key {
	b := math.Float64bits(d)
	if b&signBit == 0 {
		return key((b + (1<<dropped - 1)) >> dropped)
	}
	return -key(b &^ signBit >> dropped)
}

// down is the largest key whose value is at most d.
func down(d float64) key { return -up(-d) }

// value is the number that a key stands for.
func (k key) value() float64 {
	if k < 0 {
		return -math.Float64frombits(uint64(-k) << dropped)
	}
	return math.Float64frombits(uint64(k) << dropped)
}

// ruler measures distances from a zero of its own, so that the bits of a key tell distances
// apart that are all nearly the same.
type ruler struct{ zero float64 }

// crowding is how many times as large as their differences distances are that are measured
// from their middle.
const crowding = 16

// rulerFor has its zero at the distance of the mean query from the mean item if no distance can
// be farther from that than a sixteenth of it, else at 0. So it is for products of rows that
// lie far from the origin together, and for Euclidean distances between sets that lie far
// apart.
func rulerFor(q, g *mat.Dense, d rank.Distance) ruler {
	if d == rank.Cosine {
		return ruler{}
	}
	p, of := middle(q)
	r, to := p, of
	if q != g {
		r, to = middle(g)
	}
	var pp, rr, pr, square float64
	for k, v := range p {
		w := r[k]
		pp, rr, pr, square = pp+float64(v*v), rr+float64(w*w), pr+float64(v*w), square+float64((v-w)*(v-w))
	}
	far, most := math.Sqrt(square), of+to
	if d == rank.Dot {
		far, most = -pr, math.Sqrt(pp)*to+of*math.Sqrt(rr)+of*to
	}
	if math.Abs(far) > crowding*most {
		return ruler{far}
	}
	return ruler{}
}

// middle is the mean row, and how far the farthest row is from it.
func middle(x *mat.Dense) (mean []float64, most float64) {
	mean = make([]float64, x.Cols)
	for i := range x.Rows {
		for k, v := range x.Row(i) {
			mean[k] += float64(v)
		}
	}
	for k := range mean {
		mean[k] /= float64(x.Rows)
	}
	for i := range x.Rows {
		var square float64
		for k, v := range x.Row(i) {
			away := float64(v) - mean[k]
			square += float64(away * away)
		}
		most = max(most, square)
	}
	return mean, math.Sqrt(most)
}

// up is the smallest key whose value is at least d, down the largest whose value is at most d.
// Differences from a zero that is nearly as large are exact.
func (r ruler) up(d float64) key { return up(d - r.zero) }

func (r ruler) down(d float64) key { return down(d - r.zero) }

// value is the largest float64 that is no more than the number a key stands for.
func (r ruler) value(k key) float64 {
	v := k.value()
	if r.zero == 0 {
		return v
	}
	sum := r.zero + v
	if sum-r.zero > v {
		return math.Nextafter(sum, math.Inf(-1))
	}
	return sum
}
