package attention

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// definition is Forward and Backward by loops over single values, in float64.
func definition(s *Shape, qkv, dout []float32) (out, logs, dqkv []float64) {
	nq, no, nl := s.Len()
	out, logs, dqkv = make([]float64, no), make([]float64, nl), make([]float64, nq)
	width := s.Heads * s.Dim
	scale := 1 / math.Sqrt(float64(s.Dim))
	for n := range s.N {
		for h := range s.Heads {
			at := func(which, token, d int) int { return (n*s.T+token)*3*width + which*width + h*s.Dim + d }
			to := func(token, d int) int { return (n*s.T+token)*width + h*s.Dim + d }
			for i := range s.T {
				p, most := make([]float64, s.T), math.Inf(-1)
				for j := range p {
					if s.Causal && j > i {
						p[j] = math.Inf(-1)
						continue
					}
					for d := range s.Dim {
						p[j] += float64(qkv[at(0, i, d)]) * float64(qkv[at(1, j, d)]) * scale
					}
					most = max(most, p[j])
				}
				var sum float64
				for j := range p {
					p[j] = math.Exp(p[j] - most)
					sum += p[j]
				}
				logs[(n*s.Heads+h)*s.T+i] = most + math.Log(sum)
				var dot float64
				dp := make([]float64, s.T)
				for j := range p {
					p[j] /= sum
					for d := range s.Dim {
						out[to(i, d)] += p[j] * float64(qkv[at(2, j, d)])
						dp[j] += float64(dout[to(i, d)]) * float64(qkv[at(2, j, d)])
						dqkv[at(2, j, d)] += p[j] * float64(dout[to(i, d)])
					}
					dot += p[j] * dp[j]
				}
				for j := range p {
					ds := p[j] * (dp[j] - dot) * scale
					for d := range s.Dim {
						dqkv[at(0, i, d)] += ds * float64(qkv[at(1, j, d)])
						dqkv[at(1, j, d)] += ds * float64(qkv[at(0, i, d)])
					}
				}
			}
		}
	}
	return out, logs, dqkv
}

// guarded returns n normal values among others that must not change.
func guarded(rnd *rand.Rand, n int) (v []float32, intact func() bool) {
	all := make([]float32, n+64)
	for i := range all {
		all[i] = float32(rnd.NormFloat64())
	}
	old := append([]float32(nil), all...)
	return all[32 : 32+n : 32+n], func() bool {
		for i, v := range all {
			if (i < 32 || i >= 32+n) && v != old[i] {
				return false
			}
		}
		return true
	}
}

func eachLevel(t *testing.T, f func(t *testing.T)) {
	for l := simd.Generic; l <= simd.AVX512; l++ {
		restore := simd.Force(l)
		if simd.Active() == l {
			t.Run(l.String(), f)
		}
		restore()
	}
}

func check(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	for i, w := range want {
		if d := math.Abs(float64(got[i]) - w); !(d <= 1e-4*(1+math.Abs(w))) {
			t.Fatalf("%s: element %d is %g, want %g", what, i, got[i], w)
		}
	}
}

// shapes of attention, each causal and not.
func shapes() (list []Shape) {
	for _, s := range [][4]int{
		{1, 1, 1, 1}, {2, 1, 3, 4}, {1, 2, 1, 3}, {2, 5, 2, 8}, {1, 17, 3, 33}, {3, 33, 2, 16}, {1, 50, 1, 64},
		{2, 13, 12, 5}, {1, 197, 2, 64}, {1, 31, 1, 100}, {1, 300, 1, 7}, {1, 500, 1, 20}, {0, 4, 2, 4},
	} {
		for _, causal := range []bool{false, true} {
			list = append(list, Shape{s[0], s[1], s[2], s[3], causal})
		}
	}
	return list
}

func TestAttention(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(31, 31))
		ws := &Workspace{}
		for _, s := range shapes() {
			nq, no, nl := s.Len()
			qkv, okIn := guarded(rnd, nq)
			for i := range qkv {
				qkv[i] *= 2 // some probabilities near 1
			}
			out, okOut := guarded(rnd, no)
			logs, okLogs := guarded(rnd, nl)
			dout, okGrad := guarded(rnd, no)
			dqkv, okBack := guarded(rnd, nq)
			wantOut, wantLogs, wantGrad := definition(&s, qkv, dout)
			Forward(ws, &s, qkv, out, logs)
			name := fmt.Sprintf("%+v", s)
			check(t, name+": output", out, wantOut)
			check(t, name+": logarithms", logs, wantLogs)
			Backward(ws, &s, qkv, out, logs, dout, dqkv)
			check(t, name+": gradient", dqkv, wantGrad)
			again := make([]float32, no)
			Forward(ws, &s, qkv, again, nil)
			check(t, name+": output without logarithms", again, wantOut)
			if !okIn() || !okOut() || !okLogs() || !okGrad() || !okBack() {
				t.Fatalf("%s: wrote outside", name)
			}
		}
	})
}

func TestSameBitsOnAnyNumberOfCores(t *testing.T) {
	s := &Shape{N: 3, T: 290, Heads: 3, Dim: 24}
	nq, no, nl := s.Len()
	rnd := rand.New(rand.NewPCG(32, 32))
	qkv, _ := guarded(rnd, nq)
	dout, _ := guarded(rnd, no)
	var first []float32
	for _, procs := range []int{1, 2, 5} {
		old := runtime.GOMAXPROCS(procs)
		ws := &Workspace{}
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

// TestMemoryIsLinear: the buffers of one head grow as its tokens do.
func TestMemoryIsLinear(t *testing.T) {
	of := func(tokens int) int {
		ws := &Workspace{}
		s := &Shape{N: 1, T: tokens, Heads: 1, Dim: 16}
		nq, no, _ := s.Len()
		ws.prepare(s, make([]float32, nq), make([]float32, no), nil)
		k := &ws.task
		return 2*k.rowsLen() + 3*k.panelsLen() + 2*k.tokensLen() + 2*k.scoresLen()
	}
	if small, large := of(2000), of(16000); large > 9*small {
		t.Errorf("%d values for 2,000 tokens, %d for 16,000", small, large)
	}
}

func TestNoAllocation(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := &Shape{N: 2, T: 40, Heads: 2, Dim: 16}
	nq, no, nl := s.Len()
	ws := &Workspace{}
	qkv, out, logs, dqkv := make([]float32, nq), make([]float32, no), make([]float32, nl), make([]float32, nq)
	if n := testing.AllocsPerRun(10, func() {
		Forward(ws, s, qkv, out, logs)
		Backward(ws, s, qkv, out, logs, out, dqkv)
	}); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

// TestNotFinite: one NaN among the keys reaches every query's output.
func TestNotFinite(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		s := &Shape{N: 1, T: 20, Heads: 1, Dim: 16}
		nq, no, _ := s.Len()
		qkv, out := make([]float32, nq), make([]float32, no)
		qkv[7*48+16] = float32(math.NaN())
		Forward(&Workspace{}, s, qkv, out, nil)
		for i, v := range out {
			if v == v {
				t.Fatalf("output %d is %g", i, v)
			}
		}
	})
}

func TestMismatchPanics(t *testing.T) {
	s := &Shape{N: 1, T: 2, Heads: 1, Dim: 2}
	for i, f := range []func(){
		func() { Forward(&Workspace{}, s, make([]float32, 11), make([]float32, 4), nil) },
		func() { Forward(&Workspace{}, s, make([]float32, 12), make([]float32, 4), make([]float32, 3)) },
		func() {
			out := make([]float32, 4)
			Backward(&Workspace{}, s, make([]float32, 12), out, nil, out, make([]float32, 12))
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("case %d: no panic", i)
				}
			}()
			f()
		}()
	}
}

func BenchmarkAttention(b *testing.B) {
	s := &Shape{N: 16, T: 197, Heads: 6, Dim: 64}
	nq, no, nl := s.Len()
	rnd := rand.New(rand.NewPCG(33, 33))
	qkv, _ := guarded(rnd, nq)
	out, logs, dqkv := make([]float32, no), make([]float32, nl), make([]float32, nq)
	ws := &Workspace{}
	products := float64(2*s.N*s.Heads*s.T*s.T*s.Dim) * 2
	b.Run("forward", func(b *testing.B) {
		for b.Loop() {
			Forward(ws, s, qkv, out, logs)
		}
		b.ReportMetric(products*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
	})
	b.Run("backward", func(b *testing.B) {
		for b.Loop() {
			Backward(ws, s, qkv, out, logs, out, dqkv)
		}
		b.ReportMetric(2.5*products*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
	})
}
