package loss

import (
	"math"
	"math/rand/v2"
	"testing"
)

// softmaxByDefinition is log(one + sum of exp(z)) and its derivatives, in the plainest form
// that does not overflow.
func softmaxByDefinition(z []float64, one bool) (float64, []float64) {
	top := math.Inf(-1)
	if one {
		top = 0
	}
	for _, x := range z {
		top = math.Max(top, x)
	}
	var sum float64
	if one {
		sum = math.Exp(-top)
	}
	for _, x := range z {
		sum += math.Exp(x - top)
	}
	w := make([]float64, len(z))
	for k, x := range z {
		w[k] = math.Exp(x-top) / sum
	}
	return top + math.Log(sum), w
}

func TestSoftmax(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for trial := range 400 {
		n := 1 + rng.IntN(70)
		a := (rng.Float64() - 0.5) * math.Pow(10, float64(trial%7)-2)
		b := rng.NormFloat64()
		x, z := make([]float32, n), make([]float64, n)
		for k := range x {
			x[k] = float32(rng.NormFloat64())
			z[k] = a * (float64(x[k]) - b)
		}
		one := trial%2 == 0
		want, weights := softmaxByDefinition(z, one)
		got := softmax(z, one)
		if math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
			t.Fatalf("softmax %v, want %v", got, want)
		}
		w := make([]float32, n)
		if got := linearSoftmax(w, x, a, b, one); math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
			t.Fatalf("linear softmax with slope %v: %v, want %v", a, got, want)
		}
		for k, v := range weights {
			if math.Abs(z[k]-v) > 1e-12 || math.Abs(float64(w[k])-v) > 1e-4*v+1e-9 {
				t.Fatalf("slope %v: weight %d is %v and %v, want %v", a, k, z[k], w[k], v)
			}
		}
	}
}

func TestSoftmaxOfNothing(t *testing.T) {
	if v := softmax(nil, false); !math.IsInf(v, -1) {
		t.Errorf("log of an empty sum is %v", v)
	}
	if softmax(nil, true) != 0 || linearSoftmax(nil, nil, 1, 0, true) != 0 ||
		!math.IsInf(linearSoftmax(nil, nil, 1, 0, false), -1) {
		t.Error("an empty sum")
	}
}

func TestSoftplusDoesNotOverflow(t *testing.T) {
	for _, x := range []float64{-1e300, -800, -1, 0, 1, 88.8, 800, 1e300} {
		v, slope := softplus(x)
		want := math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
		if math.Abs(v-want) > 1e-12*want || slope < 0 || slope > 1 || math.IsNaN(slope) {
			t.Errorf("softplus(%v) = %v, slope %v; want %v", x, v, slope, want)
		}
	}
}
