//go:build !noasm

package dot16

func shift(dst, x []float32, m []float64, f float64) {
	if IsFast() {
		shiftAVX512(&dst[0], &x[0], &m[0], f, len(x)/16)
		return
	}
	shiftGeneric(dst, x, m, f)
}

func squareAbout(x []float32, m []float64, sum *[16]float64) {
	if IsFast() {
		squareAboutAVX512(&x[0], &m[0], len(x)/16, sum)
		return
	}
	squareAboutGeneric(x, m, sum)
}

func keys(dst []float32, stride int, rows []float64, cols []float32, d int, space *KeySpace) {
	if IsFast() {
		keysAVX512(&dst[0], 4*stride, &rows[0], &cols[0], d, &space.Factor[0], &space.Less[0], &space.Lo[0],
			&space.Scale[0], len(space.Factor)/KeyColumns)
		return
	}
	keysGeneric(dst, stride, rows, cols, d, space)
}
