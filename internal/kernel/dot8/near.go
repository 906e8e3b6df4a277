package dot8

// SquaredDistance returns the sum of (x[i] - y[i])^2 in float32, in any order: within
// Error(len(x)) of the sum itself, if that is no smaller than 1e-30. y must be at least
// as long as x. Bits depend on the machine.
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
