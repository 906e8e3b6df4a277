// Package cosine has cosines of rows that are rounded once, so that equal cosines tie. In: rows of
// float32. Out: a cosine, or whether two rows are parallel. Slack says which cosines in float64 need this.
package cosine

import (
	"math"
	"math/big"
	"math/bits"
)

// Similarity returns the cosine of two rows, x.y / (||x|| ||y||), rounded once to float64. So equal
// cosines are equal numbers whatever the lengths of the rows, the cosine of parallel rows is 1,
// and no cosine is above 1. A row of zeros has cosine 0 with everything. Of takes some ten times
// as long as a sum of products in float64.
func Similarity(x, y []float32) float64 {
	var xy, xx, yy doubleDouble
	var lost float64 // by the sum of products in its larger half: 0 if that half is exact
	for i, a := range x {
		a, b := float64(a), float64(y[i]) // whose products are exact
		before := xy.lo
		xy = xy.add(a * b)
		lost += math.Abs(xy.lo - before)
		xx = xx.add(a * a)
		yy = yy.add(b * b)
	}
	if xx.hi == 0 || yy.hi == 0 || xy.hi == 0 && lost == 0 {
		return 0
	}
	high, low := xy.div(xx.mul(yy).sqrt())
	// A sum loses at most (n u)^2 of its magnitudes, by Cauchy and Schwarz (n u)^2 of the
	// cosine's denominator, where u is 2^-53.
	n := float64(len(x) + 8)
	band := n * n * 0x1p-104 * math.Abs(high)
	if lost != 0 {
		band = n * n * 0x1p-104
	}
	down, up := high+(low-band), high+(low+band)
	if down == up {
		return up
	}
	return exactCosine(x, y)
}

// ErrorBound bounds how far the product of two rows of dimension d with the reciprocals of their lengths, in
// float64 by packages dot16 and coded, is from the cosine: a sum has one rounding for every 16 of the
// coordinates and four for the lanes, the lengths have half of that each, and root, quotient and
// products six.
func ErrorBound(d int) float64 { return 0x1p-53 * float64(2*(d/16+6)+8) }

// IsParallel reports whether a row is the other times a positive number: then both have the same cosine with
// every row. Rows of zeros are parallel to each other alone.
func IsParallel(x, y []float32) bool {
	pivot := 0
	for pivot < len(x) && x[pivot] == 0 && y[pivot] == 0 {
		pivot++
	}
	if pivot == len(x) {
		return true
	}
	a, b := float64(x[pivot]), float64(y[pivot])
	if a*b <= 0 {
		return false
	}
	for j := pivot + 1; j < len(x); j++ {
		if float64(x[j])*b != float64(y[j])*a { // products of two float32 are exact
			return false
		}
	}
	return true
}

// DirectionHash returns a number that is equal for parallel rows and almost always differs for others.
func DirectionHash(x []float32) uint64 {
	var pivot float64
	h := uint64(0x9e3779b97f4a7c15)
	for _, v := range x {
		if pivot == 0 {
			pivot = math.Abs(float64(v))
		}
		ratio := 0.0
		if v != 0 { // not 0 or -0
			ratio = float64(v) / pivot // the same for parallel rows, as it is rounded once
		}
		h = (bits.RotateLeft64(h, 23) ^ math.Float64bits(ratio)) * 0x2545f4914f6cdd1d
	}
	return h
}

// doubleDouble is the sum of two numbers in float64; the second is what rounding took from the first.
type doubleDouble struct{ hi, lo float64 }

// add adds p, after Ogita, Rump and Oishi (2005).
func (t doubleDouble) add(p float64) doubleDouble {
	sum := t.hi + p
	part := sum - t.hi
	return doubleDouble{sum, t.lo + ((t.hi - (sum - part)) + (p - part))}
}

// mul is the product.
func (t doubleDouble) mul(by doubleDouble) doubleDouble {
	t, by = t.normalize(), by.normalize()
	p := t.hi * by.hi
	return doubleDouble{p, math.FMA(t.hi, by.hi, -p) + (t.hi*by.lo + t.lo*by.hi)}.normalize()
}

// sqrt is the square root of a positive number.
func (t doubleDouble) sqrt() doubleDouble {
	r := math.Sqrt(t.hi)
	return doubleDouble{r, (math.FMA(-r, r, t.hi) + t.lo) / (2 * r)}
}

// div is the quotient.
func (t doubleDouble) div(by doubleDouble) (hi, lo float64) {
	t, by = t.normalize(), by.normalize()
	q := t.hi / by.hi
	return q, (math.FMA(-q, by.hi, t.hi) + (t.lo - q*by.lo)) / by.hi
}

// normalize moves as much of the sum as possible into the first number.
func (t doubleDouble) normalize() doubleDouble { return doubleDouble{t.hi, 0}.add(t.lo) }

// exactPrecision is the precision in bits that holds sums of products of any float32 exactly: these
// are multiples of 2^-298 below 2^(256+31).
const exactPrecision = 640

// exactCosine is Of by exact integers, where twice the digits of float64 leave the rounding open.
func exactCosine(x, y []float32) float64 {
	number := func() *big.Float { return new(big.Float).SetPrec(exactPrecision) }
	xy, xx, yy, p := number(), number(), number(), number()
	for i, a := range x {
		u, v := big.NewFloat(float64(a)), big.NewFloat(float64(y[i]))
		xy.Add(xy, p.Mul(u, v))
		xx.Add(xx, p.Mul(u, u))
		yy.Add(yy, p.Mul(v, v))
	}
	if xy.Sign() == 0 || xx.Sign() == 0 || yy.Sign() == 0 {
		return 0
	}
	sign := xy.Sign()
	xy.Abs(xy)
	whole := new(big.Float).SetPrec(2*exactPrecision).Mul(xx, yy)
	quotient := number().Quo(xy, number().Sqrt(whole))
	// The cosine is about the number below, and maybe nearer to the one above: it is if its
	// square is above that of the mean of both.
	below, _ := new(big.Float).SetPrec(53).SetMode(big.ToZero).Set(quotient).Float64()
	above := math.Nextafter(below, 2)
	half := number().Add(big.NewFloat(below), big.NewFloat(above))
	half.Quo(half, big.NewFloat(2))
	square := new(big.Float).SetPrec(2*exactPrecision).Mul(half, half)
	square.SetPrec(3*exactPrecision).Mul(square, whole)
	side := new(big.Float).SetPrec(2*exactPrecision).Mul(xy, xy).Cmp(square)
	if side > 0 || side == 0 && math.Float64bits(below)&1 != 0 {
		below = above
	}
	return float64(sign) * below
}
