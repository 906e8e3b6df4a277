package onnxnet

import (
	"math"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/nn"
)

// An activation is told by its values to five digits at points from -12 to 12 and beyond, each
// of which counts.
func TestActivationsByTheirValues(t *testing.T) {
	x := samples().Floats
	if len(x) != 103 || slices.Min(x) != -100 || slices.Max(x) != 100 || !slices.Contains(x, 12) ||
		!slices.Contains(x, -11.75) {
		t.Errorf("points %g", x)
	}
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	hard := func(v float64) float64 { return math.Max(0, math.Min(1, v/6+0.5)) }
	for kind, f := range map[nn.Kind]func(v float64) float64{
		"":             func(v float64) float64 { return v },
		nn.ReLU:        func(v float64) float64 { return math.Max(v, 0) },
		nn.ReLU6:       func(v float64) float64 { return math.Min(math.Max(v, 0), 6) },
		nn.SiLU:        func(v float64) float64 { return v * sigmoid(v) },
		nn.Sigmoid:     sigmoid,
		nn.HardSigmoid: hard,
		nn.HardSwish:   func(v float64) float64 { return v * hard(v) },
		nn.GELU:        func(v float64) float64 { return v / 2 * math.Erfc(-v/math.Sqrt2) },
		nn.GELUTanh: func(v float64) float64 {
			return v / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
		},
		nn.QuickGELU: func(v float64) float64 { return v * sigmoid(1.702*v) },
	} {
		y := make([]float32, len(x))
		for i, v := range x {
			y[i] = float32(f(float64(v)))
		}
		if got, ok := activationOf(x, y); !ok || got != kind {
			t.Errorf("%q is told to be %q, %v", kind, got, ok)
		}
		for i, v := range x {
			was, slack := y[i], 1+math.Abs(float64(v))
			for _, by := range []float64{0.9e-5, -0.9e-5, 1.5e-5, -1.5e-5} {
				y[i] = float32(float64(was) + by*slack)
				if got, ok := activationOf(x, y); ok != (math.Abs(by) < 1e-5) || ok && got != kind {
					t.Errorf("%q with a value at %g that is off by %g: %q, %v", kind, v, by*slack, got, ok)
				}
			}
			y[i] = was
		}
		y[0] = float32(math.NaN())
		if got, ok := activationOf(x, y); ok {
			t.Errorf("%q without a value at one point is told to be %q", kind, got)
		}
	}
}

// Only the power of what depends on the image to a known number is one.
func TestExponent(t *testing.T) {
	image, two := &value{}, &value{known: reals(2)}
	for want, in := range map[float64][][]*value{2: {{image, two}},
		0: {{two, two}, {image, image}, {image}, {image, two, two}, {nil, two}, {image, nil},
			{image, {known: reals(2, 2)}}}} {
		for _, list := range in {
			n := nodeOf("Pow")
			n.in = list
			if got, ok := exponent(n); got != want || ok != (want > 0) {
				t.Errorf("of %d inputs: %g, %v, want %g", len(list), got, ok, want)
			}
		}
	}
	n := nodeOf("Mul")
	n.in = []*value{image, two}
	if _, ok := exponent(n); ok {
		t.Error("a product is a power")
	}
}
