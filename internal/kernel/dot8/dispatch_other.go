//go:build (!amd64 && !arm64) || noasm

package dot8

// IsFast reports whether the machine has the instructions that make this package worth
// using.
func IsFast() bool { return false }

func strip(c []int32, a []int8, bias []int32, b []uint8, steps, panels int) {
	stripGeneric(c, a, bias, b, steps, panels)
}

func place(w, x, m []float32, f float32, sums *[48]float32) { placeGeneric(w, x, m, f, sums) }

func quantize(q []int8, w []float32, s, unit float32, lost *[16]float32, sum *[16]int32) {
	quantizeGeneric(q, w, s, unit, lost, sum)
}

func squaredDistance(x, y []float32) float32 { return squaredDistanceGeneric(x, y) }

func squaredDistances(dst, x, y []float32, stride int, at []int32) bool { return false }
