package lp

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

func row(b float64, v ...float64) Row {
	r := Row{B: b}
	for i, x := range v {
		if x != 0 {
			r.Idx, r.Val = append(r.Idx, i), append(r.Val, x)
		}
	}
	return r
}

func TestSolveKnown(t *testing.T) {
	// Maximise 3x + 2y with x + y <= 4, x + 3y <= 6, x <= 3: 11 at (3, 1).
	p := Problem{C: []float64{-3, -2}, Lo: []float64{0, 0}, Hi: []float64{3, 100},
		Rows: []Row{row(-4, -1, -1), row(-6, -1, -3)}}
	s, err := p.Solve(context.Background(), math.Inf(1))
	if err != nil || math.Abs(s.Value+11) > 1e-9 || math.Abs(s.X[0]-3) > 1e-9 || math.Abs(s.X[1]-1) > 1e-9 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := p.Solve(context.Background(), -11.5); !errors.Is(err, ErrCutoff) {
		t.Errorf("cutoff below the minimum: %v", err)
	}
	if s, err := p.Solve(context.Background(), -10.5); err != nil || math.Abs(s.Value+11) > 1e-9 {
		t.Errorf("cutoff above the minimum: %v", err)
	}
	p.Rows = append(p.Rows, row(5, 1, 1))
	if _, err := p.Solve(context.Background(), math.Inf(1)); !errors.Is(err, ErrInfeasible) {
		t.Errorf("infeasible: %v", err)
	}
}

// Random programs: the point is feasible, and the multipliers prove it optimal
// by weak duality.
func TestSolveIsOptimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	solved := 0
	for range 300 {
		m, k := 2+rng.IntN(12), rng.IntN(60)
		p := Problem{C: make([]float64, m), Lo: make([]float64, m), Hi: make([]float64, m)}
		inside := make([]float64, m) // makes most programs feasible
		for i := range m {
			if p.Lo[i], p.Hi[i] = -1, 2; rng.IntN(2) == 0 {
				p.C[i] = rng.NormFloat64()
			}
			inside[i] = rng.Float64()
		}
		for range k {
			v := make([]float64, m)
			at := 0.0
			for i := range v {
				if rng.IntN(3) == 0 {
					v[i] = float64(rng.IntN(5) - 2)
				}
				at += v[i] * inside[i]
			}
			p.Rows = append(p.Rows, row(math.Floor(at*4)/4, v...))
		}
		s, err := p.Solve(context.Background(), math.Inf(1))
		if err != nil {
			t.Fatalf("%v for %+v", err, p)
		}
		solved++
		slack := append([]float64(nil), p.C...)
		bound := 0.0
		for j, r := range p.Rows {
			v := -r.B
			for q, i := range r.Idx {
				v += r.Val[q] * s.X[i]
				slack[i] -= s.Y[j] * r.Val[q]
			}
			if v < -1e-8 || s.Y[j] < 0 {
				t.Fatalf("row %d off by %g, multiplier %g", j, v, s.Y[j])
			}
			bound += s.Y[j] * r.B
		}
		for i, c := range slack { // what is left is paid at the box
			if s.X[i] < p.Lo[i]-1e-8 || s.X[i] > p.Hi[i]+1e-8 {
				t.Fatalf("x[%d] = %g", i, s.X[i])
			}
			bound += min(c*p.Lo[i], c*p.Hi[i])
		}
		if math.Abs(bound-s.Value) > 1e-7 {
			t.Fatalf("value %.12g, bound %.12g", s.Value, bound)
		}
	}
	if solved == 0 {
		t.Fatal("nothing was solved")
	}
}
