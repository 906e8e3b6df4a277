//go:build (!amd64 && !arm64) || noasm

package simd

func detect() Level { return Generic }

func detectFamily() Family { return Common }

func (t *Tile) run() { t.runGeneric() }

// FMAPeak runs about n multiply-adds on registers alone and returns how many it
// ran. It returns 0 where there is no vector unit to measure.
func FMAPeak(n int) int { return 0 }

func transpose8(dst *float32, dstStep int, src *float32, srcStep, n int) {
	panic("simd: no vector unit")
}

func (d *Depthwise) run() bool { return false }

func (d *Depthwise) runWeights() bool { return false }

const noVectors = "simd: no vector unit"

func winoFilter(n, tap, to int, src, dst *float32) { panic(noVectors) }

func winoInput(n, c, row, pad, to int, src, dst *float32) { panic(noVectors) }

func winoGradient(n, c, row, pad, to int, src, dst *float32) { panic(noVectors) }

func winoOutput(n, c, from, row int, src, dst *float32) { panic(noVectors) }
