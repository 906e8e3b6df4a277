package operator

import (
	"math"

	"github.com/kindred-ml/kindred/internal/format/onnx"
)

// rounding returns what a conversion to a type does to values, which stay float32; nil if it keeps them.
func rounding(to onnx.DataType) func(y, x []float32) {
	switch to {
	case onnx.Float16:
		return Elementwise(roundFloat16)
	case onnx.BFloat16:
		return Elementwise(roundBFloat16)
	}
	return nil
}

// roundFloat16 rounds to the nearest value of IEEE 754 binary16, ties to even: infinite from 65,520 on.
func roundFloat16(x float32) float32 {
	const smallestNormal, subnormalStep, overflow = 1. / (1 << 14), 1. / (1 << 24), 65520
	switch a := math.Abs(float64(x)); {
	case x != x:
		return x
	case a >= overflow:
		return float32(math.Inf(int(math.Copysign(1, float64(x)))))
	case a < smallestNormal:
		return float32(math.RoundToEven(float64(x)/subnormalStep) * subnormalStep)
	}
	return roundBits(x, 13)
}

// roundBFloat16 rounds to the nearest value of bfloat16, ties to even.
func roundBFloat16(x float32) float32 {
	if x != x {
		return x
	}
	return roundBits(x, 16)
}

// roundBits rounds off the lowest n bits. An overflow becomes infinite.
func roundBits(x float32, n int) float32 {
	b := math.Float32bits(x)
	b += 1<<(n-1) - 1 + b>>n&1
	return math.Float32frombits(b >> n << n)
}
