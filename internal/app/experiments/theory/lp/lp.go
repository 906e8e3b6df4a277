// Package lp solves small linear programs: tens of bounded variables, up to
// some thousands of sparse inequalities.
//
//	minimise c.x  subject to  a_k.x >= b_k  and  lo <= x <= hi
//
// The method is the primal simplex method on the dual, which starts from the
// box without a first phase and then, at each iteration, takes in the most
// violated inequality. Its value rises all along, so it can be stopped as soon
// as it passes a cutoff: every intermediate value is a lower bound.
package lp

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Row is one inequality Val[0] x[Idx[0]] + ... >= B.
type Row struct {
	Idx []int
	Val []float64
	B   float64
}

// Problem is a linear program. The box must be finite.
type Problem struct {
	C, Lo, Hi []float64
	Rows      []Row
}

// Solution is an optimal point with the multipliers of the rows: C is
// the sum of Y[k] a_k plus terms of the box.
type Solution struct {
	X, Y  []float64
	Value float64
}

// Reasons why there is no solution.
var (
	ErrInfeasible = errors.New("infeasible")
	ErrCutoff     = errors.New("the value passes the cutoff")
	ErrStuck      = errors.New("no progress")
)

const (
	tolerance = 1e-10 // violation of a row, relative to the size of its terms
	jitter    = 1e-11 // perturbation of the cost that breaks ties
	refresh   = 50    // pivots between fresh inverses
)

// solver is the state of the simplex method on the dual: a basis of columns,
// which are rows of the problem or sides of its box.
type solver struct {
	p    *Problem
	m    int
	cost []float64   // perturbed C
	base []int       // column k < len(Rows): a row; then lower sides, then upper
	inv  [][]float64 // inverse of the basis matrix
	y    []float64   // multipliers of the basis
	x    []float64
	in   []bool
}

// Solve returns an optimal solution, ErrInfeasible, ErrCutoff if the minimum
// is certainly at least cutoff (pass +Inf for none), or ErrStuck if rounding
// keeps it from ending. Before each pivot it looks at ctx, and returns ctx.Err(),
// wrapped, once that is done. It panics if lengths do not match.
func (p *Problem) Solve(ctx context.Context, cutoff float64) (Solution, error) {
	m := len(p.C)
	if len(p.Lo) != m || len(p.Hi) != m {
		panic(fmt.Sprintf("lp: %d costs, %d and %d bounds", m, len(p.Lo), len(p.Hi)))
	}
	s := &solver{p: p, m: m, cost: make([]float64, m), base: make([]int, m), inv: make([][]float64, m),
		y: make([]float64, m), x: make([]float64, m), in: make([]bool, len(p.Rows)+2*m)}
	h := uint64(0x9e3779b97f4a7c15)
	for i := range m {
		h ^= h << 13
		h ^= h >> 7
		h ^= h << 17
		s.cost[i] = p.C[i] + jitter*(0.5+float64(h>>11)/(1<<53))*max(1, math.Abs(p.C[i]))
		s.base[i] = len(p.Rows) + i
		if s.cost[i] < 0 {
			s.base[i] += m
		}
		s.in[s.base[i]] = true
		s.inv[i] = make([]float64, m)
	}
	if !s.invert() {
		return Solution{}, ErrStuck
	}
	limit := 200 + 20*(m+len(p.Rows))
	col, dir := make([]float64, m), make([]float64, m)
	for it := range limit {
		if err := ctx.Err(); err != nil {
			return Solution{},
				fmt.Errorf("pivot %d of a program of %d variables and %d rows: %w", it, m, len(p.Rows), err)
		}
		if it%refresh == refresh-1 && !s.invert() {
			return Solution{}, ErrStuck
		}
		value := s.point()
		if value >= cutoff {
			return Solution{}, ErrCutoff
		}
		enter := s.violated()
		if enter < 0 {
			return s.solution(), nil
		}
		clear(col)
		s.column(enter, col)
		leave, best := -1, math.Inf(1)
		for i, row := range s.inv {
			dir[i] = 0
			for k, v := range col {
				if v != 0 {
					dir[i] += row[k] * v
				}
			}
			if dir[i] > 1e-11 {
				if r := s.y[i] / dir[i]; r < best || (r == best && s.base[i] < s.base[leave]) {
					leave, best = i, r
				}
			}
		}
		if leave < 0 {
			return Solution{}, ErrInfeasible
		}
		s.pivot(enter, leave, dir)
	}
	return Solution{}, ErrStuck
}

// column adds column k of the dual to c.
func (s *solver) column(k int, c []float64) {
	switch rows := len(s.p.Rows); {
	case k < rows:
		r := &s.p.Rows[k]
		for j, i := range r.Idx {
			c[i] += r.Val[j]
		}
	case k < rows+s.m:
		c[k-rows]++
	default:
		c[k-rows-s.m]--
	}
}

func (s *solver) gain(k int) float64 {
	switch rows := len(s.p.Rows); {
	case k < rows:
		return s.p.Rows[k].B
	case k < rows+s.m:
		return s.p.Lo[k-rows]
	default:
		return -s.p.Hi[k-rows-s.m]
	}
}

// point sets x from the basis and returns its value.
func (s *solver) point() float64 {
	clear(s.x)
	v := 0.0
	for i, k := range s.base {
		g := s.gain(k)
		v += g * s.y[i]
		if g != 0 {
			for j, a := range s.inv[i] {
				s.x[j] += g * a
			}
		}
	}
	return v
}

// violated returns the column that x violates most, or -1.
func (s *solver) violated() int {
	at, worst := -1, 0.0
	rows := len(s.p.Rows)
	for k := range s.p.Rows {
		if s.in[k] {
			continue
		}
		r := &s.p.Rows[k]
		v, size := r.B, 1+math.Abs(r.B)
		for j, i := range r.Idx {
			t := r.Val[j] * s.x[i]
			v -= t
			size += math.Abs(t)
		}
		if v > tolerance*size && v > worst {
			at, worst = k, v
		}
	}
	for i, x := range s.x {
		lo, hi := s.p.Lo[i], s.p.Hi[i]
		if v := lo - x; v > worst && v > tolerance*(1+math.Abs(lo)) && !s.in[rows+i] {
			at, worst = rows+i, v
		}
		if v := x - hi; v > worst && v > tolerance*(1+math.Abs(hi)) && !s.in[rows+s.m+i] {
			at, worst = rows+s.m+i, v
		}
	}
	return at
}

func (s *solver) pivot(enter, leave int, dir []float64) {
	s.in[s.base[leave]], s.in[enter] = false, true
	s.base[leave] = enter
	t := s.inv[leave]
	step := s.y[leave] / dir[leave]
	k := 1 / dir[leave]
	for j := range t {
		t[j] *= k
	}
	for i, row := range s.inv {
		if f := dir[i]; i != leave && f != 0 {
			for j, v := range t {
				row[j] -= f * v
			}
			s.y[i] = max(0, s.y[i]-f*step)
		}
	}
	s.y[leave] = step
}

// invert computes the inverse of the basis and the multipliers afresh, by
// Gauss-Jordan elimination with partial pivoting. It reports failure on a
// singular basis.
func (s *solver) invert() bool {
	m := s.m
	a := make([][]float64, m) // basis matrix beside the identity
	for i := range a {
		a[i] = make([]float64, 2*m)
		a[i][m+i] = 1
	}
	c := make([]float64, m)
	for j, k := range s.base {
		clear(c)
		s.column(k, c)
		for i, v := range c {
			a[i][j] = v
		}
	}
	for j := range m {
		p := j
		for i := j + 1; i < m; i++ {
			if math.Abs(a[i][j]) > math.Abs(a[p][j]) {
				p = i
			}
		}
		if math.Abs(a[p][j]) < 1e-12 {
			return false
		}
		a[j], a[p] = a[p], a[j]
		k := 1 / a[j][j]
		for l := range a[j] {
			a[j][l] *= k
		}
		for i := range a {
			if f := a[i][j]; i != j && f != 0 {
				for l, v := range a[j] {
					a[i][l] -= f * v
				}
			}
		}
	}
	for i := range m {
		copy(s.inv[i], a[i][m:])
		v := 0.0
		for j, c := range s.cost {
			v += s.inv[i][j] * c
		}
		s.y[i] = max(0, v)
	}
	return true
}

func (s *solver) solution() Solution {
	out := Solution{X: append([]float64(nil), s.x...), Y: make([]float64, len(s.p.Rows))}
	for i, k := range s.base {
		if k < len(out.Y) {
			for j, c := range s.p.C { // without the perturbation
				out.Y[k] += s.inv[i][j] * c
			}
			out.Y[k] = max(0, out.Y[k])
		}
	}
	for i, c := range s.p.C {
		out.Value += c * s.x[i]
	}
	return out
}
