package noise

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/ctxtest"
)

func TestLongFunctionsStop(t *testing.T) {
	m, err := Balanced(2, 3, 0.8)
	if err != nil {
		t.Fatal(err)
	}
	d := must(Minimise(t.Context(), m, Loss{}, Search{Restarts: 1, Iterations: 1}))[0].Distances
	for _, c := range []struct {
		name    string
		atLeast int
		compute func(ctx context.Context) error
	}{
		{"Minimise", 4 * 50, func(ctx context.Context) error {
			_, err := Minimise(ctx, m, Loss{Easy: true}, Search{Restarts: 4, Iterations: 50})
			return err
		}},
		{"MonteCarlo", 20, func(ctx context.Context) error {
			_, _, err := MonteCarlo(ctx, m, Loss{}, d, nil, 10000, 1)
			return err
		}},
		{"CompareModes", 30, func(ctx context.Context) error {
			_, err := CompareModes(ctx, Loss{Easy: true}, 2, 60, 0.8, 0, 0)
			return err
		}},
		{"BestModes", 12, func(ctx context.Context) error {
			_, err := BestModes(ctx, Loss{Easy: true}, 2, 60, 0.8, 0, 0)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) { ctxtest.CheckStops(t, c.atLeast, c.compute) })
	}
}

// BestModes returns the number of modes, among the divisors of s, at which an
// anchor costs least. It looks at ctx at every divisor and returns ctx.Err(),
// wrapped, once that is done.
func BestModes(ctx context.Context, l Loss, t, s int, p, apart, beta float64) (int, error) {
	best, at := math.Inf(1), 0
	for k := 1; k <= s; k++ {
		if s%k != 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return 0, fmt.Errorf("noise: %d modes of %d points: %w", k, t*s, err)
		}
		v, err := ModeCost(l, t, s, k, p, apart, beta)
		if err != nil {
			return 0, err
		}
		if v < best-1e-12 {
			best, at = v, k
		}
	}
	return at, nil
}
