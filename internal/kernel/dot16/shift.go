package dot16

// Shift sets dst[i] to (x[i] - m[i]) f, computed in float64 and rounded at the end, with
// the same bits on every machine. dst and m must be at least as long as x.
func Shift(dst, x []float32, m []float64, f float64) {
	n := len(x) &^ 15
	dst, m = dst[:len(x)], m[:len(x)]
	if n > 0 {
		shift(dst[:n], x[:n], m[:n], f)
	}
	shiftGeneric(dst[n:], x[n:], m[n:], f)
}

func shiftGeneric(dst, x []float32, m []float64, f float64) {
	for i, v := range x {
		dst[i] = float32((float64(v) - m[i]) * f)
	}
}

// SquareAbout returns the sum of (x[i] - m[i])^2 in float64, with the same bits on every
// machine. m must be at least as long as x.
func SquareAbout(x []float32, m []float64) float64 {
	var sum [16]float64
	n := len(x) &^ 15
	m = m[:len(x)]
	if n > 0 {
		squareAbout(x[:n], m[:n], &sum)
	}
	squareAboutGeneric(x[n:], m[n:], &sum)
	return sumLanes(&sum)
}

// squareAboutGeneric keeps compilers from fusing by a conversion.
func squareAboutGeneric(x []float32, m []float64, sum *[16]float64) {
	for i, v := range x {
		d := float64(v) - m[i]
		sum[i%16] += float64(d * d)
	}
}
