package eval

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// exactDistance is a distance of two rows in 400 bits.
func exactDistance(x, y []float32, d Distance) *big.Float {
	var xx, yy, xy = bigFloat(0), bigFloat(0), bigFloat(0)
	for k, v := range x {
		a, b := bigFloat(float64(v)), bigFloat(float64(y[k]))
		xx.Add(xx, bigFloat(0).Mul(a, a))
		yy.Add(yy, bigFloat(0).Mul(b, b))
		xy.Add(xy, bigFloat(0).Mul(a, b))
	}
	switch d {
	case Dot:
		return xy.Neg(xy)
	case Cosine:
		return bigFloat(0).Sub(bigFloat(1), xy.Quo(xy, bigFloat(0).Sqrt(xx.Mul(xx, yy))))
	}
	square := bigFloat(0).Add(xx, yy)
	return square.Sqrt(square.Sub(square, xy.Add(xy, xy)))
}

func bigFloat(v float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(v) }

// exactDPrime is d' of all pairs with every sum in 400 bits.
func exactDPrime(s Set, d Distance) float64 {
	var n [2]float64
	sum, squares := [2]*big.Float{bigFloat(0), bigFloat(0)}, [2]*big.Float{bigFloat(0), bigFloat(0)}
	for i := range s.X.Rows {
		for j := range i {
			kind := 0
			if s.Labels[0][i] != s.Labels[0][j] {
				kind = 1
			}
			v := exactDistance(s.X.Row(i), s.X.Row(j), d)
			n[kind]++
			sum[kind].Add(sum[kind], v)
			squares[kind].Add(squares[kind], bigFloat(0).Mul(v, v))
		}
	}
	variance := bigFloat(0)
	for kind := range sum {
		mean := sum[kind].Quo(sum[kind], bigFloat(n[kind]))
		v := squares[kind].Quo(squares[kind], bigFloat(n[kind]))
		variance.Add(variance, v.Sub(v, bigFloat(0).Mul(mean, mean)))
	}
	apart, _ := bigFloat(0).Sub(sum[1], sum[0]).Float64()
	both, _ := variance.Float64()
	return apart / math.Sqrt(both/2)
}

// offsetSet draws rows of four classes that lie far from the origin together.
func offsetSet(by float32) Set {
	s := randomSet(rand.New(rand.NewPCG(41, 42)), 60, 5, 4, false)
	for i := range s.X.Data {
		s.X.Data[i] += by
	}
	return s
}

// Rows that lie far from the origin lose no d' to rounding, nor do its resamples.
func TestDPrimeFarFromTheOrigin(t *testing.T) {
	for _, by := range []float32{0, 100, 1e6} {
		s := offsetSet(by)
		for _, d := range []Distance{Euclidean, Cosine, Dot} {
			opt := CompareOptions{Distance: d}
			c, err := ComparePairs(context.Background(), s, nil, opt)
			if err != nil {
				t.Fatal(err)
			}
			want := exactDPrime(s, d)
			if got := c.DPrime(); !(math.Abs(got-want) <= 1e-5) {
				t.Errorf("%v, offset %g: d' is %v, want %v", d, by, got, want)
			}
			m := []Metric{{Kind: DPrime}}
			drawn, err := ResamplePairs(context.Background(), s, nil, c, m, Bootstrap{Resamples: 200, Seed: 1}, opt)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(drawn[0])
			if lo, hi := drawn[0][4], drawn[0][195]; !(lo < want && want < hi && hi-lo < 4) {
				t.Errorf("%v, offset %g: resamples from %v to %v about %v", d, by, lo, hi, want)
			}
		}
	}
}

// A threshold that is printed accepts what the threshold that was found accepts, by products
// that are all nearly the same too.
func TestThresholdsFarFromTheOrigin(t *testing.T) {
	s := offsetSet(1e6)
	c, err := ComparePairs(context.Background(), s, nil, CompareOptions{Distance: Dot})
	if err != nil {
		t.Fatal(err)
	}
	genuine, impostor := distances(s, nil, Dot)
	within := func(of []float64, threshold float64) (n int64) {
		for _, d := range of {
			if d <= threshold {
				n++
			}
		}
		return n
	}
	for _, r := range slices.Concat(c.Curve(200), []Rates{c.RatesAtFMR(0.01), c.RatesAtFMR(0.3)}) {
		g, i := within(genuine, r.Threshold), within(impostor, r.Threshold)
		if again := c.RatesAt(r.Threshold); again.FMR != r.FMR || again.FNMR != r.FNMR {
			t.Errorf("at %v: %+v, then %+v", r.Threshold, r, again)
		}
		if r.FMR != ratio(i, c.Impostor()) || r.FNMR != ratio(c.Genuine()-g, c.Genuine()) {
			t.Errorf("%+v, but %d impostor and %d genuine pairs are within", r, i, g)
		}
	}
}
