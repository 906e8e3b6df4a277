package dot16

import "math"

// The kernel multiplies panels of RowPanel rows with panels of ColPanel rows
// (the columns of the product).
const (
	RowPanel = 14
	ColPanel = 32
)

// Pairs returns the number of pairs of coordinates that d coordinates are packed
// into.
func Pairs(d int) int { return (d + 1) / 2 }

// PackedLen returns the number of values that n rows of d coordinates take in
// panels of the given size; rows that fill up the last panel are zero.
func PackedLen(n, d, panel int) int {
	return (n + panel - 1) / panel * panel * 2 * Pairs(d)
}

// Quantize rounds x to dst = round(x * s) with a scale s that keeps every value in
// 16 bits and the length of dst below 2^15.5: by Cauchy and Schwarz no sum of
// products of two such rows leaves 32 bits. It returns unit = 1/s, so that x is
// about unit*dst, and loss, the length of x - unit*dst. For a row of zeros unit
// is 0. Equal rows give equal bits on every machine: the conversions keep compilers
// from fusing.
func Quantize(dst []int16, x []float64) (unit, loss float64) {
	var sum, largest float64
	for _, v := range x {
		sum += float64(v * v)
		largest = max(largest, math.Abs(v))
	}
	if largest == 0 {
		clear(dst)
		return 0, 0
	}
	// Rounding adds at most half a unit a coordinate to the length.
	limit := math.Sqrt(1<<31) - 1 - math.Sqrt(float64(len(x)))/2
	s := min(limit/math.Sqrt(sum), math.MaxInt16/largest)
	unit = 1 / s
	for i, v := range x {
		r := math.RoundToEven(v * s)
		dst[i] = int16(r)
		e := v - float64(r*unit)
		loss += float64(e * e)
	}
	return unit, math.Sqrt(loss)
}

// Pack copies row q into place r of panels of the given size that hold rows of
// len(q) coordinates.
func Pack(panels []int16, panel, r int, q []int16) {
	pairs := Pairs(len(q))
	at := (r/panel*pairs*panel + r%panel) * 2
	for len(q) >= 2 {
		panels[at], panels[at+1] = q[0], q[1]
		q = q[2:]
		at += 2 * panel
	}
	if len(q) == 1 {
		panels[at], panels[at+1] = q[0], 0
	}
}
