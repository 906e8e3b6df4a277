package dot8

import "fmt"

// SquaredDistance returns the sum of (x[i] - y[i])^2 in float32, in any order: within
// DistanceError(len(x)) of the sum itself, if that is no smaller than 1e-30. y must be at
// least as long as x. Bits depend on the machine.
func SquaredDistance(x, y []float32) float32 {
	n := len(x) &^ 31
	y = y[:len(x)]
	var sum float32
	if n > 0 {
		sum = squaredDistance(x[:n], y[:n])
	}
	if n < len(x) {
		sum += squaredDistanceGeneric(x[n:], y[n:])
	}
	return sum
}

// SquaredDistances sets dst[k] to the SquaredDistance of x and row at[k] of y, whose rows
// of len(x) values begin stride values apart. dst must be at least as long as at. It panics
// if y has no such row.
func SquaredDistances(dst, x, y []float32, stride int, at []int32) {
	dst = dst[:len(at)]
	low, high := int32(0), int32(0)
	for _, r := range at {
		low, high = min(low, r), max(high, r)
	}
	if len(at) > 0 && (low < 0 || stride < 0 || int(high)*stride+len(x) > len(y)) {
		panic(fmt.Sprintf("dot8: rows %d to %d of %d values, %d apart, in %d", low, high, len(x), stride, len(y)))
	}
	if len(at) > 0 && len(x) > 0 && len(x)%32 == 0 && squaredDistances(dst, x, y, stride, at) {
		return
	}
	for k, r := range at {
		dst[k] = SquaredDistance(x, y[int(r)*stride:])
	}
}

// squaredDistanceGeneric adds in eight lanes, which shortens the chain that each sum
// waits for.
func squaredDistanceGeneric(x, y []float32) float32 {
	var sums [8]float32
	for i, v := range x {
		e := v - y[i]
		sums[i%8] += e * e
	}
	return sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7]
}

// Error is the relative error of a sum of d products in float32, added in any order: of
// their magnitudes where they have signs.
func Error(d int) float64 { return 0x1p-23 * float64(d+8) }

// DistanceError is the relative error of SquaredDistance on any machine: a term goes
// through three roundings, four additions in its lane for every 32 coordinates (the fifth
// is for products of errors), and ten at most of lanes and of what is left over.
func DistanceError(d int) float64 { return 0x1p-24 * (float64(d)*5/32 + 16) }
