package nn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/netcases"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
)

// TestConvolutionsAreJoined sees to it that the cases meant for convolutions
// computed as one are, in training and in evaluation, and no others.
func TestConvolutionsAreJoined(t *testing.T) {
	for name, spec := range netcases.Layers() {
		net, err := nn.New(spec, nn.Options{Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		training, evaluation := net.Steps()
		for plan, steps := range map[string][]string{"training": training, "evaluation": evaluation} {
			if joined, want := slices.Contains(steps, "a+b"), strings.Contains(name, "conv conv"); joined != want {
				t.Errorf("%s, %s: convolutions joined: %v, want %v (steps %q)", name, plan, joined, want, steps)
			}
		}
	}
}

// TestGradients compares every parameter's gradient with central differences of
// a float64 objective.
func TestGradients(t *testing.T) {
	for name, spec := range netcases.Layers() {
		for _, opt := range []nn.Options{{Seed: 3}, {Seed: 3, FrozenNorm: true}} {
			t.Run(fmt.Sprintf("%s/frozen norm %v", name, opt.FrozenNorm), func(t *testing.T) {
				net, err := nn.New(spec, opt)
				if err != nil {
					t.Fatal(err)
				}
				checkGradients(t, net, 4)
			})
		}
	}
}

// checkGradients compares a network's gradients with finite differences.
//
// Long: all of them are of one loss at one point.
func checkGradients(t *testing.T, net *nn.Net, n int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 7))
	fill := func(x []float32) {
		for i := range x {
			x[i] = float32(rng.NormFloat64())
		}
	}
	x := make([]float32, n*net.Spec().Input.Len())
	fill(x)
	for _, p := range net.Params() {
		switch {
		case p.Buffer:
			for i := range p.Value {
				p.Value[i] = float32(0.5 + rng.Float64())
			}
		case len(p.Shape) == 1: // scale and shift away from 1 and 0
			for i := range p.Value {
				p.Value[i] += float32(0.3 * rng.NormFloat64())
			}
		}
		lo, hi := p.Zeros()
		clear(p.Value[lo:hi])
	}
	w := matrix.New(n, net.Dim())
	fill(w.Data)
	objective := func() float64 {
		net.SetStep(9) // the same dropout each time
		e := net.Forward(x, n)
		var sum float64
		for i, v := range e.Data {
			sum += float64(w.Data[i]) * float64(v) * (1 + 0.1*float64(v))
		}
		return sum
	}
	objective()
	net.SetStep(9)
	e := net.Forward(x, n)
	grad := matrix.New(n, net.Dim())
	for i, v := range e.Data {
		grad.Data[i] = w.Data[i] * (1 + 0.2*v)
	}
	net.Backward(grad)
	middle := objective()
	tested, kinks := 0, 0
	for _, p := range net.Params() {
		if p.Buffer {
			continue
		}
		scale := norm(p.Grad)/math.Sqrt(float64(len(p.Grad))) + 0.05
		analytic := append([]float32(nil), p.Grad...)
		for range min(len(p.Value), 6) {
			i := rng.IntN(len(p.Value))
			if lo, hi := p.Zeros(); i >= lo && i < hi {
				if analytic[i] != 0 {
					t.Errorf("d/d %s[%d]: %v, but it is always 0", p.Name, i, analytic[i])
				}
				continue
			}
			keep := p.Value[i]
			ok, smooth := false, false
			var numeric float64
			for _, h := range []float32{1e-2, 3e-3, 1e-3} {
				hi, lo := keep+h, keep-h
				p.Value[i] = hi
				up := objective()
				p.Value[i] = lo
				down := objective()
				p.Value[i] = keep
				numeric = (up - down) / float64(hi-lo)
				tol := 0.01 * (scale + math.Abs(numeric))
				ok = ok || math.Abs(numeric-float64(analytic[i])) < tol
				// Where the slopes on both sides differ there is a kink of an
				// activation or a pool between them, and no derivative to compare.
				smooth = smooth || math.Abs((up-middle)/float64(hi-keep)-(middle-down)/float64(keep-lo)) < tol
			}
			tested++
			switch {
			case ok:
			case smooth:
				t.Errorf("d/d %s[%d]: %v, differences give %v", p.Name, i, analytic[i], numeric)
			default:
				kinks++
			}
		}
	}
	if kinks > tested/4 {
		t.Errorf("%d of %d derivatives could not be compared", kinks, tested)
	}
}
