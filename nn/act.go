package nn

import (
	"math"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// activation is what is applied to a layer's result.
type activation uint8

const (
	identity activation = iota
	relu
	relu6
	// Those from here on are not piecewise linear: their way back needs what went
	// in, where that of the others needs what came out.
	silu
	hardSwish
	sigmoid
	hardSigmoid
	gelu
	geluTanh
	quickGELU
)

// The sets of activations that steps absorb.
func (a activation) isReLU() bool  { return a == relu }
func (a activation) isClamp() bool { return a == relu || a == relu6 }
func (a activation) isSet() bool   { return a != identity }

// isCurved tells that the activation is not piecewise linear.
func (a activation) isCurved() bool { return a >= silu }

// bounds is a piecewise linear activation as the vector kernels take it, and no
// change for the others.
func (a activation) bounds() simd.Bounds {
	switch a {
	case relu:
		return simd.ReLU()
	case relu6:
		return simd.ReLU6()
	}
	return simd.Linear()
}

// The coefficients of simd.Gate.
const (
	quickScale = 1.702
	tanhScale  = 2 * 0.7978845608028654 // 2 sqrt(2/pi)
	tanhCube   = 0.044715 * tanhScale
)

// apply sets y to the activation of x; y may be x.
func (a activation) apply(y, x []float32) {
	switch a {
	case silu:
		simd.Gate(y, x, 1, 0)
	case quickGELU:
		simd.Gate(y, x, quickScale, 0)
	case geluTanh:
		simd.Gate(y, x, tanhScale, tanhCube)
	case gelu:
		simd.GELU(y, x)
	case hardSwish:
		simd.HardSwish(y, x)
	case sigmoid:
		for i, v := range x {
			y[i] = float32(1 / (1 + math.Exp(-float64(v))))
		}
	case hardSigmoid:
		for i, v := range x {
			y[i] = min(max(v/6+0.5, 0), 1)
		}
	default:
		simd.Clamp(y, x, a.bounds())
	}
}

// applyGrad sets dx to dy times the derivative of a curved activation at x; dx may be
// dy.
func (a activation) applyGrad(dx, dy, x []float32) {
	switch a {
	case silu:
		simd.GateGrad(dx, dy, x, 1, 0)
	case quickGELU:
		simd.GateGrad(dx, dy, x, quickScale, 0)
	case geluTanh:
		simd.GateGrad(dx, dy, x, tanhScale, tanhCube)
	case gelu:
		simd.GELUGrad(dx, dy, x)
	case hardSwish:
		simd.HardSwishGrad(dx, dy, x)
	case sigmoid:
		for i, v := range x {
			s := 1 / (1 + math.Exp(-float64(v)))
			dx[i] = dy[i] * float32(s*(1-s))
		}
	case hardSigmoid:
		for i, v := range x {
			g := dy[i] / 6
			if v <= -3 || v >= 3 {
				g = 0
			}
			dx[i] = g
		}
	}
}

// inPlace is apply as a convolution's epilogue takes it, nil for what that does
// by itself.
func (a activation) inPlace() func(y []float32) {
	switch a {
	case silu:
		return func(y []float32) { silu.apply(y, y) }
	case hardSwish:
		return func(y []float32) { hardSwish.apply(y, y) }
	case sigmoid:
		return func(y []float32) { sigmoid.apply(y, y) }
	case hardSigmoid:
		return func(y []float32) { hardSigmoid.apply(y, y) }
	case gelu:
		return func(y []float32) { gelu.apply(y, y) }
	case geluTanh:
		return func(y []float32) { geluTanh.apply(y, y) }
	case quickGELU:
		return func(y []float32) { quickGELU.apply(y, y) }
	}
	return nil
}
