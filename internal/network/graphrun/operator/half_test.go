package operator

import (
	"math"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// half returns the value of a number of the given exponent and mantissa bits (IEEE 754), without the sign.
func half(h uint32, exponent, mantissa int) float64 {
	e, m := int(h>>mantissa), float64(h&(1<<mantissa-1))/float64(int(1)<<mantissa)
	bias := 1<<(exponent-1) - 1
	switch {
	case e == 1<<exponent-1 && m == 0:
		return math.Inf(1)
	case e == 0:
		return math.Ldexp(m, 1-bias)
	}
	return math.Ldexp(1+m, e-bias)
}

// Every value stays, what lies between two goes to the nearer one, and a tie to the even one.
func TestRoundsToHalves(t *testing.T) {
	for _, c := range []struct {
		name               string
		round              func(float32) float32
		exponent, mantissa int
	}{{"float16", roundFloat16, 5, 10}, {"bfloat16", roundBFloat16, 8, 7}} {
		infinity := uint32(1<<c.exponent-1) << c.mantissa
		for h := range infinity {
			a, b := half(h, c.exponent, c.mantissa), half(h+1, c.exponent, c.mantissa)
			if h+1 == infinity { // rounds as if the exponents went on
				b = 2*a - half(h-1, c.exponent, c.mantissa)
			}
			even := a
			if h&1 == 1 {
				even = b
			}
			mid := float32((a + b) / 2)
			for _, v := range []struct{ x, want float64 }{{a, a}, {float64(mid), even},
				{float64(math.Nextafter32(mid, 0)), a}, {float64(math.Nextafter32(mid, math.MaxFloat32)), b}} {
				want := float32(v.want)
				if v.want == b && h+1 == infinity {
					want = float32(math.Inf(1))
				}
				if got := c.round(float32(v.x)); got != want {
					t.Fatalf("%s: %v becomes %v, want %v", c.name, v.x, got, want)
				}
				if got := c.round(-float32(v.x)); got != -want {
					t.Fatalf("%s: %v becomes %v, want %v", c.name, -v.x, got, -want)
				}
			}
		}
		if x := c.round(float32(math.NaN())); x == x {
			t.Errorf("%s: NaN becomes %v", c.name, x)
		}
		for _, sign := range []int{1, -1} {
			if x := c.round(float32(math.Inf(sign))); !math.IsInf(float64(x), sign) {
				t.Errorf("%s: an infinity becomes %v", c.name, x)
			}
		}
	}
}

// Cast rounds to the type, and leaves its input as it is.
func TestCastRounds(t *testing.T) {
	x := tensor.Floats([]int{4}, []float32{70000, 1.0001, -65519, 1e-8})
	for _, c := range []struct {
		to   onnx.DataType
		want []float32
	}{
		{onnx.Float16, []float32{float32(math.Inf(1)), 1, -65504, 0}},
		{onnx.BFloat16, []float32{70144, 1, -65536, 1.0011717677116394e-08}},
		{onnx.Float32, x.Floats},
	} {
		n := onnx.Node{Op: "Cast", Inputs: []string{"x"}, Outputs: []string{"y"},
			Attrs: []onnx.Attr{{Name: "to", Type: onnx.AttrInt, Int: int64(c.to)}}}
		out, err := Eval(&n, 17, []*tensor.Tensor{x})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range out[0].Floats {
			if v != c.want[i] {
				t.Errorf("%s: %v becomes %v, want %v", c.to, x.Floats[i], v, c.want[i])
			}
		}
	}
}
