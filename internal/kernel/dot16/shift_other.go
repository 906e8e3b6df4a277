//go:build !amd64 || noasm

package dot16

func shift(dst, x []float32, m []float64, f float64) { shiftGeneric(dst, x, m, f) }

func squareAbout(x []float32, m []float64, sum *[16]float64) { squareAboutGeneric(x, m, sum) }

func keys(dst []float32, stride int, rows []float64, cols []float32, d int, space *KeySpace) {
	keysGeneric(dst, stride, rows, cols, d, space)
}
