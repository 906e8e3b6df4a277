//go:build (!amd64 && !arm64) || noasm

package dot16

// IsFast reports whether the machine has the instructions that make this package
// worth using.
func IsFast() bool { return false }

func strip(c []int32, a, b []int16, pairs, panels int) { stripGeneric(c, a, b, pairs, panels) }

func filter(v []float32, mask []uint32, c []int32, row Row, cols *Columns) {
	filterGeneric(v, mask, c, row, cols)
}

func best(v []float32, c []int32, rowScale float32, cols *Columns, base int32, top *Top) {
	bestGeneric(v, c, rowScale, cols, base, top)
}

func squaredDistance(x, y []float32, sum *[16]float64) { squaredDistanceGeneric(x, y, sum) }

func dot(x, y []float32, sum *[16]float64) { dotGeneric(x, y, sum) }

func accumulate(sum []float64, x []float32) { accumulateGeneric(sum, x) }
