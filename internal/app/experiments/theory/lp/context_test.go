package lp

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/ctxtest"
)

func TestSolveStops(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	const n = 12
	p := Problem{C: make([]float64, n), Lo: make([]float64, n), Hi: make([]float64, n)}
	for i := range n {
		p.C[i], p.Hi[i] = 1+rng.Float64(), 10
	}
	for range 60 {
		r := Row{B: 1 + rng.Float64()}
		for i := range n {
			r.Idx, r.Val = append(r.Idx, i), append(r.Val, rng.Float64())
		}
		p.Rows = append(p.Rows, r)
	}
	ctxtest.CheckStops(t, 10, func(ctx context.Context) error {
		_, err := p.Solve(ctx, math.Inf(1))
		return err
	})
}
