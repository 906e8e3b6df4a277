package attention

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/kindred-ml/kindred/internal/kernel/bf16"
)

// distance is the norm of got - want over that of want.
func distance(got []float32, want []float64) float64 {
	var d, size float64
	for i, w := range want {
		d += (float64(got[i]) - w) * (float64(got[i]) - w)
		size += w * w
	}
	return math.Sqrt(d / max(size, 1e-6))
}

func TestHalf(t *testing.T) {
	for l := bf16.Generic; l <= bf16.AMX; l++ {
		t.Run(l.String(), func(t *testing.T) {
			defer bf16.Force(l)()
			if bf16.Active() != l {
				t.Skipf("the machine has no %v", l)
			}
			rnd := rand.New(rand.NewPCG(41, 41))
			ws := &Workspace{BFloat16: true}
			for _, s := range shapes() {
				nq, no, nl := s.Len()
				qkv, okIn := guarded(rnd, nq)
				out, okOut := guarded(rnd, no)
				logs, okLogs := guarded(rnd, nl)
				dout, okGrad := guarded(rnd, no)
				dqkv, okBack := guarded(rnd, nq)
				wantOut, wantLogs, wantGrad := definition(&s, qkv, dout)
				Forward(ws, &s, qkv, out, logs)
				Backward(ws, &s, qkv, out, logs, dout, dqkv)
				if a, b, c := distance(out, wantOut), distance(logs, wantLogs), distance(dqkv, wantGrad); !(a < 0.01 &&
					b < 0.01 && c < 0.02) {
					t.Errorf("%+v: output differs by %.3g, logarithms by %.3g, gradient by %.3g", s, a, b, c)
				}
				if !okIn() || !okOut() || !okLogs() || !okGrad() || !okBack() {
					t.Fatalf("%+v: wrote outside", s)
				}
			}
		})
	}
}

func TestHalfSameBitsOnAnyNumberOfCores(t *testing.T) {
	s := &Shape{N: 3, T: 290, Heads: 3, Dim: 24}
	nq, no, nl := s.Len()
	rnd := rand.New(rand.NewPCG(42, 42))
	qkv, _ := guarded(rnd, nq)
	dout, _ := guarded(rnd, no)
	var first []float32
	for _, procs := range []int{1, 2, 5} {
		old := runtime.GOMAXPROCS(procs)
		ws := &Workspace{BFloat16: true}
		out, logs, dqkv := make([]float32, no), make([]float32, nl), make([]float32, nq)
		Forward(ws, s, qkv, out, logs)
		Backward(ws, s, qkv, out, logs, dout, dqkv)
		runtime.GOMAXPROCS(old)
		all := append(append(out, logs...), dqkv...)
		if first == nil {
			first = all
		}
		for i, v := range all {
			if math.Float32bits(v) != math.Float32bits(first[i]) {
				t.Fatalf("GOMAXPROCS %d: value %d is %g, with 1 %g", procs, i, v, first[i])
			}
		}
	}
}

func TestHalfNoAllocation(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := &Shape{N: 2, T: 40, Heads: 2, Dim: 16}
	nq, no, nl := s.Len()
	ws := &Workspace{BFloat16: true}
	qkv, out, logs, dqkv := make([]float32, nq), make([]float32, no), make([]float32, nl), make([]float32, nq)
	if n := testing.AllocsPerRun(10, func() {
		Forward(ws, s, qkv, out, logs)
		Backward(ws, s, qkv, out, logs, out, dqkv)
	}); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

func BenchmarkHalf(b *testing.B) {
	s := &Shape{N: 16, T: 197, Heads: 6, Dim: 64}
	nq, no, nl := s.Len()
	rnd := rand.New(rand.NewPCG(33, 33))
	qkv, _ := guarded(rnd, nq)
	out, logs, dqkv := make([]float32, no), make([]float32, nl), make([]float32, nq)
	ws := &Workspace{BFloat16: true}
	b.Run("forward", func(b *testing.B) {
		for b.Loop() {
			Forward(ws, s, qkv, out, logs)
		}
	})
	b.Run("backward", func(b *testing.B) {
		for b.Loop() {
			Backward(ws, s, qkv, out, logs, out, dqkv)
		}
	})
}
