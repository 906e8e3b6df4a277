package eval

import (
	"math"

	"github.com/kindred-ml/kindred/matrix"
)

// key is a distance rounded up to 20 significant bits. It consists of the upper bits of a float64, so
// that keys have the order of the distances, and key + 1 is the next number of 20 bits. Negative
// distances, which occur with products, are negative keys.
type key int32

// droppedBits is the number of low bits of a float64 that a key lacks.
const droppedBits = 52 - 19

const signBit = 1 << 63

// roundUp returns the smallest key whose value is at least d.
func roundUp(d float64) key {
	b := math.Float64bits(d)
	if b&signBit == 0 {
		return key((b + (1<<droppedBits - 1)) >> droppedBits)
	}
	return -key(b &^ signBit >> droppedBits)
}

// roundDown returns the largest key whose value is at most d.
func roundDown(d float64) key { return -roundUp(-d) }

// value returns the distance of a key.
func (k key) value() float64 {
	if k < 0 {
		return -math.Float64frombits(uint64(-k) << droppedBits)
	}
	return math.Float64frombits(uint64(k) << droppedBits)
}

// keyScale measures distances from its own zero, so that the bits of a key distinguish distances that are
// all nearly the same.
type keyScale struct{ zero float64 }

// crowdedRatio is the ratio of distances to their differences from which distances are measured from their
// middle.
const crowdedRatio = 16

// newKeyScale returns a ruler with its zero at the distance of the mean query from the mean item, if no
// distance can differ from that by more than a sixteenth of it, else at 0. The first case occurs for
// products of rows that are far from the origin but near each other, and for Euclidean distances between
// sets that are far apart.
func newKeyScale(q, g *matrix.Dense, d Distance) keyScale {
	if d == Cosine {
		return keyScale{}
	}
	p, of := meanRow(q)
	r, to := p, of
	if q != g {
		r, to = meanRow(g)
	}
	var pp, rr, pr, square float64
	for k, v := range p {
		w := r[k]
		pp, rr, pr, square = pp+float64(v*v), rr+float64(w*w), pr+float64(v*w), square+float64((v-w)*(v-w))
	}
	far, most := math.Sqrt(square), of+to
	if d == Dot {
		far, most = -pr, math.Sqrt(pp)*to+of*math.Sqrt(rr)+of*to
	}
	if math.Abs(far) > crowdedRatio*most {
		return keyScale{far}
	}
	return keyScale{}
}

// meanRow returns the mean row, and the distance of the farthest row from it.
func meanRow(x *matrix.Dense) (mean []float64, most float64) {
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

// roundUp returns the smallest key whose value is at least d, and down the largest key whose value is at
// most d. The difference from a zero of nearly the same size is exact.
func (r keyScale) roundUp(d float64) key { return roundUp(d - r.zero) }

func (r keyScale) roundDown(d float64) key { return roundDown(d - r.zero) }

// value returns the largest float64 that is at most the distance of a key.
func (r keyScale) value(k key) float64 {
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
