package simd

import (
	"math"
	"testing"
)

// actCase is an activation, its way back and their definition.
type actCase struct {
	name  string
	act   func(y, x []float32)
	grad  func(dx, dy, x []float32)
	value func(x float64) float64
	slope func(x float64) float64
}

func actCases() []actCase {
	gateOf := func(name string, a, b float64) actCase {
		sig := func(x float64) float64 { return 1 / (1 + math.Exp(-x*(a+b*x*x))) }
		return actCase{name,
			func(y, x []float32) { Gate(y, x, float32(a), float32(b)) },
			func(dx, dy, x []float32) { GateGrad(dx, dy, x, float32(a), float32(b)) },
			func(x float64) float64 { return x * sig(x) },
			func(x float64) float64 { return sig(x) + x*sig(x)*(1-sig(x))*(a+3*b*x*x) }}
	}
	tanh := 2 * math.Sqrt(2/math.Pi)
	return []actCase{
		gateOf("SiLU", 1, 0), gateOf("quick GELU", 1.702, 0), gateOf("GELU by tanh", tanh, 0.044715*tanh),
		{"GELU", GELU, GELUGrad,
			func(x float64) float64 { return x * (1 + math.Erf(x/math.Sqrt2)) / 2 },
			func(x float64) float64 {
				return (1+math.Erf(x/math.Sqrt2))/2 + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
			}},
		{"hard swish", HardSwish, HardSwishGrad,
			func(x float64) float64 { return x * min(max(x+3, 0), 6) / 6 },
			func(x float64) float64 {
				switch {
				case x <= -3:
					return 0
				case x >= 3:
					return 1
				}
				return x/3 + 0.5
			}},
	}
}

// TestActivations: values and slopes over the range in which they bend, the ends
// of float32's, and NaN.
func TestActivations(t *testing.T) {
	inf := float32(math.Inf(1))
	eachLevel(t, func(t *testing.T) {
		for _, c := range actCases() {
			x := []float32{-inf, -3e38, -1e4, -100, -3, 3, 1e-30, 0, 100, 1e4, 3e38, inf, float32(math.NaN())}
			ends := len(x)
			for i := range 1 << 15 {
				x = append(x, float32(i)/1000-16.384)
			}
			y, dy, dx := make([]float32, len(x)), make([]float32, len(x)), make([]float32, len(x))
			for i := range dy {
				dy[i] = 1 + float32(i%7)
			}
			c.act(y, x)
			c.grad(dx, dy, x)
			for i, v := range x {
				f, value, slope := float64(v), c.value(float64(v)), c.slope(float64(v))*float64(dy[i])
				if i < ends {
					switch {
					case v != v:
						value, slope = f, f
					case f > 50:
						value, slope = f, float64(dy[i])
					case f < -50:
						value, slope = 0, 0
					}
					if math.IsInf(f, 0) && (y[i] != y[i] || dx[i] != dx[i]) {
						continue // 0 times infinity, as the definition has it
					}
				}
				same := func(got, want float64) bool {
					return got == want || got != got && want != want ||
						math.Abs(got-want) <= 5e-7*float64(dy[i])*(1+math.Abs(f)) ||
						math.Abs(got-want) <= 1e-6*math.Abs(want)
				}
				if !same(float64(y[i]), value) {
					t.Fatalf("%s(%g) is %g, want %g", c.name, v, y[i], value)
				}
				if !same(float64(dx[i]), slope) {
					t.Fatalf("%s at %g: gradient %g, want %g", c.name, v, dx[i], slope)
				}
			}
		}
	})
}
