package dot8

// SquaredDistance returns the sum of (x[i] - y[i])^2 in float32, in any order: within
// Error(len(x)) of the sum itself, if that is no smaller than 1e-30. y must be at least
// as long as x. Bits depend on the machine.
func SquaredDistance(x, y []float32) float32 {
	var sums [32]float32
	n := len(x) &^ 31
	y = y[:len(x)]
	if n > 0 {
		squaredDistance(x[:n], y[:n], &sums)
	}
	squaredDistanceGeneric(x[n:], y[n:], &sums)
	for i := range 16 {
		sums[i] += sums[i+16]
	}
	return total(sums[:16])
}

func squaredDistanceGeneric(x, y []float32, sums *[32]float32) {
	for i, v := range x {
		e := v - y[i]
		sums[i%32] += e * e
	}
}

// Error is the relative error of a sum of d products in float32, added in any order: of
// their magnitudes where they have signs.
func Error(d int) float64 { return 0x1p-23 * float64(d+8) }
