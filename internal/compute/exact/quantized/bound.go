package quantized

import "math"

// Extent bounds a placed row, or all of a set.
type Extent struct {
	Norm float64 // the length
	Loss float64 // the length of its coding error
	Half float64 // the magnitude of its half
}

// Include makes e bound o, too.
func (e *Extent) Include(o Extent) {
	e.Norm, e.Loss, e.Half = max(e.Norm, o.Norm), max(e.Loss, o.Loss), max(e.Half, o.Half)
}

// roundings bounds, as a share of products and halves, the error of their rounding to float32
// and of the rounding of their differences.
const roundings = 0x1p-21

// tiny bounds the error of scores of rows that are tiny beside 1.
const tiny = 1e-30

// Band bounds how far the score of a row and a column, less the row's half, can be from
// the product of the placed rows of d coordinates less both halves. It is +Inf if a loss
// is.
func (k Kind) Band(d int, row, col Extent) float64 {
	b := row.Loss*col.Norm + (row.Norm+row.Loss)*col.Loss
	b += roundings * (row.Norm*col.Norm + row.Half + col.Half)
	if k == Float32 {
		b += sumError(d) * row.Norm * col.Norm
	}
	if b != b { // no length times an infinite loss
		return math.Inf(1)
	}
	return b + tiny
}

// sumError bounds the error of sums of d products in float32, in any order, as a share of the
// lengths.
func sumError(d int) float64 { return 0x1p-23 * float64(d+8) }

// share is about the coding error of a kind as a share of the length of a row.
func (k Kind) share() float64 {
	if k == Bits16 {
		return 0x1p-14
	}
	return 0x1p-7
}

// Slack bounds the coding error of a column: the larger of the loss and of the norm
// times a constant of the kind, so that a multiple of it bounds both.
func (k Kind) Slack(norm, loss float64) float32 { return RoundUp(max(loss, norm*k.share())) }

// Reach is the factor by which the Slack of any column of the kind bounds the
// error of its product with a row, and the product's roundings. For tiny rows the error may be 1e-30
// larger.
func (k Kind) Reach(norm, loss float64) float64 {
	return ((loss+2*roundings*(norm+loss))/k.share()+norm+loss)*(1+2*roundings) + tiny
}

// FloatLoss is the loss of a row of d coordinates whose products with columns of a kind
// are computed in Float32 from the columns themselves: rounding of both, and of the sum.
func FloatLoss(norm float64, d int) float64 { return norm * (sumError(d) + 0x1p-22) }

// RoundDown is a float32 that is at most x, but finite if x is not +Inf: what fills up a
// panel scores -Inf and must not reach it.
func RoundDown(x float64) float32 {
	if f := float32(x); float64(f) <= x && f >= -math.MaxFloat32 {
		return f
	}
	return roundDown(x)
}

// roundDown is Below where rounding to the nearest does not go down: apart, so that the rest
// can be inlined.
func roundDown(x float64) float32 {
	x = max(x, -math.MaxFloat32)
	f := float32(x)
	if float64(f) > x {
		f = math.Nextafter32(f, -math.MaxFloat32)
	}
	return f
}

// RoundUp is a float32 that is at least x, but finite if x is not -Inf.
func RoundUp(x float64) float32 { return -RoundDown(-x) }
