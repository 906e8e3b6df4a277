//go:build (!amd64 && !arm64) || noasm

package scan

func width() int { return 0 }

func hasWide() bool { return false }

func maxBelow(x []float32, limit float32, val *[16]float32, idx *[16]int32) { panic(noVector) }

func between(x []float32, lo, hi float32, dst []int32) int { panic(noVector) }

func absAbove(x []float32, lo float32, dst []int32) int { panic(noVector) }

func expSum(dst, x []float32, a, b float32, sum *[16]float32) { panic(noVector) }

func absMax(x []float32, val *[16]float32) { panic(noVector) }

func absBelowSum(x []float32, most float32, sum *[16]float32) { panic(noVector) }

const noVector = "scan: no vector unit"
