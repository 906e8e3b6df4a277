package isometry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/app/experiments/theory/lp"
)

// Line computes d_iso(f, TS) exactly for points on the line, with g on the
// line too: the exact value up to rounding, and a nearest g.
//
// On the line a TS arrangement has each class's points next to each other (a
// point between two of another class would be nearer to one of them), and once
// the order of the points is fixed everything is linear. So the value is the
// least over all such orders of a linear program. There are T! times the
// product of the class sizes' factorials of them; up to about 8 points that is
// quick. It panics if f is not on the line. It looks at ctx in every order and
// returns ctx.Err(), wrapped, once that is done.
func Line(ctx context.Context, f Set) (float64, Set, error) {
	if f.Dim != 1 {
		panic("isometry: Line needs points on the line")
	}
	d := f.Distances()
	n := f.N()
	// All points in one place is TS.
	best, bestX := d.Diameter(), make([]float64, n)
	members := make([][]int, f.classes())
	for i, c := range f.Class {
		members[c] = append(members[c], i)
	}
	members = slices.DeleteFunc(members, func(m []int) bool { return len(m) == 0 })
	var order []int
	var place func(left [][]int) error
	place = func(left [][]int) error {
		if len(left) == 0 {
			if order[0] > order[n-1] { // the mirror image has been or will be seen
				return ctx.Err()
			}
			v, x, ok, err := lineOrder(ctx, f, d, order, best)
			if ok && v < best {
				best, bestX = v, x
			}
			return err
		}
		for k := range left {
			rest := slices.Delete(slices.Clone(left), k, k+1)
			err := permute(slices.Clone(left[k]), 0, func(p []int) error {
				at := len(order)
				order = append(order, p...)
				err := place(rest)
				order = order[:at]
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := place(members); err != nil {
		return 0, Set{}, fmt.Errorf("the orders of %d points on the line: %w", n, err)
	}
	return best, f.With(1, bestX), nil
}

// permute calls f with every order of p[k:], until it returns an error.
func permute(p []int, k int, f func([]int) error) error {
	if k >= len(p)-1 {
		return f(p)
	}
	for i := k; i < len(p); i++ {
		p[k], p[i] = p[i], p[k]
		if err := permute(p, k+1, f); err != nil {
			return err
		}
		p[k], p[i] = p[i], p[k]
	}
	return nil
}

// lineOrder solves the program of one order; ok is false if it cannot beat
// the given value. Its only error is that of ctx.
func lineOrder(ctx context.Context, f Set, d Distances, order []int, beat float64) (value float64, x []float64, ok bool,
	err error) {
	n := f.N()
	w := d.Diameter()
	p := lp.Problem{C: make([]float64, n+1), Lo: make([]float64, n+1), Hi: make([]float64, n+1)}
	p.C[n] = 1
	for i := range n {
		p.Hi[i] = 3*w + 1
	}
	p.Hi[n] = 2*w + 1
	p.Hi[order[0]] = 0
	add := func(b float64, idx []int, val []float64) { p.Rows = append(p.Rows, lp.Row{Idx: idx, Val: val, B: b}) }
	for k, i := range order {
		for _, j := range order[k+1:] {
			x := d.At(i, j)
			add(x, []int{j, i, n}, []float64{1, -1, 1})
			add(-x, []int{j, i, n}, []float64{-1, 1, 1})
		}
		if k+1 < n {
			add(0, []int{order[k+1], i}, []float64{1, -1})
		}
	}
	for lo := 0; lo < n; {
		hi := lo
		for hi < n && f.Class[order[hi]] == f.Class[order[lo]] {
			hi++
		}
		l, r := order[lo], order[hi-1]
		for _, a := range order[lo:hi] {
			if hi < n && a != l { // x_a - x_l <= x_next - x_a
				add(0, []int{order[hi], a, l}, []float64{1, -2, 1})
			}
			if lo > 0 && a != r { // x_r - x_a <= x_a - x_previous
				add(0, []int{a, r, order[lo-1]}, []float64{2, -1, -1})
			}
		}
		lo = hi
	}
	s, err := p.Solve(ctx, beat)
	switch {
	case errors.Is(err, lp.ErrCutoff):
		return 0, nil, false, nil
	case errors.Is(err, lp.ErrStuck) || errors.Is(err, lp.ErrInfeasible):
		// An order always has the collapsed arrangement, so only rounding can
		// be the reason; the caller's value stays an upper bound.
		return math.Inf(1), nil, false, nil
	case err != nil:
		return 0, nil, false, err
	}
	return s.Value, s.X[:n], true, nil
}
