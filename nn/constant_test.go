package nn

import (
	"math"
	"testing"
)

// Filters that are kept give the bits of those that are made anew, and are dropped when the
// parameters may have changed.
func TestConstant(t *testing.T) {
	spec := &Spec{Name: "t", Input: Shape{H: 20, W: 20, C: 32}, Layers: []Layer{
		{Kind: Conv, Name: "a", Out: 48, Kernel: 3, Pad: 1}, {Kind: BatchNorm, Name: "n"}, {Kind: ReLU},
		{Kind: Conv, Name: "b", Out: 64, Kernel: 1}, {Kind: ReLU},
		{Kind: Conv, Name: "c", Groups: -1, Out: 64, Kernel: 3, Pad: 1}, {Kind: Conv, Name: "d", Out: 32, Kernel: 1},
		{Kind: GlobalAvgPool}, {Kind: Dense, Name: "e", Out: 8},
	}}
	for _, precision := range []Precision{Float32, BFloat16} {
		net, err := New(spec, Options{Seed: 1, Precision: precision})
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, 5*spec.Input.Len())
		for i := range x {
			x[i] = float32(i%97)/97 - 0.3
		}
		infer := func() []float32 { return append([]float32(nil), net.Infer(x, 5).Data...) }
		same := func(what string, got, want []float32) {
			t.Helper()
			for i := range want {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("%s, %s: value %d is %g, want %g", precision, what, i, got[i], want[i])
				}
			}
		}
		want := infer()
		net.SetConstant(true)
		same("kept", infer(), want)
		for _, p := range net.Params() {
			for i := range p.Value {
				p.Value[i] *= 1.25
			}
		}
		net.SetConstant(false)
		want = infer()
		net.SetConstant(true)
		same("kept again", infer(), want)
		state := net.State()
		net.Forward(x, 5)
		for _, p := range net.Params() {
			for i := range p.Value {
				p.Value[i] *= 0.75
			}
		}
		got := infer()
		net.SetConstant(false)
		same("after Forward", got, infer())
		net.SetConstant(true)
		infer()
		if err := net.SetState(state); err != nil {
			t.Fatal(err)
		}
		same("after weights", infer(), want)
	}
}
